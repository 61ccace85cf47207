"""Recovery after an unclean stop: believe nothing after the recovery point that does not prove itself.

Every segment from the one that holds the recovery point on is read batch by batch. Its indexes, the epochs and the
producers are made again from what is in it. The first batch that is not right ends the log: it and everything after it,
later segments included, is cut off.
"""

from typing import TYPE_CHECKING

from tidelog.broker.log.batch_scan import ScannedBatch, scan_batches
from tidelog.broker.log.offset_index import OFFSET_ENTRY
from tidelog.broker.log.segment import RELATIVE_OFFSET_MAX
from tidelog.broker.log.time_index import TIME_ENTRY, TimestampOffset
from tidelog.kafka.errors import KafkaError
from tidelog.kafka.records.header import NO_TIMESTAMP, BatchHeader

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.broker.log.config import LogConfig
    from tidelog.broker.log.files import Files
    from tidelog.broker.log.segment import Segment

    Witness = Callable[[ScannedBatch, Segment, int], None]


class RebuiltIndexes:
    """Makes the indexes of a segment again while its batches go by, with the entries that appending made.

    They are collected in memory and written at once: to touch mapped pages of fresh files would take far longer.
    """

    def __init__(self, segment: "Segment", config: "LogConfig") -> None:
        self._segment = segment
        self._base_offset = segment.base_offset
        self._interval = config.index_interval_bytes
        # One slot less than may be: the last time entry is made at the end.
        self._entries_max = config.segment_index_bytes // TIME_ENTRY.size - 1
        self._last_entry_at = 0
        self._largest = TimestampOffset(NO_TIMESTAMP, segment.base_offset)
        self._last_time = NO_TIMESTAMP
        self._offsets = bytearray()
        self._times = bytearray()

    def add(self, position: int, header: BatchHeader) -> None:
        if header.max_timestamp > self._largest.timestamp:
            self._largest = TimestampOffset(header.max_timestamp, header.last_offset)
        if position - self._last_entry_at > self._interval and len(self._offsets) // 8 < self._entries_max:
            self._offsets += OFFSET_ENTRY.pack(header.last_offset - self._base_offset, position)
            self._add_time()
            self._last_entry_at = position

    def _add_time(self) -> None:
        timestamp, offset = self._largest
        if timestamp > self._last_time:
            self._times += TIME_ENTRY.pack(timestamp, offset - self._base_offset)
            self._last_time = timestamp

    def finish(self) -> None:
        self._add_time()
        self._segment.offset_index.replace(self._offsets)
        self._segment.time_index.replace(self._times)
        self._segment.set_largest(self._largest)


def recover_segment(
    files: "Files", segment: "Segment", config: "LogConfig", witness: "Witness", next_offset: int
) -> int:
    """Scan a segment and cut it after its last good batch; gives the offset after that.

    The witness sees each batch whose bytes are right, in order, and may refuse one by a KafkaError.
    """
    indexes = RebuiltIndexes(segment, config)
    segment.txn_index.clear()
    next_offset, good_end, epoch = max(next_offset, segment.base_offset), 0, -1
    largest_offset = segment.base_offset + RELATIVE_OFFSET_MAX
    file = segment.open_file()
    for batch in scan_batches(files, file.fd, segment.size):
        header = batch.header
        is_in_order = next_offset <= header.base_offset <= largest_offset
        # An epoch never falls within a log: older bytes that lie behind newer ones were meant to be cut off.
        if not is_in_order or header.partition_leader_epoch < epoch or not batch.is_valid():
            break
        try:
            witness(batch, segment, next_offset)
        except KafkaError:
            break
        indexes.add(batch.position, header)
        good_end, next_offset, epoch = batch.end, header.next_offset, header.partition_leader_epoch
    if good_end < segment.size:
        files.truncate(file.fd, good_end)
        segment.size = good_end
    indexes.finish()
    return next_offset


def rebuild_indexes(files: "Files", segment: "Segment", config: "LogConfig") -> None:
    """Make the offset and time index of a segment again whose content is not in doubt."""
    indexes = RebuiltIndexes(segment, config)
    for batch in scan_batches(files, segment.open_file().fd, segment.size):
        indexes.add(batch.position, batch.header)
    indexes.finish()
