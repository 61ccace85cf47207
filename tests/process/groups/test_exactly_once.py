"""Consume, transform, produce and commit offsets in one transaction, while whoever takes part in it is killed."""

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.support.coordinated import Coordinated
from tests.support.services import Service
from tests.support.waiting import WAIT_S

RECORDS = 50_000
PARTITIONS = 6
INSTANCES = 3
KILLS = 9
# Who is killed; another number kills others.
SEED = int(os.environ.get("SEED", "7"))
# Only a failure takes that long.
PATIENCE_S = 240.0


class Instances:
    """Copiers that are started again when they end."""

    def __init__(self, bootstrap: str, log: Path) -> None:
        self._bootstrap = bootstrap
        self._log = log
        self.running = [self._start(number) for number in range(INSTANCES)]

    def revive(self) -> None:
        for number, process in enumerate(self.running):
            if process.poll() is not None:
                self.running[number] = self._start(number)

    def kill(self, number: int) -> None:
        self.running[number].kill()
        self.running[number].wait(WAIT_S)

    def end(self) -> None:
        for number in range(INSTANCES):
            self.kill(number)

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        arguments = [self._bootstrap, "copiers", "in", "out", f"copier-{number}"]
        with self._log.open("ab") as out:
            return subprocess.Popen([sys.executable, "-m", "tests.support.copier", *arguments], stdout=out, stderr=out)


@pytest.fixture
def instances(cluster: Coordinated, tmp_path: Path) -> Iterator[Instances]:
    cluster.create("in", PARTITIONS)
    cluster.create("out", PARTITIONS)
    _fill(cluster.bootstrap)
    made = Instances(cluster.bootstrap, tmp_path / "copiers.log")
    yield made
    made.end()


def test_every_record_is_copied_exactly_once_over_all_kills(cluster: Coordinated, instances: Instances) -> None:
    output = Output(cluster.bootstrap)
    random_kills = _kills(cluster, instances, random.Random(SEED))
    end = time.monotonic() + PATIENCE_S
    killed = 0
    while output.count < RECORDS:
        assert time.monotonic() < end, f"{output.count} of {RECORDS} after {killed} kills"
        output.read()
        instances.revive()
        if killed < KILLS and output.count >= RECORDS * (killed + 1) // (KILLS + 2):
            next(random_kills)()
            killed += 1
    output.read_rest()
    assert killed == KILLS
    assert output.values == {str(number).encode(): 1 for number in range(RECORDS)}


class Output:
    """What a reader of committed records sees."""

    def __init__(self, bootstrap: str) -> None:
        self.values: Counter[bytes] = Counter()
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "judge",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
            }
        )
        self._consumer.assign([TopicPartition("out", partition, 0) for partition in range(PARTITIONS)])

    @property
    def count(self) -> int:
        return self.values.total()

    def read(self, seconds: float = 0.2) -> int:
        messages = [each for each in self._consumer.consume(5_000, seconds) if each.error() is None]
        self.values.update(each.value() or b"" for each in messages)
        return len(messages)

    def read_rest(self) -> None:
        """Records that came twice come late."""
        while self.read(3.0):
            pass
        self._consumer.close()


def _fill(bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 5})
    for number in range(RECORDS):
        producer.produce("in", str(number).encode(), partition=number % PARTITIONS)
        producer.poll(0)
    assert producer.flush(WAIT_S) == 0


def _kills(cluster: Coordinated, instances: Instances, chance: random.Random) -> Iterator[Callable[[], None]]:
    """Each kind of process in turn, any one of it; services are started again at once."""
    while True:
        yield lambda: _kill_and_start(cluster.coordinators[chance.choice(sorted(cluster.coordinators))])
        yield lambda: _kill_and_start(cluster.brokers[chance.choice(sorted(cluster.brokers))])
        yield lambda: instances.kill(chance.randrange(INSTANCES))


def _kill_and_start(service: Service) -> None:
    service.kill()
    service.start().wait_ready()
