"""One segment of a log: a file of batches and its indexes.

Its files are opened when they are first needed and may be closed again at any time (see OpenSegments), so that a broker
with thousands of partitions starts fast and stays small. The active segment is the only one that is written to.
"""

from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from tidelog.broker.log.log_file import FileRange, LogFile
from tidelog.broker.log.names import LOG, OFFSET_INDEX, SEGMENT_SUFFIXES, TIME_INDEX, TXN_INDEX, offset_name
from tidelog.broker.log.offset_index import OffsetIndex
from tidelog.broker.log.time_index import TimeIndex, TimestampOffset
from tidelog.broker.log.txn_index import TxnIndex
from tidelog.kafka.records.header import HEADER_SIZE, LENGTH_OVERHEAD, NO_TIMESTAMP, BatchHeader, read_header

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tidelog.broker.log.config import LogConfig
    from tidelog.broker.log.files import Files
    from tidelog.broker.log.open_segments import OpenSegments
    from tidelog.kafka.records.header import Buffer

RELATIVE_OFFSET_MAX = 2**31 - 1
# Base offset, batch length, last offset delta: what is needed to walk from batch to batch.
_STEP = Struct(">qi11xi")
_STEP_BYTES = _STEP.size
# An index entry is followed by little more than index.interval.bytes before the next one.
_SCAN_BYTES = 8192
_BOUNDARIES_MAX = 128
# Linux gives a file its blocks when it writes it back for the first time, half a minute after the first append, and
# whoever appends meanwhile waits, for up to a tenth of a second where the disk is busy (measured on ext4). An append into
# blocks that were given before does not. So a segment that has grown to some size is given space by the quarter of it.
_AHEAD_FROM_BYTES = 4 * 1024 * 1024
_AHEAD_BYTES_MAX = 16 * 1024 * 1024


class Located(NamedTuple):
    """Where a batch lies."""

    base_offset: int
    last_offset: int
    position: int
    size: int


class Segment:
    """Batches from a base offset on."""

    __slots__ = (
        "_allocated_to",
        "_boundaries",
        "_files",
        "_largest",
        "_open_segments",
        "_pwrite",
        "base_offset",
        "bytes_since_index_entry",
        "created_ms",
        "directory",
        "file",
        "first_timestamp",
        "indexes_are_full",
        "is_writable",
        "modified_ms",
        "offset_index",
        "size",
        "suffix",
        "time_index",
        "txn_index",
        "used",
    )

    def __init__(
        self,
        files: "Files",
        open_segments: "OpenSegments",
        directory: str,
        base_offset: int,
        *,
        sizes: "Mapping[str, int]",
        modified_ms: int,
        suffix: str = "",
    ) -> None:
        """A segment whose files have these sizes by suffix; a file that is not named does not exist yet.

        A second suffix is for segments that are not yet, or not any more, in a log.
        """
        self._files = files
        self._open_segments = open_segments
        self.directory = directory
        self.base_offset = base_offset
        self.suffix = suffix
        self.size = sizes.get(LOG, 0)
        self.modified_ms = modified_ms
        self.created_ms = modified_ms
        self.offset_index = OffsetIndex(files, self.path(OFFSET_INDEX), base_offset, sizes.get(OFFSET_INDEX, 0))
        self.time_index = TimeIndex(files, self.path(TIME_INDEX), base_offset, sizes.get(TIME_INDEX, 0))
        self.txn_index = TxnIndex(files, self.path(TXN_INDEX), sizes.get(TXN_INDEX, 0))
        self.file: LogFile | None = None
        self.used = False
        self.bytes_since_index_entry = 0
        self._largest: TimestampOffset | None = None
        self.first_timestamp: int | None = None
        self.is_writable = False
        self.indexes_are_full = False
        self._pwrite = files.pwrite
        # No space is asked for before the file has reached this.
        self._allocated_to = _AHEAD_FROM_BYTES
        # Positions of batches that were appended of late, by base offset: most reads go on where one ended.
        self._boundaries: dict[int, int] = {}

    def path(self, suffix: str) -> str:
        return f"{self.directory}/{offset_name(self.base_offset, suffix)}{self.suffix}"

    def rename(self, suffix: str) -> list[str]:
        """Give all files another second suffix, the log file first; gives the new paths."""
        renamed = []
        for kind in SEGMENT_SUFFIXES:
            old, new = self.path(kind), f"{self.directory}/{offset_name(self.base_offset, kind)}{suffix}"
            if self._files.size(old) is not None:
                self._files.rename(old, new)
                renamed.append(new)
        self.suffix = suffix
        for index, kind in ((self.offset_index, OFFSET_INDEX), (self.time_index, TIME_INDEX)):
            index.path = self.path(kind)
        self.txn_index.path = self.path(TXN_INDEX)
        return renamed

    # Opening and closing

    def create(self, config: "LogConfig") -> None:
        """Make the files of a new, empty segment and get ready to append."""
        self.file = LogFile(self._files, self.path(LOG), create=True)
        self._open_segments.admit(self)
        if config.preallocate:
            self._files.preallocate(self.file.fd, 0, config.segment_bytes)
        self.make_writable(config)

    def make_writable(self, config: "LogConfig") -> None:
        self.open_file()
        self.offset_index.make_writable(config.segment_index_bytes)
        self.time_index.make_writable(config.segment_index_bytes)
        self._largest = self.largest
        self.indexes_are_full = self.offset_index.is_full or self.time_index.is_full
        self.is_writable = True

    def open_file(self) -> LogFile:
        self.used = True
        if self.file is None:
            self.file = LogFile(self._files, self.path(LOG))
            self._open_segments.admit(self)
        return self.file

    def close_files(self) -> None:
        """Give back descriptors and memory. The segment itself goes on and opens its files again when it needs them.

        The indexes of the active segment are cut to their entries, from which they are opened again.
        """
        self.is_writable = False
        for index in (self.offset_index, self.time_index):
            if index.is_writable:
                index.trim()
            else:
                index.forget()
        self.file = None
        self._open_segments.forget(self)

    def become_inactive(self) -> bool:
        """What is done when the segment is rolled or the log is closed: the last time entry, and cut the files.

        False if there was nothing to do.
        """
        changed = self.is_writable = False
        if self._largest is not None and self._largest.timestamp > self.time_index.last.timestamp:
            self.time_index.append_last(*self._largest)
            changed = True
        for index in (self.offset_index, self.time_index):
            if index.is_writable:
                index.trim()
                changed = True
        if self.file is not None and changed:
            # A preallocated file is longer than what is in it, and space may lie behind its end.
            self._files.truncate(self.file.fd, self.size)
        return changed

    # Appending

    def append(
        self, data: "Buffer", last_offset: int, max_timestamp: int, offset_of_max: int, index_interval_bytes: int
    ) -> None:
        """Write whole batches at the end, by one call. OSError leaves the segment as it was."""
        file, largest = self.file, self._largest
        assert file is not None, "a segment is made writable before it is appended to"
        assert largest is not None
        position, size = self.size, len(data)
        if position + size > self._allocated_to:
            self._allocate_ahead(file, position, size)
        index_entry_due = self.bytes_since_index_entry > index_interval_bytes
        if index_entry_due:
            self.offset_index.reserve()
            self.time_index.reserve()
        try:
            written = self._pwrite(file.fd, data, position)
            if written != size:
                self._files.write_whole(file.fd, memoryview(data)[written:], position + written)
        except OSError:
            self._cut_back(file)
            raise
        self.used = True
        if max_timestamp > largest.timestamp:
            self._largest = largest = TimestampOffset(max_timestamp, offset_of_max)
        if position == 0:
            self.first_timestamp = max_timestamp
        if index_entry_due:
            self.offset_index.append(last_offset, position)
            self.time_index.append(largest.timestamp, largest.offset)
            self.indexes_are_full = self.offset_index.is_full or self.time_index.is_full
            self.bytes_since_index_entry = 0
        self.bytes_since_index_entry += size
        self.size = position + size

    def _allocate_ahead(self, file: LogFile, position: int, size: int) -> None:
        ahead = min((position + size) // 4, _AHEAD_BYTES_MAX)
        self._files.allocate_ahead(file.fd, position, size + ahead)
        self._allocated_to = position + size + ahead

    def note_boundary(self, offset: int, position: int) -> None:
        """Remember where the batch with this base offset starts."""
        boundaries = self._boundaries
        if len(boundaries) >= _BOUNDARIES_MAX:
            del boundaries[next(iter(boundaries))]
        boundaries[offset] = position

    def _cut_back(self, file: LogFile) -> None:
        """After a failed write: what was written in part must not be there when the log is opened again."""
        try:
            self._files.truncate(file.fd, self.size)
        except OSError:
            # The disk is failing. Nothing beyond self.size is ever served, and recovery will cut it off.
            return

    @property
    def largest(self) -> TimestampOffset:
        """The largest timestamp so far and the last offset of the batch that has it."""
        if self._largest is None:
            self._largest = self.time_index.last
        return self._largest

    def set_largest(self, largest: TimestampOffset) -> None:
        self._largest = largest

    @property
    def largest_timestamp(self) -> int:
        """For retention: the time of the file stands in if no record has one."""
        timestamp = self.largest.timestamp
        return self.modified_ms if timestamp < 0 else timestamp

    def read_first_timestamp(self) -> int:
        """The timestamp of the first batch, by which segments are rolled; -1 if there is none."""
        if self.first_timestamp is None and self.size:
            self.first_timestamp = self.header_at(0).max_timestamp
        return NO_TIMESTAMP if self.first_timestamp is None else self.first_timestamp

    # Finding batches

    def forget_end(self) -> None:
        """After a truncation: other batches may come to lie at known places, and the newest record may be gone."""
        self.bytes_since_index_entry = 0
        # The file was cut, and what it had ahead with it.
        self._allocated_to = max(self.size, _AHEAD_FROM_BYTES)
        self._boundaries.clear()
        self._largest = self._largest_by_headers()
        if not self.size:
            self.first_timestamp = None

    def _largest_by_headers(self) -> TimestampOffset:
        """The last time entry covers what is before the last offset entry; the headers after it tell the rest."""
        largest = self.time_index.last
        for _, header in self.headers(self.offset_index.lookup(largest.offset).position):
            if header.max_timestamp > largest.timestamp:
                largest = TimestampOffset(header.max_timestamp, header.last_offset)
        return largest

    def header_at(self, position: int) -> BatchHeader:
        return read_header(self._files.pread(self.open_file().fd, HEADER_SIZE, position))

    def batch_at(self, position: int, size: int) -> bytes:
        return self._files.pread(self.open_file().fd, size, position)

    def steps(self, position: int, end: int | None = None) -> "Iterator[Located]":
        """Walk over batches from the start of one on. A batch that is not wholly there ends the walk."""
        fd, limit = self.open_file().fd, self.size if end is None else end
        chunk, chunk_at = b"", position
        while position + HEADER_SIZE <= limit:
            if position + _STEP_BYTES > chunk_at + len(chunk):
                chunk, chunk_at = self._files.pread(fd, _SCAN_BYTES, position), position
                if len(chunk) < _STEP_BYTES:
                    return
            base_offset, length, delta = _STEP.unpack_from(chunk, position - chunk_at)
            size = length + LENGTH_OVERHEAD
            if size < HEADER_SIZE or position + size > limit:
                return
            yield Located(base_offset, base_offset + delta, position, size)
            position += size

    def headers(self, position: int = 0) -> "Iterator[tuple[int, BatchHeader]]":
        """Position and whole header of each batch."""
        for step in self.steps(position):
            yield step.position, self.header_at(step.position)

    def locate(self, offset: int) -> Located | None:
        """The first batch whose last offset is not below an offset; None if all are."""
        known = self._boundaries.get(offset)
        start = self.offset_index.lookup(offset).position if known is None else known
        for step in self.steps(start):
            if step.last_offset >= offset:
                return step
        return None

    def known_position(self, offset: int) -> int | None:
        """Where the batch with this base offset starts, or where the next one will, if that is remembered."""
        return self._boundaries.get(offset)

    def position_of(self, offset: int) -> int:
        """Where the batch that holds this offset starts; the end if all are below."""
        known = self._boundaries.get(offset)
        if known is not None:
            return known
        found = self.locate(offset)
        return self.size if found is None else found.position

    def read(self, first: Located, end: int, max_bytes: int) -> FileRange:
        """So many bytes from the first batch on, not beyond `end`, and at least that batch. The last one may be cut."""
        stop = first.position + max(max_bytes, first.size)
        return FileRange(self.open_file(), first.position, min(end, stop) - first.position)

    def next_offset(self) -> int:
        """The offset after the last batch, found from the last index entry on."""
        end = self.base_offset
        for step in self.steps(self.offset_index.last.position):
            end = step.last_offset + 1
        return end
