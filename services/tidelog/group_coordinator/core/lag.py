"""How far groups are behind: in messages, and in the time that has passed since what they come to next was written.

Nobody asks the records for their times. What is kept of each partition is how its end moved: a commit at offset X is as
old as the moment at which the end passed X. Between two looks the end is taken to have moved evenly. The further back, the
fewer looks are kept, so that a day of lag is known as roughly as an hour of it is known well.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable
from typing import NamedTuple

from tidelog.group_coordinator.core.groups.offsets import Partition

# Half of the looks are thinned out whenever there are so many.
_LOOKS_MAX = 64


class Lag(NamedTuple):
    messages: int
    seconds: float


class _Movement:
    """How the end of one partition moved: moments and offsets, both growing."""

    __slots__ = ("moments_ms", "offsets")

    def __init__(self) -> None:
        self.moments_ms: list[int] = []
        self.offsets: list[int] = []

    def note(self, offset: int, now_ms: int) -> None:
        if self.offsets and offset < self.offsets[-1]:
            # The topic was made anew, or lost its end.
            self.moments_ms.clear()
            self.offsets.clear()
        if len(self.offsets) >= 2 and self.offsets[-1] == self.offsets[-2] == offset:
            self.moments_ms[-1] = now_ms
            return
        self.moments_ms.append(now_ms)
        self.offsets.append(offset)
        if len(self.offsets) > _LOOKS_MAX:
            self._thin_out()

    def passed_ms(self, offset: int) -> float:
        """When the end passed this offset; for one that was passed before the first look, that look's moment."""
        after = bisect_right(self.offsets, offset)
        if after == 0:
            return self.moments_ms[0]
        if after == len(self.offsets):
            return self.moments_ms[-1]
        before = after - 1
        moved = self.offsets[after] - self.offsets[before]
        took_ms = self.moments_ms[after] - self.moments_ms[before]
        return self.moments_ms[before] + took_ms * (offset - self.offsets[before]) / moved

    def _thin_out(self) -> None:
        older = _LOOKS_MAX // 2
        del self.moments_ms[1:older:2]
        del self.offsets[1:older:2]


class Lags:
    """The ends of the partitions that groups have committed to."""

    def __init__(self) -> None:
        self._movements: dict[Partition, _Movement] = {}

    def note_ends(self, ends: Iterable[tuple[Partition, int]], now_ms: int) -> None:
        for partition, offset in ends:
            self._movements.setdefault(partition, _Movement()).note(offset, now_ms)

    def forget_all_but(self, partitions: Collection[Partition]) -> None:
        for partition in self._movements.keys() - set(partitions):
            del self._movements[partition]

    def lag(self, partition: Partition, committed_offset: int, now_ms: int) -> Lag | None:
        """None for a partition whose end is not known."""
        movement = self._movements.get(partition)
        if movement is None:
            return None
        messages = max(movement.offsets[-1] - committed_offset, 0)
        if not messages:
            return Lag(0, 0.0)
        return Lag(messages, max(now_ms - movement.passed_ms(committed_offset), 0.0) / 1000)
