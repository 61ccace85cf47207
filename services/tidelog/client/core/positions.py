"""How far a consumer is in each of its partitions.

`position` is the offset of the next record that the application will be given; only what lies before it may be committed.
`fetch_offset` runs ahead of it by what is fetched and waits here. A new partition has no position until a committed offset,
a seek or a reset gives it one. Whenever the position jumps, what was fetched for the old one is dropped, and so is what is
still under way (its fetch offset is no longer the expected one).

A new leader may have a shorter log than the former one had, if it was elected uncleanly. So whenever the leader epoch of a
partition changes, the new leader is asked first where the epoch of the last fetched batch ends (KIP-320). If that is
before the fetch offset, the logs part there: what was fetched beyond it is dropped, and if the application was given such
records already, the log was truncated under its eyes.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tidelog.client.core.fetched import FetchedRecords
from tidelog.client.errors import IllegalStateError
from tidelog.client.records import OffsetAndMetadata, TopicPartition

EARLIEST_TIMESTAMP = -2
LATEST_TIMESTAMP = -1
RESET_TIMESTAMPS = {"earliest": EARLIEST_TIMESTAMP, "latest": LATEST_TIMESTAMP}


@dataclass(frozen=True, slots=True)
class Truncation:
    """The application was given records that the log does not have any more; it is another one from this offset on.

    -1 says that the leader knows nothing of the epoch that they were written in.
    """

    offset: int
    leader_epoch: int


class PartitionPosition:
    """One assigned partition."""

    __slots__ = (
        "attempt_at_ms",
        "current_epoch",
        "fetch_epoch",
        "fetch_offset",
        "fetched",
        "high_watermark",
        "is_fetching",
        "is_paused",
        "last_stable_offset",
        "leader_epoch",
        "log_start_offset",
        "partition",
        "position",
        "read_replica",
        "reset_to",
    )

    def __init__(self, partition: TopicPartition) -> None:
        self.partition = partition
        self.position: int | None = None
        self.leader_epoch = -1
        self.fetch_offset = -1
        # The leader epoch in which the record before the fetch offset was written; -1 if that is not known.
        self.fetch_epoch = -1
        # The leader epoch that the fetch offset is known to be right in.
        self.current_epoch = -1
        self.fetched: deque[FetchedRecords] = deque()
        self.is_fetching = False
        self.is_paused = False
        self.attempt_at_ms = 0
        # A timestamp of ListOffsets that the position is to be looked up by.
        self.reset_to: int | None = None
        # A follower near the client that the leader named; -1 is the leader itself.
        self.read_replica = -1
        self.high_watermark = -1
        self.last_stable_offset = -1
        self.log_start_offset = -1

    def seek(self, offset: int, leader_epoch: int = -1) -> None:
        """Go on from an offset."""
        self.position = self.fetch_offset = offset
        self.leader_epoch = self.fetch_epoch = leader_epoch
        self.current_epoch = -1
        self.reset_to = None
        self.fetched.clear()

    def reset(self, timestamp: int) -> None:
        """Go on from wherever this leads, once it is looked up."""
        self.position = None
        self.reset_to = timestamp
        self.fetch_offset = self.fetch_epoch = -1
        self.fetched.clear()

    def take_in(self, fetched: FetchedRecords, next_fetch_offset: int, last_epoch: int = -1) -> None:
        """Keep what a fetch brought."""
        self.fetched.append(fetched)
        self.fetch_offset = next_fetch_offset
        self.fetch_epoch = last_epoch

    def is_valid_in(self, leader_epoch: int) -> bool:
        """Whether to fetch from the leader of this epoch without asking it first where the logs part."""
        if leader_epoch != self.current_epoch and (self.fetch_epoch < 0 or leader_epoch in (-1, self.fetch_epoch)):
            self.current_epoch = leader_epoch
        return leader_epoch == self.current_epoch

    def on_epoch_end(self, leader_epoch: int, end_offset: int, end_epoch: int) -> Truncation | None:
        """The leader of an epoch says where the epoch of the last fetched batch ends in its log, -1 if it cannot tell."""
        assert self.position is not None, "asked only of a partition that is fetched"
        if end_offset < 0 or end_epoch < 0:
            return Truncation(-1, -1)
        if end_offset < self.position:
            return Truncation(end_offset, end_epoch)
        if end_offset < self.fetch_offset:
            # What the application has is right; the rest is fetched again.
            self.seek(self.position, self.leader_epoch)
        self.current_epoch = leader_epoch
        return None

    def is_fetchable(self, now_ms: int) -> bool:
        """Whether to ask for more: one answer waits here at most while the application works on another."""
        return (
            self.position is not None
            and not self.is_paused
            and not self.is_fetching
            and len(self.fetched) <= 1
            and self.attempt_at_ms <= now_ms
        )

    def end_offset(self, *, committed: bool) -> int:
        return self.last_stable_offset if committed else self.high_watermark


class Positions:
    """All assigned partitions."""

    def __init__(self) -> None:
        self._all: dict[TopicPartition, PartitionPosition] = {}

    def __iter__(self) -> Iterator[PartitionPosition]:
        return iter(self._all.values())

    def __contains__(self, partition: TopicPartition) -> bool:
        return partition in self._all

    def __len__(self) -> int:
        return len(self._all)

    def get(self, partition: TopicPartition) -> PartitionPosition | None:
        return self._all.get(partition)

    def partitions(self) -> frozenset[TopicPartition]:
        return frozenset(self._all)

    def of(self, partition: TopicPartition, call: str) -> PartitionPosition:
        """The position of a partition that must be assigned for this call."""
        found = self._all.get(TopicPartition(*partition))
        if found is None:
            raise IllegalStateError(f"{call}: {TopicPartition(*partition)} is not assigned to this consumer")
        return found

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Have exactly these; those that stay keep their position."""
        wanted = [TopicPartition(*each) for each in partitions]
        self._all = {each: self._all.get(each) or PartitionPosition(each) for each in wanted}

    def add(self, partitions: Iterable[TopicPartition]) -> None:
        for each in partitions:
            self._all.setdefault(each, PartitionPosition(each))

    def remove(self, partitions: Iterable[TopicPartition]) -> None:
        for each in partitions:
            self._all.pop(each, None)

    def without_position(self) -> list[PartitionPosition]:
        """Those that nobody has told where to start, not even by a reset."""
        return [each for each in self if each.position is None and each.reset_to is None]

    def to_reset(self) -> list[PartitionPosition]:
        return [each for each in self if each.reset_to is not None]

    def consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """What may be committed: everything that the application was given."""
        return {
            each.partition: OffsetAndMetadata(each.position, "", each.leader_epoch)
            for each in self
            if each.position is not None
        }

    def take_committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Start where the group has left off, in partitions that have no position by now."""
        for partition, committed in offsets.items():
            state = self._all.get(partition)
            if state is not None and state.position is None and state.reset_to is None:
                state.seek(committed.offset, committed.leader_epoch)
