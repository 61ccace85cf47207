"""A file of fixed-size entries that is searched and written through memory.

An index that is appended to has its full size from the start and zeros behind its entries, as in Kafka; it is cut to
its entries when its segment is rolled or closed. Writing to a mapped page for which the disk has no room would kill the
process, so `reserve` asks for the room of the next entries first, by a call that can fail.
"""

from mmap import mmap
from struct import Struct
from typing import TYPE_CHECKING, ClassVar

from tidelog.broker.log.files import Files

if TYPE_CHECKING:
    from tidelog.kafka.records.header import Buffer

_RESERVE_BYTES = 4096


class MappedIndex:
    """Entries of one kind; a subclass knows what is in them."""

    __slots__ = ("_files", "_map", "_reserved", "_reserved_count", "_writable", "base_offset", "count", "limit", "path")

    entry: ClassVar[Struct]

    def __init__(self, files: Files, path: str, base_offset: int, size: int) -> None:
        """An index file of this size, all of it entries. It need not exist if the size is 0."""
        self.path = path
        self.base_offset = base_offset
        self.count = size // self.entry.size
        self.limit = 0
        self._files = files
        self._map: mmap | bytearray | None = None
        self._writable = False
        self._reserved = self._reserved_count = 0

    @property
    def is_writable(self) -> bool:
        return self._writable

    def make_writable(self, max_bytes: int) -> None:
        """Give the file the size it may grow to, and map all of it."""
        if self._writable:
            return
        self.forget()
        self.limit = max(max_bytes // self.entry.size, self.count + 1)
        size = self.limit * self.entry.size
        with self._files.opened(self.path, create=True) as fd:
            self._files.truncate(fd, size)
            self._map = self._files.map(fd, size, writable=True)
        self._writable = True
        self._reserved = self._reserved_count = 0

    def reserve(self) -> None:
        """Make sure that the next entry has room on the disk; OSError if there is none."""
        if self.count < self._reserved_count:
            return
        start = max(self._reserved, self.count * self.entry.size)
        end = min((start // _RESERVE_BYTES + 1) * _RESERVE_BYTES, self.limit * self.entry.size)
        if end - start < self.entry.size:
            end = min(end + _RESERVE_BYTES, self.limit * self.entry.size)
        # Zeros are written rather than space allocated: that also spares the first touch of the mapping some milliseconds.
        with self._files.opened(self.path) as fd:
            self._files.write_whole(fd, bytes(end - start), start)
        self._reserved = end
        self._reserved_count = end // self.entry.size

    def forget(self) -> None:
        """Give back the memory and the file descriptor; the file stays as it is."""
        # Nobody may still look at the map. A slice of it would be a bug, and closing it would say so.
        if isinstance(self._map, mmap):
            self._map.close()
        self._map = None
        self._writable = False

    def trim(self) -> None:
        """Cut the file to its entries."""
        self.forget()
        with self._files.opened(self.path, create=True) as fd:
            self._files.truncate(fd, self.count * self.entry.size)

    def replace(self, entries: "Buffer") -> None:
        """Put other entries in the place of all that the file holds, and nothing behind them."""
        self.forget()
        with self._files.opened(self.path, create=True) as fd:
            self._files.truncate(fd, 0)
            self._files.write_whole(fd, entries, 0)
        self.count = len(entries) // self.entry.size

    def keep(self, count: int) -> None:
        """Drop all entries after the first ones; in a writable file zeros take their place."""
        if count >= self.count:
            return
        if not self._writable:
            self.count = count
            self.trim()
            return
        size = self.entry.size
        content = self._content()
        content[count * size : self.count * size] = bytes((self.count - count) * size)
        self.count = count

    def entries(self) -> "list[tuple[int, ...]]":
        """All raw entries, for tools and tests."""
        content = self._content()
        return [self.entry.unpack_from(content, n * self.entry.size) for n in range(self.count)]

    def _content(self) -> "mmap | bytearray":
        if self._map is None:
            size = self.count * self.entry.size
            if size == 0:
                return bytearray()
            with self._files.opened(self.path, readonly=True) as fd:
                self._map = self._files.map(fd, size, writable=False)
        return self._map

    def _first_above(self, key: int, field: int) -> int:
        """How many entries have this field at most as large as the key; the field grows from entry to entry."""
        content, unpack, size = self._content(), self.entry.unpack_from, self.entry.size
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            if unpack(content, middle * size)[field] <= key:
                low = middle + 1
            else:
                high = middle
        return low
