"""A steady idempotent load on several partitions while a test breaks things, and the count of what came of it.

Every record's value is its number within its partition. So what is read back must be 0, 1, 2, ... in each partition: a
number that is missing was lost, one that comes twice was duplicated. A consumer follows from the beginning, through all
the faults, and when all is over a second one reads everything again.
"""

import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from tests.support.waiting import eventually

# Bounds that only a failure reaches: so many records, so many seconds.
RECORDS_MAX = 100_000
SECONDS_MAX = 240.0
_END_S = 60.0
# What librdkafka's statistics say of a consumer that reads no further.
_TOLD_OF_PARTITIONS = (
    "partition",
    "broker",
    "leader",
    "fetch_state",
    "next_offset",
    "hi_offset",
    "ls_offset",
    "leader_epoch",
)
_TOLD_OF_BROKERS = ("name", "state", "waitresp_cnt", "outbuf_cnt", "req_timeouts", "rxidle")


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of a load."""

    acked: int
    read: int
    lost: int
    duplicated: int
    out_of_order: int
    # The longest time between two acknowledgements in one partition.
    gap_s: float

    @property
    def is_whole(self) -> bool:
        return self.read >= self.acked > 0 and not (self.lost or self.duplicated or self.out_of_order)

    def line(self, fault: str) -> str:
        return (
            f"{fault:<56} acked {self.acked:>6}  read {self.read:>6}  lost {self.lost}  duplicated {self.duplicated}"
            f"  longest gap {self.gap_s:>6.2f} s"
        )


@dataclass(slots=True)
class _Written:
    """One partition as its producer knows it."""

    sent: int = 0
    acked: list[int] = field(default_factory=list)
    acked_at: list[float] = field(default_factory=list)

    @property
    def gap_s(self) -> float:
        return max((after - before for before, after in pairwise(self.acked_at)), default=0.0)


class FaultLoad:
    """librdkafka with its defaults, save what is said here, writes at a steady rate until `finish`."""

    def __init__(self, bootstrap: str, topic: str, partitions: int, *, rate: float = 100.0) -> None:
        """`rate`: records a second and partition."""
        self.errors: list[str] = []
        self.topic = topic
        self._bootstrap = bootstrap
        self._rate = rate * partitions
        self._written = [_Written() for _ in range(partitions)]
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self.following = Following(bootstrap, topic, partitions)
        self._thread.start()

    @property
    def acked(self) -> int:
        return sum(len(one.acked) for one in self._written)

    def wait_for(self, more: int = 40, seconds: float = 60.0) -> None:
        """Until so many more records are acknowledged in every partition than now."""
        wanted = [len(one.acked) + more for one in self._written]

        def is_enough() -> bool:
            assert self._thread.is_alive(), "the load came to its bound"
            return all(len(one.acked) >= count for one, count in zip(self._written, wanted, strict=True))

        eventually(lambda: self.errors or is_enough(), seconds)
        assert not self.errors, self.errors[:3]

    def finish(self) -> Tally:
        """Write no more, wait for what is under way, and read everything."""
        self._over.set()
        self._thread.join(_END_S)
        assert not self._thread.is_alive(), "the producer hangs"
        assert not self.errors, self.errors[:3]
        assert [len(one.acked) for one in self._written] == [one.sent for one in self._written]
        counts = [one.sent for one in self._written]
        self.following.finish(counts)
        again = Following(self._bootstrap, self.topic, len(counts))
        again.finish(counts)
        assert again.values == self.following.values, "who followed through the faults has read what there is"
        return self._tally(again.values)

    def stop(self) -> None:
        """For a test that has failed already."""
        self._over.set()
        self.following.stop()

    def _tally(self, values: list[list[int]]) -> Tally:
        counted = [Counter(numbers) for numbers in values]
        return Tally(
            acked=self.acked,
            read=sum(map(len, values)),
            lost=sum(
                number not in seen for one, seen in zip(self._written, counted, strict=True) for number in one.acked
            ),
            duplicated=sum(count - 1 for seen in counted for count in seen.values()),
            out_of_order=sum(before > after for numbers in values for before, after in pairwise(numbers)),
            gap_s=max(one.gap_s for one in self._written),
        )

    def _write(self) -> None:
        # It ends with this call: one that lives on would go on to ask for its topic, and have it created.
        producer = Producer(
            {"bootstrap.servers": self._bootstrap, "acks": "all", "enable.idempotence": True, "linger.ms": 0}
        )
        begun = time.monotonic()
        for number in range(RECORDS_MAX):
            due = begun + number / self._rate
            while (early := due - time.monotonic()) > 0 and not self._over.is_set():
                producer.poll(early)
            if self._over.is_set() or time.monotonic() > begun + SECONDS_MAX:
                break
            self._write_one(producer, number % len(self._written))
            producer.poll(0)
        producer.flush(_END_S)

    def _write_one(self, producer: Producer, partition: int) -> None:
        written = self._written[partition]
        on_delivery = partial(self._on_delivery, written, written.sent)
        producer.produce(self.topic, str(written.sent).encode(), partition=partition, on_delivery=on_delivery)
        written.sent += 1

    def _on_delivery(self, written: _Written, number: int, error: Any, _: Any) -> None:
        if error is not None:
            self.errors.append(str(error))
        else:
            written.acked.append(number)
            written.acked_at.append(time.monotonic())


class Following:
    """Reads every partition from its first record on, for as long as the test lasts."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self.values: list[list[int]] = [[] for _ in range(partitions)]
        self.errors: list[str] = []
        self._transient: list[str] = []
        self._statistics: dict[str, Any] = {}
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "none",
                "enable.auto.commit": False,
                # An offset that is out of range would mean that something committed was cut off.
                "auto.offset.reset": "error",
                "check.crcs": True,
                "statistics.interval.ms": 2000,
                "stats_cb": self._on_statistics,
            }
        )
        self._consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    @property
    def read(self) -> int:
        return sum(map(len, self.values))

    def finish(self, counts: list[int]) -> None:
        """Wait until so many records are read in each partition, and a moment longer for what must not come."""
        try:
            eventually(
                lambda: self.errors or all(len(got) >= n for got, n in zip(self.values, counts, strict=True)), _END_S
            )
            time.sleep(0.2)
        except AssertionError as error:
            raise AssertionError(self._described(counts)) from error
        finally:
            self.stop()
        assert not self.errors, self.errors[:3]

    def _described(self, counts: list[int]) -> str:
        """Where a consumer that reads no further stands, in its own words."""
        topics = self._statistics.get("topics", {}).values()
        brokers = self._statistics.get("brokers", {}).values()
        partitions = [
            {name: one.get(name) for name in _TOLD_OF_PARTITIONS}
            for topic in topics
            for one in topic["partitions"].values()
            if one["partition"] >= 0
        ]
        connections = [{name: one.get(name) for name in _TOLD_OF_BROKERS} for one in brokers]
        read = [len(got) for got in self.values]
        return f"read {read} of {counts}; errors {self._transient[-5:]}; {partitions}; {connections}"

    def stop(self) -> None:
        self._over.set()
        self._thread.join(_END_S)

    def _read(self) -> None:
        while not self._over.is_set():
            for message in self._consumer.consume(500, 0.05):
                self._take(message)
        self._consumer.close()

    def _take(self, message: Any) -> None:
        error = message.error()
        if error is None:
            self.values[message.partition()].append(int(message.value()))
        elif error.name() == "_AUTO_OFFSET_RESET":
            self.errors.append(str(error))
        else:
            self._transient.append(str(error))

    def _on_statistics(self, text: str) -> None:
        self._statistics = json.loads(text)
