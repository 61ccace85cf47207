"""The second reading of a cleaning: a group of segments becomes one `.cleaned` segment of what is to stay."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tidelog.broker.log.cleaner.source import UncleanableError, batches_of
from tidelog.broker.log.config import FOREVER
from tidelog.broker.log.names import CLEANED, LOG, SEGMENT_SUFFIXES
from tidelog.broker.log.open_segments import OpenSegments
from tidelog.broker.log.segment import Segment
from tidelog.broker.log.time_index import TimestampOffset
from tidelog.kafka.records.header import NO_TIMESTAMP, read_header

if TYPE_CHECKING:
    from tidelog.broker.log.cleaner.counters import CleaningCounts
    from tidelog.broker.log.cleaner.filtering import BatchFilter
    from tidelog.broker.log.cleaner.pace import Pace
    from tidelog.broker.log.cleaner.source import SourceSegment
    from tidelog.broker.log.cleaner.transactions import TransactionTrail
    from tidelog.broker.log.config import LogConfig
    from tidelog.broker.log.files import Files
    from tidelog.kafka.records.header import Buffer

# The offset index stores positions in 31 bits.
_SEGMENT_BYTES_MAX = 2**31 - 1
# What is written is synced in parts of this size. The kernel gives blocks to files when it writes them back; what it has
# to read for that waits behind all that the disk was given before, and an append to that file waits with it.
_SYNC_BYTES = 2 * 1024 * 1024


class CleanedFiles(NamedTuple):
    """The `.cleaned` files of one segment, complete and on the disk."""

    base_offset: int
    sizes: dict[str, int]
    modified_ms: int


@dataclass(frozen=True, slots=True)
class GroupJob:
    """Plain data for a thread, and the filter that goes through the whole log. If it fails it leaves no file."""

    files: "Files"
    directory: str
    config: "LogConfig"
    group: "tuple[SourceSegment, ...]"
    batch_filter: "BatchFilter"
    trail: "TransactionTrail"
    pace: "Pace"
    counts: "CleaningCounts"

    def run(self) -> CleanedFiles:
        modified_ms = self.group[-1].modified_ms
        segment = Segment(
            self.files,
            OpenSegments(),
            self.directory,
            self.group[0].base_offset,
            sizes={},
            modified_ms=modified_ms,
            suffix=CLEANED,
        )
        try:
            self._write(segment)
            return CleanedFiles(segment.base_offset, self._synced(segment), modified_ms)
        except BaseException:
            segment.close_files()
            remove_cleaned(self.files, segment)
            raise

    def _write(self, segment: Segment) -> None:
        remove_cleaned(self.files, segment)
        segment.create(self.config)
        writer = CleanedWriter(self.files, segment, self.config)
        last_source = next((source for source in reversed(self.group) if source.size), None)
        for source in self.group:
            for batch in batches_of(self.files, source):
                # The last batch stays whatever is in it, so that the new segment ends where the next one begins.
                is_last = source is last_source and batch.end == source.size
                left = self.batch_filter.filtered(batch, is_last=is_last)
                if left is not None:
                    writer.add(left)
                self.counts.bytes_read += batch.header.size
                self.pace.step(2 * batch.header.size if left is not None else batch.header.size)
        writer.flush()
        for txn in self.trail.still_aborted:
            segment.txn_index.append(txn)
        self.trail.still_aborted.clear()
        self.counts.bytes_written += segment.size

    def _synced(self, segment: Segment) -> dict[str, int]:
        segment.become_inactive()
        segment.close_files()
        sizes = {
            suffix: size for suffix in SEGMENT_SUFFIXES if (size := self.files.size(segment.path(suffix))) is not None
        }
        self.files.set_modified(segment.path(LOG), segment.modified_ms)
        for suffix in sizes:
            self.files.sync_file(segment.path(suffix))
        return sizes


class CleanedWriter:
    """Writes batches in pieces of about one index interval, so that each piece can have an entry."""

    def __init__(self, files: "Files", segment: Segment, config: "LogConfig") -> None:
        self._files = files
        self._segment = segment
        self._synced = 0
        self._interval = config.index_interval_bytes
        self._piece = bytearray()
        self._first_last_offset = 0
        self._largest = TimestampOffset(NO_TIMESTAMP, 0)

    def add(self, batch: "Buffer") -> None:
        header = read_header(batch)
        if not self._piece:
            self._first_last_offset = header.last_offset
            self._largest = TimestampOffset(NO_TIMESTAMP, header.last_offset)
        # An empty batch has a timestamp, and no record to be found by it.
        if header.records_count and header.max_timestamp > self._largest.timestamp:
            self._largest = TimestampOffset(header.max_timestamp, header.last_offset)
        self._piece += batch
        if len(self._piece) > self._interval:
            self.flush()

    def flush(self) -> None:
        """The entry of a piece names its first batch, so that position and offset belong together."""
        segment = self._segment
        if not self._piece:
            return
        if segment.size + len(self._piece) > _SEGMENT_BYTES_MAX:
            raise UncleanableError(f"The segment at {segment.base_offset} would grow beyond 2 GiB.")
        is_full = segment.offset_index.is_full or segment.time_index.is_full
        segment.append(self._piece, self._first_last_offset, *self._largest, FOREVER if is_full else self._interval)
        self._piece = bytearray()
        if segment.size - self._synced >= _SYNC_BYTES:
            self._files.sync(segment.open_file().fd)
            self._synced = segment.size


def remove_cleaned(files: "Files", segment: Segment) -> None:
    for suffix in SEGMENT_SUFFIXES:
        files.unlink_if_there(segment.path(suffix))
