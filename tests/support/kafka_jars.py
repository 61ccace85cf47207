"""Apache Kafka itself, fetched from Maven Central, as the judge of our files and as the maker of files for us."""

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from tests.support.ports import free_port
from tests.support.waiting import eventually
from tidelog.kafka.types import topic_id_text

VERSION = "3.9.2"
_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tidelog-interop" / f"kafka-{VERSION}"
_POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tidelog</groupId><artifactId>interop</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{VERSION}</version></dependency>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>{VERSION}</version></dependency>
  </dependencies>
</project>
"""
_SERVER = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
controller.listener.names=CONTROLLER
log.dirs={data}
log.segment.bytes={segment_bytes}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


def kafka_jars() -> Path:
    """The folder of Kafka's jars; skips the test where they cannot be had."""
    if shutil.which("java") is None or shutil.which("mvn") is None:
        pytest.skip("java and mvn are needed to run Kafka's own tools")
    jars = _CACHE / "jars"
    if not (_CACHE / "complete").exists():
        _CACHE.mkdir(parents=True, exist_ok=True)
        (_CACHE / "pom.xml").write_text(_POM)
        command = ["mvn", "-B", "-q", "-f", str(_CACHE / "pom.xml"), "dependency:copy-dependencies"]
        fetched = subprocess.run([*command, "-DincludeScope=runtime", f"-DoutputDirectory={jars}"], capture_output=True)
        if fetched.returncode:
            pytest.skip(f"Kafka's jars cannot be fetched: {fetched.stdout.decode(errors='replace')[-300:]}")
        (_CACHE / "complete").touch()
    return jars


def run_java(main: str, *arguments: str, given: str = "") -> str:
    """The output of one of Kafka's programs, which reads what it is given; it must end well."""
    command = ["java", "-Xmx256m", "-cp", f"{kafka_jars()}/*", main, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, input=given)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@contextmanager
def kafka_broker(root: Path, segment_bytes: int) -> Iterator[str]:
    """One Kafka process that is broker and controller; gives host:port. It is stopped in order at the end."""
    port, controller_port = free_port(), free_port()
    data, config = root / "data", root / "server.properties"
    config.write_text(
        _SERVER.format(port=port, controller_port=controller_port, data=data, segment_bytes=segment_bytes)
    )
    run_java("kafka.tools.StorageTool", "format", "-t", topic_id_text(uuid4()), "-c", str(config))
    command = ["java", "-Xmx512m", "-cp", f"{kafka_jars()}/*", "kafka.Kafka", str(config)]
    with (root / "kafka.log").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd=root)
    try:
        eventually(lambda: _is_open(port), 60)
        yield f"127.0.0.1:{port}"
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    finally:
        process.kill()
        process.wait(10)


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
