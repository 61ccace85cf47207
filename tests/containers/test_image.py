"""The images as any engine runs them: a ZooKeeper, a controller and a broker in containers, and a stock client outside."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from tests.support.ports import free_ports
from tidelog.local.zookeeper import zoo_cfg, zookeeper_serves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tools.images.engine import Engine

pytestmark = [pytest.mark.timeout(300), pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def bootstrap(docker: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a broker in a container; all of them use the machine's own network."""
    folder = tmp_path_factory.mktemp("containers")
    folder.chmod(0o755)
    first = free_ports(6)
    zookeeper, kafka, more = first, first + 1, list(range(first + 2, first + 6))
    with ExitStack() as containers:
        _start(containers, "tidelog-zookeeper:0.1.0", ["/etc/zookeeper/zoo.cfg"], _zookeeper_files(folder, zookeeper))
        _until(lambda: zookeeper_serves(zookeeper))
        _start(containers, "tidelog:0.1.0", _command("controller", zookeeper, more[:2], "controller.id=0"), {})
        listeners = f"listeners=PLAINTEXT://127.0.0.1:{kafka}"
        broker = _command("broker", zookeeper, more[2:], "broker.id=0", listeners, "log.dirs=/tmp/logs")
        _start(containers, "tidelog:0.1.0", broker, {})
        yield f"127.0.0.1:{kafka}"


def test_a_stock_client_produces_and_consumes(bootstrap: str) -> None:
    errors: list[object] = []
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all"})
    for number in range(100):
        producer.produce("contained", str(number), on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(60) == 0
    assert errors == [None] * 100
    assert _read(bootstrap, 100) == [str(number).encode() for number in range(100)]


def test_the_process_is_not_root_and_cannot_write_to_its_image(docker: Engine) -> None:
    with ExitStack() as containers:
        container = _start(containers, "tidelog:0.1.0", ["infinity"], {}, entrypoint="sleep", read_only=True)
        assert container.exec(["id", "-u"]).output.strip() == b"1001"
        assert container.exec(["touch", "/opt/tidelog/x"]).exit_code != 0
        assert container.exec(["sh", "-c", "command -v gcc cc make pip"]).exit_code != 0
        assert container.exec(["python3", "-c", "import tidelog"]).exit_code == 0
        assert container.exec(["python3", "-c", "import pyspark"]).exit_code != 0


def _start(containers: ExitStack, image: str, command: list[str], files: dict[str, str], **options: Any) -> Any:
    from testcontainers.core.container import DockerContainer

    container = DockerContainer(image).with_command(command).with_kwargs(network_mode="host", **options)
    for outside, inside in files.items():
        container = container.with_volume_mapping(outside, inside, "ro")
    return containers.enter_context(container)


def _command(role: str, zookeeper: int, ports: list[int], *settings: str) -> list[str]:
    listeners = [f"grpc.listener=127.0.0.1:{ports[0]}", f"ops.listener=127.0.0.1:{ports[1]}"]
    factors = ["offsets.topic.replication.factor=1", "default.replication.factor=1"]
    given = [f"zookeeper.connect=127.0.0.1:{zookeeper}", *listeners, *factors, *settings]
    return [role, *(word for setting in given for word in ("--set", setting))]


def _zookeeper_files(folder: Path, port: int) -> dict[str, str]:
    config = folder / "zoo.cfg"
    config.write_text(zoo_cfg(Path("/tmp/data"), port))
    config.chmod(0o644)
    return {str(config): "/etc/zookeeper/zoo.cfg"}


def _read(bootstrap: str, count: int) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False})
    consumer.assign([TopicPartition("contained", 0, OFFSET_BEGINNING)])
    found: list[bytes] = []
    deadline = time.monotonic() + 60
    while len(found) < count and time.monotonic() < deadline:
        for message in consumer.consume(100, 0.5):
            assert message.error() is None
            value = message.value()
            assert value is not None
            found.append(value)
    consumer.close()
    return found


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.2)
