"""The first reading of a cleaning: which offset is the newest of each key in the part that is not compacted yet."""

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from tidelog.broker.log.cleaner.source import UncleanableError, batches_of
from tidelog.broker.log.cleaner.transactions import TransactionTrail
from tidelog.kafka.records.opened import opened_batch, record_blocks

if TYPE_CHECKING:
    from tidelog.broker.log.batch_scan import ScannedBatch
    from tidelog.broker.log.cleaner.counters import CleaningCounts
    from tidelog.broker.log.cleaner.offset_map import OffsetMap
    from tidelog.broker.log.cleaner.pace import Pace
    from tidelog.broker.log.cleaner.source import SourceSegment
    from tidelog.broker.log.files import Files
    from tidelog.broker.log.txn_index import AbortedTxn

_offset = attrgetter("offset")
_key = attrgetter("key")


@dataclass(frozen=True, slots=True)
class MapJob:
    """Plain data for a thread, and the map that it fills. `run` gives the offset before which all is in the map."""

    files: "Files"
    dirty: "tuple[SourceSegment, ...]"
    first_dirty_offset: int
    aborted: "tuple[AbortedTxn, ...]"
    offsets: "OffsetMap"
    pace: "Pace"
    counts: "CleaningCounts"

    def run(self) -> int:
        self.offsets.forget(self.pace.step)
        trail = TransactionTrail(self.aborted)
        end_offset = self.first_dirty_offset
        for source in self.dirty:
            for batch in batches_of(self.files, source):
                if not self._take_in(batch, trail):
                    return self._filled_up(end_offset)
                end_offset = max(end_offset, batch.header.next_offset)
            end_offset = max(end_offset, source.end_offset)
        self.counts.map_utilization = self.offsets.utilization
        return end_offset

    def _take_in(self, batch: "ScannedBatch", trail: TransactionTrail) -> bool:
        """False if the map has no room for all keys of the batch."""
        header = batch.header
        self.counts.bytes_read += header.size
        self.pace.step(header.size)
        is_over = trail.on_batch(batch)
        if is_over or header.is_control or not header.records_count or header.last_offset < self.first_dirty_offset:
            return True
        for block in record_blocks(opened_batch(batch.view, header)):
            if not self.offsets.put(map(_key, block), map(_offset, block)):
                return False
            self.counts.records_mapped += len(block)
            self.pace.step()
        return True

    def _filled_up(self, end_offset: int) -> int:
        self.counts.map_utilization = self.offsets.utilization
        if end_offset == self.first_dirty_offset:
            raise UncleanableError(
                f"The batch at offset {end_offset} has more keys than log.cleaner.dedupe.buffer.size has room for."
            )
        return end_offset
