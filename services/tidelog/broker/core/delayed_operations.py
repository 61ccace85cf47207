"""The broker's delayed operations: produce with acks=all, fetch, delete-records.

Each waits for several partitions. What a partition says is asked through a small protocol, so that these classes know
nothing of logs. The answer is built by `respond`, which is called once.
"""

from typing import TYPE_CHECKING, Protocol

from tidelog.broker.core.purgatory import DelayedOperation, K
from tidelog.kafka.errors import KafkaCode

if TYPE_CHECKING:
    from collections.abc import Callable

# What a waiting partition answers instead of a number of bytes: the whole fetch must be answered now.
ANSWER_NOW = -1


class AwaitedPartition(Protocol):
    """One partition of a produce or delete-records."""

    def outcome(self) -> KafkaCode | None:
        """The final code, or None while it is not decided."""
        ...


class DelayedOutcomes(DelayedOperation[K]):
    """Waits until every partition has its outcome; those without one when the time is over get REQUEST_TIMED_OUT.

    This is a delayed produce (a partition's outcome is `PartitionLeader.produce_outcome`) and a delayed delete-records
    (`delete_records_outcome`).
    """

    __slots__ = ("_respond", "_waiting", "outcomes")

    def __init__(self, waiting: "dict[K, AwaitedPartition]", respond: "Callable[[dict[K, KafkaCode]], None]") -> None:
        super().__init__()
        self._waiting = waiting
        self._respond = respond
        self.outcomes: dict[K, KafkaCode] = {}

    def can_complete(self, woken: K | None) -> bool:
        for key in list(self._waiting) if woken is None else (woken,):
            partition = self._waiting.get(key)
            outcome = partition.outcome() if partition is not None else None
            if outcome is not None:
                # Decided once: what happens to the partition afterwards does not take an acknowledgement back.
                self.outcomes[key] = outcome
                del self._waiting[key]
        return not self._waiting

    def on_complete(self, *, expired: bool) -> None:  # noqa: ARG002  both ways the undecided have run out of time
        for key in self._waiting:
            self.outcomes[key] = KafkaCode.REQUEST_TIMED_OUT
        self._waiting.clear()
        self._respond(self.outcomes)


class ParkedPartition(Protocol):
    """One partition of a parked fetch."""

    def available(self) -> int:
        """How many bytes it could add, at most what was asked for; ANSWER_NOW if the fetch must not wait."""
        ...


class DelayedFetch(DelayedOperation[K]):
    """Waits until enough bytes are there, or until one partition has something that must be told. It then reads anew.

    The usual fetch is content with one byte: then only the woken partition is looked at, however many there are.
    """

    __slots__ = ("_min_bytes", "_partitions", "_respond")

    def __init__(self, partitions: "dict[K, ParkedPartition]", min_bytes: int, respond: "Callable[[], None]") -> None:
        super().__init__()
        self._partitions = partitions
        self._min_bytes = min_bytes
        self._respond = respond

    def can_complete(self, woken: K | None) -> bool:
        if woken is not None:
            available = self._partitions[woken].available()
            if available == ANSWER_NOW or available >= self._min_bytes:
                return True
            if self._min_bytes <= 1 or len(self._partitions) == 1:
                return False
        return self._has_enough()

    def on_complete(self, *, expired: bool) -> None:  # noqa: ARG002  an expired fetch returns what exists, no error
        self._respond()

    def _has_enough(self) -> bool:
        total = 0
        for partition in self._partitions.values():
            available = partition.available()
            if available == ANSWER_NOW:
                return True
            total += available
        return total >= self._min_bytes
