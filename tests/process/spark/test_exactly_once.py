"""Counting with state from topic to topic while executors, the leading broker and the driver are killed."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jobs.java import java_fault
from tests.support.client_cluster import Cluster
from tests.support.spark_jobs import Driver, driver
from tests.support.spark_topics import committed_pairs
from tests.support.waiting import eventually
from tidelog.client.sync import Admin, Producer

pytestmark = pytest.mark.timeout(900)
_PAGES = 20
_RATE = 200
# One worker with two cores: its executor is a process of its own.
_MASTER = "local-cluster[1,2,1024]"


class Feeding:
    """Page views, one after the other, each acknowledged."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.sent = 0
        self._bootstrap, self._topic = bootstrap, topic
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        with Producer(bootstrap_servers=self._bootstrap, linger_ms=20) as producer:
            while not self._stopped.wait(1 / _RATE):
                page = f"/product/{self.sent % _PAGES}"
                event = {"kind": "view", "page": page, "user": f"user-{self.sent}", "at": "2026-01-02T12:00:00+00:00"}
                producer.send(self._topic, json.dumps(event).encode(), page.encode())
                self.sent += 1

    @contextmanager
    def running(self) -> Iterator["Feeding"]:
        self._thread.start()
        try:
            yield self
        finally:
            self._stopped.set()
            self._thread.join()


class Counted:
    """What the job has written so far."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._bootstrap, self._topic = bootstrap, topic

    def counts(self) -> dict[str, list[int]]:
        """The counts of each page in the order in which they were written."""
        found: dict[str, list[int]] = {}
        for key, value in committed_pairs(self._bootstrap, self._topic):
            found.setdefault(key, []).append(json.loads(value)["events"])
        return found

    def total(self) -> int:
        return sum(each[-1] for each in self.counts().values())

    def advances(self, running: Driver, by: int = 200) -> None:
        """Wait until more is counted than now."""
        before = self.total()

        def has_advanced() -> bool:
            assert running.process.poll() is None, running.told()
            return self.total() >= before + by

        eventually(has_advanced, 240, 1.0)


@pytest.fixture(autouse=True)
def _java() -> None:
    fault = java_fault()
    if fault:
        pytest.skip(fault)


def test_every_input_is_counted_once_whoever_is_killed(
    cluster: Cluster, bootstrap: str, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    source, target = make_topic(3), make_topic(2)
    counted = Counted(bootstrap, target)
    state = str(tmp_path / "state")
    arguments = ["--bootstrap", bootstrap, "--topic", source, "--to", target, "--checkpoint", state]
    arguments += ["--trigger", "0 seconds", "--window", "1 hour", "--most", "2000"]
    with Feeding(bootstrap, source).running() as feeding:
        with driver("activity", arguments, tmp_path / "log", _MASTER) as first:
            counted.advances(first)
            assert first.kill_executors() == 1
            counted.advances(first)
            with Admin(bootstrap_servers=bootstrap) as admin:
                leading = cluster.broker(admin.describe_topics([source])[source].partitions[0].leader)
            leading.kill()
            counted.advances(first)
            leading.start().wait_ready()
            counted.advances(first, 50)
            first.kill()
        with driver("activity", arguments, tmp_path / "log-of-second", _MASTER) as second:
            counted.advances(second)
            assert second.stop() == 0, second.told()
        assert "activity: stopped after its batch" in (tmp_path / "log-of-second").read_text()
    with driver("activity", [*arguments, "--available-now"], tmp_path / "log", _MASTER) as last:
        assert last.ends() == 0, last.told()
    # A count that came twice would be written twice, and what was lost would be missing in the end.
    counts = counted.counts()
    assert all(each == sorted(set(each)) for each in counts.values())
    assert sum(each[-1] for each in counts.values()) == feeding.sent
    assert len(counts) == _PAGES
