"""The committed offsets of a shard's groups, and those that wait for the end of a transaction.

Records are put here in the order of the log, which decides: when a transaction commits, its offset takes the place of
an older one, but not of one that was committed plainly after it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from types import MappingProxyType
from typing import NamedTuple

NO_OFFSETS: "Mapping[Partition, CommittedOffset]" = MappingProxyType({})


class Partition(NamedTuple):
    topic: str
    number: int


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int | None = None


class _Stored(NamedTuple):
    """An offset, and when its record came among all records."""

    position: int
    committed: CommittedOffset


class OffsetStore:
    def __init__(self) -> None:
        self._positions = count()
        self._stored: dict[str, dict[Partition, _Stored]] = {}
        self._pending: dict[int, dict[tuple[str, Partition], _Stored]] = {}
        # How many transactions have an offset of the partition in the log or on its way there.
        self._unstable: dict[str, Counter[Partition]] = {}

    # ---- what is there

    def of_group(self, group_id: str) -> Mapping[Partition, CommittedOffset]:
        stored = self._stored.get(group_id)
        return {partition: found.committed for partition, found in stored.items()} if stored else NO_OFFSETS

    def get(self, group_id: str, partition: Partition) -> CommittedOffset | None:
        found = self._stored.get(group_id, {}).get(partition)
        return found.committed if found else None

    def is_unstable(self, group_id: str, partition: Partition) -> bool:
        """Whether an open transaction may yet change this offset."""
        return partition in self._unstable.get(group_id, ())

    def unstable(self, group_id: str) -> Iterable[Partition]:
        return tuple(self._unstable.get(group_id, ()))

    def has_any(self, group_id: str) -> bool:
        return group_id in self._stored or group_id in self._unstable

    def group_ids(self) -> set[str]:
        return self._stored.keys() | self._unstable.keys()

    def pending(self) -> Iterator[tuple[int, str, Partition, CommittedOffset]]:
        for producer_id, offsets in self._pending.items():
            for (group_id, partition), found in offsets.items():
                yield producer_id, group_id, partition, found.committed

    # ---- what the log says

    def put(self, group_id: str, partition: Partition, committed: CommittedOffset) -> None:
        self._store(group_id, partition, _Stored(next(self._positions), committed))

    def put_pending(self, producer_id: int, group_id: str, partition: Partition, committed: CommittedOffset) -> None:
        pending = self._pending.setdefault(producer_id, {})
        if (group_id, partition) not in pending:
            self._mark_unstable(group_id, partition)
        pending[group_id, partition] = _Stored(next(self._positions), committed)

    def remove(self, group_id: str, partition: Partition) -> None:
        """A tombstone: forgets the offset, also what transactions that are still open have put there before."""
        stored = self._stored.get(group_id, {})
        stored.pop(partition, None)
        if not stored:
            self._stored.pop(group_id, None)
        if self.is_unstable(group_id, partition):
            self._drop_pending(group_id, partition)

    def end_transaction(self, producer_id: int, *, committed: bool) -> None:
        for (group_id, partition), found in self._pending.pop(producer_id, {}).items():
            self._mark_stable(group_id, partition)
            before = self._stored.get(group_id, {}).get(partition)
            if committed and (before is None or before.position < found.position):
                self._store(group_id, partition, found)

    # ---- what is on its way to the log

    def announce(self, group_id: str, partitions: Iterable[Partition]) -> None:
        """A transaction is about to commit these, so nobody may take the present offset for the last word."""
        for partition in partitions:
            self._mark_unstable(group_id, partition)

    def withdraw(self, group_id: str, partitions: Iterable[Partition]) -> None:
        """What was announced is in the log, or failed to get there."""
        for partition in partitions:
            self._mark_stable(group_id, partition)

    def _store(self, group_id: str, partition: Partition, found: _Stored) -> None:
        self._stored.setdefault(group_id, {})[partition] = found

    def _drop_pending(self, group_id: str, partition: Partition) -> None:
        for producer_id, pending in list(self._pending.items()):
            if pending.pop((group_id, partition), None) is not None:
                self._mark_stable(group_id, partition)
            if not pending:
                del self._pending[producer_id]

    def _mark_unstable(self, group_id: str, partition: Partition) -> None:
        self._unstable.setdefault(group_id, Counter())[partition] += 1

    def _mark_stable(self, group_id: str, partition: Partition) -> None:
        counts = self._unstable[group_id]
        counts[partition] -= 1
        if not counts[partition]:
            del counts[partition]
        if not counts:
            del self._unstable[group_id]
