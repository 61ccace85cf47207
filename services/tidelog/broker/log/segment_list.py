"""The segments of a log in the order of their offsets."""

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tidelog.broker.log.segment import Segment


class SegmentList:
    """Sorted by base offset; the last one is active. A log always has at least one once it is open."""

    def __init__(self, segments: "Sequence[Segment]" = ()) -> None:
        self._segments = sorted(segments, key=lambda segment: segment.base_offset)
        self._bases = [segment.base_offset for segment in self._segments]

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> "Iterator[Segment]":
        return iter(tuple(self._segments))

    def __getitem__(self, number: int) -> "Segment":
        return self._segments[number]

    @property
    def active(self) -> "Segment":
        return self._segments[-1]

    @property
    def first(self) -> "Segment":
        return self._segments[0]

    @property
    def bases(self) -> tuple[int, ...]:
        return tuple(self._bases)

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self._segments)

    def number_of(self, offset: int) -> int:
        """Which segment an offset belongs to: the last that does not begin after it, or the first of all."""
        return max(bisect_right(self._bases, offset) - 1, 0)

    def holding(self, offset: int) -> "Segment":
        return self._segments[self.number_of(offset)]

    def from_offset(self, offset: int) -> "list[Segment]":
        """The segment that an offset belongs to, and all later ones."""
        return self._segments[self.number_of(offset) :]

    def add(self, segment: "Segment") -> None:
        at = bisect_left(self._bases, segment.base_offset)
        assert at == len(self._bases) or self._bases[at] != segment.base_offset, "two segments of one base offset"
        self._segments.insert(at, segment)
        self._bases.insert(at, segment.base_offset)

    def remove(self, segment: "Segment") -> None:
        at = self._segments.index(segment)
        del self._segments[at]
        del self._bases[at]

    def end_of(self, segment: "Segment", log_end_offset: int) -> int:
        """The offset after a segment: the base of the next one."""
        at = self._segments.index(segment) + 1
        return self._bases[at] if at < len(self._bases) else log_end_offset
