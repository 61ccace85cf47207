"""One of the systems under comparison, as its clients see it: its topics, its processes, what they use."""

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import confluent_kafka
import confluent_kafka.admin
import psutil

from tools.bench.figures import Figures
from tools.bench.meter import Meter

GIVE_UP_S = 180.0
WARM_S = 1.0
_CALL_S = 30
_PAUSE_S = 0.02

confluent_admin: Any = confluent_kafka.admin  # its stubs do not tell what it exports


class Peer(Protocol):
    @property
    def label(self) -> str: ...
    @property
    def bootstrap(self) -> str: ...
    def up(self) -> None: ...
    def pids(self) -> dict[str, int]: ...
    def start_broker(self, id: int) -> None: ...
    def down(self) -> None: ...


class System:
    """A peer that was started, with what the cases of one round found out about it."""

    def __init__(self, peer: Peer, seconds: float, figures: Figures) -> None:
        self.peer = peer
        self.seconds = seconds
        self.figures = figures
        self.pids: dict[str, int] = {}
        self.admin = confluent_admin.AdminClient(self.config())
        self._meters: list[Meter] = []
        self._numbers = itertools.count(1)

    def config(self, **more: Any) -> dict[str, Any]:
        """Settings of a client, `linger_ms=0` for `linger.ms`."""
        common = {"bootstrap.servers": self.peer.bootstrap, "broker.address.family": "v4", "log_level": 2}
        return {**common, **{key.replace("_", "."): value for key, value in more.items()}}

    @contextmanager
    def measured(self) -> Iterator[Meter]:
        """Time and CPU of what is done within."""
        meter = Meter(self.pids)
        yield meter
        meter.stop()
        self._meters.append(meter)

    def cores_of_others(self) -> list[float]:
        """How many cores somebody else used in each of the cases that were measured, which spoils figures."""
        return [meter.cores_of_others for meter in self._meters]

    def forget(self) -> None:
        """What was measured until now was but the warm-up."""
        self._meters.clear()

    # ---- topics

    @contextmanager
    def topic(self, partitions: int, replicas: int = 1) -> Iterator[str]:
        """A topic whose partitions all have leaders, and that is deleted in the end."""
        name = self.new_name()
        self.until(lambda: self.create(name, partitions, replicas))
        self.until(lambda: self.is_led(name, partitions))
        yield name
        self.delete(name)

    def new_name(self) -> str:
        return f"bench-{next(self._numbers)}"

    def create(self, name: str, partitions: int, replicas: int) -> bool:
        new = confluent_admin.NewTopic(name, partitions, replicas)
        self.admin.create_topics([new], operation_timeout=_CALL_S)[name].result(_CALL_S)
        return True

    def delete(self, name: str) -> None:
        self.admin.delete_topics([name], operation_timeout=_CALL_S)[name].result(_CALL_S)

    def is_led(self, name: str, partitions: int) -> bool:
        found = self.partitions(name)
        return len(found) == partitions and all(one.leader >= 0 for one in found)

    def partitions(self, name: str) -> list[Any]:
        return list(self.admin.list_topics(name, timeout=5).topics[name].partitions.values())

    def until(self, check: Callable[[], bool]) -> None:
        end = time.perf_counter() + GIVE_UP_S
        while True:
            try:
                if check():
                    return
            except confluent_kafka.KafkaException:
                assert time.perf_counter() < end, f"{self.peer.label} does not answer"
            time.sleep(_PAUSE_S)

    # ---- processes

    def broker_pid(self, id: int) -> int:
        return self.pids[f"broker-{id}"]

    def largest_broker_mb(self) -> float:
        brokers = [pid for name, pid in self.pids.items() if name.startswith("broker")]
        return max(psutil.Process(pid).memory_info().rss for pid in brokers) / 1e6


def payloads(size: int) -> list[bytes]:
    """Records that differ, of this size."""
    return [(b'{"id":%d,"text":"' % (number * 7919)).ljust(size - 2, b"x") + b'"}' for number in range(500)]
