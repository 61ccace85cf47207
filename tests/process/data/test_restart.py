"""What a broker keeps when it is stopped, killed, or started where it does not belong."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.batches import plain
from tests.support.cluster_view import Zookeeper, zookeeper_at
from tests.support.data_wire import fetch, host_and_port, produce, values
from tests.support.fake_controller import FakeController
from tests.support.services import Services
from tests.support.waiting import eventually
from tidelog.kafka.errors import KafkaCode
from tidelog.net.connection import Connection


@pytest.fixture
def own_zk(services: Services) -> Iterator[Zookeeper]:
    with zookeeper_at(services.zookeeper) as view:
        yield view


@pytest.fixture
def own(services: Services, own_zk: Zookeeper) -> Iterator[FakeController]:
    """A broker that the test may stop."""
    services.common = {"zookeeper.session.timeout.ms": "3000"}
    played = FakeController(services.start("broker", 1), own_zk)
    played.introduce()
    yield played
    played.close()


async def connect(controller: FakeController) -> Connection:
    return await Connection.open(*host_and_port(controller), client_id="test", timeout_s=10)


async def write(controller: FakeController, topic: str, *sent: bytes) -> None:
    connection = await connect(controller)
    for value in sent:
        assert (await produce(connection, topic, bytes(plain(value)))).error_code == 0
    connection.close()
    await connection.closed()


async def read(controller: FakeController, topic: str) -> list[bytes | None]:
    connection = await connect(controller)
    got = await fetch(connection, topic)
    assert got.error_code == 0
    connection.close()
    await connection.closed()
    return values(got)


def start_again(controller: FakeController) -> None:
    before = controller.zookeeper.broker_epoch(1)
    controller.broker.start()
    eventually(lambda: controller.zookeeper.broker_epoch(1) not in (None, before))
    controller.introduce()


async def test_a_stopped_broker_leaves_clean_files_and_comes_back_with_everything(
    own: FakeController, tmp_path: Path
) -> None:
    topic = own.create("kept")
    await write(own, "kept", b"a", b"b")
    assert own.broker.stop() == 0
    data = tmp_path / "broker-1-data"
    assert (data / ".kafka_cleanshutdown").exists()
    assert (data / "meta.properties").read_text().startswith("broker.id=1\ncluster.id=")
    assert (data / "replication-offset-checkpoint").read_text() == "0\n1\nkept 0 2\n"
    assert (data / "recovery-point-offset-checkpoint").read_text() == "0\n1\nkept 0 2\n"
    start_again(own)
    assert not (data / ".kafka_cleanshutdown").exists()
    assert own.lead(topic).partitions[0].error_code == 0, "after a restart the same leader epoch is accepted"
    assert await read(own, "kept") == [b"a", b"b"]
    await write(own, "kept", b"c")
    assert await read(own, "kept") == [b"a", b"b", b"c"]


async def test_a_killed_broker_comes_back_with_everything(own: FakeController) -> None:
    topic = own.create("kept")
    await write(own, "kept", b"a", b"b")
    own.broker.kill()
    eventually(lambda: own.zookeeper.broker_epoch(1) is None)
    start_again(own)
    assert own.lead(topic).partitions[0].error_code == 0
    assert await read(own, "kept") == [b"a", b"b"]


async def test_a_waiting_fetch_does_not_hold_up_a_stop(own: FakeController) -> None:
    own.create("quiet")
    connection = await connect(own)
    waiting = asyncio.create_task(fetch(connection, "quiet", max_wait_ms=60_000))
    await asyncio.sleep(0.2)
    started = time.monotonic()
    stopping = asyncio.create_task(asyncio.to_thread(own.broker.stop))
    assert (await waiting).error_code == KafkaCode.NOT_LEADER_OR_FOLLOWER
    assert await stopping == 0
    assert time.monotonic() - started < 15
    connection.close()


def test_a_stray_log_is_deleted_when_the_controller_says_so(own: FakeController, tmp_path: Path) -> None:
    own.create("stray")
    assert own.broker.stop() == 0
    start_again(own)
    assert (tmp_path / "broker-1-data" / "stray-0").is_dir()
    assert own.stop("stray").partitions[0].error_code == 0
    assert not (tmp_path / "broker-1-data" / "stray-0").exists()


def test_a_directory_of_another_broker_is_refused(services: Services, own: FakeController) -> None:
    directory = own.broker.settings["log.dirs"]
    assert own.broker.stop() == 0
    other = services.start("broker", 2, log_dirs=directory)
    assert other.process.wait(30) == 1
    sentence = other.text().splitlines()[-1]
    assert "belongs to broker 1" in sentence
    assert "Traceback" not in other.text()


async def test_a_new_topic_under_an_old_name_is_not_given_the_old_log(own: FakeController) -> None:
    topic = own.create("same")
    await write(own, "same", b"old")
    assert own.broker.stop() == 0
    start_again(own)
    topic.topic_id = bytes(reversed(topic.topic_id))
    assert own.lead(topic).partitions[0].error_code == KafkaCode.INCONSISTENT_TOPIC_ID
