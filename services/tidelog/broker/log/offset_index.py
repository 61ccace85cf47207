"""The sparse index from offsets to positions in a segment's file."""

from struct import Struct
from typing import ClassVar, NamedTuple

from tidelog.broker.log.mapped_index import MappedIndex

OFFSET_ENTRY = Struct(">ii")


class OffsetPosition(NamedTuple):
    """A batch that holds this offset, or an earlier one, starts at this position."""

    offset: int
    position: int


class OffsetIndex(MappedIndex):
    """Entries of 8 bytes: offset relative to the segment, position. Both grow."""

    __slots__ = ()
    entry: ClassVar[Struct] = OFFSET_ENTRY

    @property
    def is_full(self) -> bool:
        return self._writable and self.count >= self.limit

    def append(self, offset: int, position: int) -> None:
        assert self._map is not None, "an index is made writable before it is appended to"
        OFFSET_ENTRY.pack_into(self._map, self.count * 8, offset - self.base_offset, position)
        self.count += 1

    def lookup(self, offset: int) -> OffsetPosition:
        """The last entry at or before an offset; the start of the segment if there is none."""
        return self._entry(self._first_above(offset - self.base_offset, 0) - 1)

    @property
    def last(self) -> OffsetPosition:
        return self._entry(self.count - 1)

    def truncate(self, offset: int) -> None:
        """Drop all entries from this offset on."""
        self.keep(self._first_above(offset - self.base_offset - 1, 0))

    def is_sane(self, log_size: int) -> bool:
        """Whether it can belong to a segment of this size: the last entry lies in it and after the first offset."""
        last = self.last
        return self.count == 0 or (last.offset > self.base_offset and 0 < last.position < log_size)

    def _entry(self, number: int) -> OffsetPosition:
        if number < 0:
            return OffsetPosition(self.base_offset, 0)
        relative, position = OFFSET_ENTRY.unpack_from(self._content(), number * 8)
        return OffsetPosition(self.base_offset + relative, position)
