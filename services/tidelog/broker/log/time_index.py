"""The sparse index from timestamps to offsets of a segment."""

from struct import Struct
from typing import ClassVar, NamedTuple

from tidelog.broker.log.mapped_index import MappedIndex
from tidelog.kafka.records.header import NO_TIMESTAMP

TIME_ENTRY = Struct(">qi")


class TimestampOffset(NamedTuple):
    """The largest timestamp of a part of the log, and the last offset of the first batch that has it."""

    timestamp: int
    offset: int


class TimeIndex(MappedIndex):
    """Entries of 12 bytes: timestamp, offset relative to the segment. No record up to that offset is newer."""

    __slots__ = ()
    entry: ClassVar[Struct] = TIME_ENTRY

    @property
    def is_full(self) -> bool:
        """The last slot is kept for the entry that is made when the segment is rolled or closed."""
        return self._writable and self.count >= self.limit - 1

    def append(self, timestamp: int, offset: int) -> None:
        """Add an entry, unless it says nothing new."""
        assert self._map is not None, "an index is made writable before it is appended to"
        count = self.count
        newest = TIME_ENTRY.unpack_from(self._map, count * 12 - 12)[0] if count else NO_TIMESTAMP
        if timestamp > newest:
            TIME_ENTRY.pack_into(self._map, count * 12, timestamp, offset - self.base_offset)
            self.count = count + 1

    def append_last(self, timestamp: int, offset: int) -> None:
        """Add the entry that ends the index, which is newer than all others, and cut the file after it.

        It is written to the file itself: to touch a page of a fresh mapping takes far longer.
        """
        self.trim()
        with self._files.opened(self.path) as fd:
            entry = TIME_ENTRY.pack(timestamp, offset - self.base_offset)
            self._files.write_whole(fd, entry, self.count * TIME_ENTRY.size)
        self.count += 1

    @property
    def last(self) -> TimestampOffset:
        return self._entry(self.count - 1)

    def lookup(self, timestamp: int) -> TimestampOffset:
        """The last entry at or before a timestamp; the start of the segment if there is none."""
        return self._entry(self._first_above(timestamp, 0) - 1)

    def truncate(self, offset: int) -> None:
        """Drop all entries from this offset on."""
        self.keep(self._first_above(offset - self.base_offset - 1, 1))

    def is_sane(self) -> bool:
        last, first = self.last, self._entry(0)
        return self.count == 0 or (last.offset >= self.base_offset and last.timestamp >= first.timestamp >= 0)

    def _entry(self, number: int) -> TimestampOffset:
        if number < 0 or self.count == 0:
            return TimestampOffset(NO_TIMESTAMP, self.base_offset)
        timestamp, relative = TIME_ENTRY.unpack_from(self._content(), number * 12)
        return TimestampOffset(timestamp, self.base_offset + relative)
