"""What becomes of one batch in a cleaning: it stays as it is, loses records, becomes empty, or goes.

| the batch | what happens |
|---|---|
| data of an aborted transaction | goes |
| a record that is not the newest of its key, or without a key | goes |
| a tombstone | the batch gets a delete horizon; after that time it goes |
| a transaction's marker, records of the transaction left | stays |
| the same, none left | gets a delete horizon; after that time it goes |
| nothing left, but a living producer's last batch, or the last of the new segment | stays, empty |
"""

from itertools import compress
from operator import attrgetter, ge
from typing import TYPE_CHECKING, NamedTuple

from tidelog.broker.log.cleaner.rewriting import empty_batch, rewritten
from tidelog.broker.log.producer_entry import NO_OFFSET
from tidelog.kafka.records.header import NO_TIMESTAMP
from tidelog.kafka.records.opened import opened_batch, record_blocks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidelog.broker.log.batch_scan import ScannedBatch
    from tidelog.broker.log.cleaner.counters import CleaningCounts
    from tidelog.broker.log.cleaner.offset_map import OffsetMap
    from tidelog.broker.log.cleaner.pace import Pace
    from tidelog.broker.log.cleaner.transactions import TransactionTrail
    from tidelog.kafka.records.header import BatchHeader, Buffer
    from tidelog.kafka.records.opened import OpenedRecord

_offset = attrgetter("offset")
_timestamp = attrgetter("timestamp")
_value = attrgetter("value")
_key = attrgetter("key")


class ProducerEnd(NamedTuple):
    """The last batch of a living producer; without an offset it is the marker of its epoch that must stay."""

    last_offset: int
    producer_epoch: int


class CleaningRules(NamedTuple):
    """What holds for a whole cleaning. Records from `end_offset` on are not in the map and stay."""

    end_offset: int
    now_ms: int
    delete_retention_ms: int
    producers: "Mapping[int, ProducerEnd]"


class BatchFilter:
    """Looks at every batch of a log in order."""

    def __init__(
        self,
        rules: CleaningRules,
        offsets: "OffsetMap",
        trail: "TransactionTrail",
        counts: "CleaningCounts",
        pace: "Pace",
    ) -> None:
        self._rules = rules
        self._offsets = offsets
        self._trail = trail
        self._counts = counts
        self._pace = pace

    def filtered(self, batch: "ScannedBatch", *, is_last: bool) -> "Buffer | None":
        """What is to be written in its place; None if nothing is. The same view again if it stays as it is."""
        header = batch.header
        is_over = self._trail.on_batch(batch)
        left: Buffer | None
        if header.is_control:
            left = self._filtered_marker(batch, is_over=is_over)
        elif is_over or not header.records_count:
            left = None
        elif header.base_offset >= self._rules.end_offset:
            left = batch.view
        else:
            left = self._filtered_data(batch)
        if left is None and (is_last or self._is_end_of_producer(header)):
            return empty_batch(header)
        return left

    def _filtered_marker(self, batch: "ScannedBatch", *, is_over: bool) -> "Buffer | None":
        header = batch.header
        if not is_over:
            return batch.view
        if not header.records_count or self._is_past_horizon(header):
            return None
        if header.delete_horizon_ms is not None:
            return batch.view
        kept = [True] * header.records_count
        opened = opened_batch(batch.view, header)
        return rewritten(header, opened, kept, header.max_timestamp, self._new_horizon_ms())

    def _is_past_horizon(self, header: "BatchHeader") -> bool:
        return header.delete_horizon_ms is not None and header.delete_horizon_ms <= self._rules.now_ms

    def _new_horizon_ms(self) -> int:
        return self._rules.now_ms + self._rules.delete_retention_ms

    def _is_end_of_producer(self, header: "BatchHeader") -> bool:
        end = self._rules.producers.get(header.producer_id) if header.has_producer_id else None
        if end is None:
            return False
        if end.last_offset != NO_OFFSET:
            return header.last_offset == end.last_offset
        return header.is_control and header.producer_epoch == end.producer_epoch

    def _filtered_data(self, batch: "ScannedBatch") -> "Buffer | None":
        header = batch.header
        opened = opened_batch(batch.view, header)
        selection = _Selection(deletes_stay=not self._is_past_horizon(header))
        for block in record_blocks(opened):
            selection.add(block, self._newest_of_their_keys(block))
            self._pace.step()
        kept, count = selection.kept, sum(selection.kept)
        self._counts.records_read += len(kept)
        self._counts.records_kept += count
        if not count:
            return None
        needs_horizon = selection.has_tombstones and header.delete_horizon_ms is None
        if count == len(kept) and not needs_horizon:
            return batch.view
        horizon_ms = self._new_horizon_ms() if needs_horizon else None
        return rewritten(header, opened, kept, selection.largest_timestamp, horizon_ms)

    def _newest_of_their_keys(self, block: "list[OpenedRecord]") -> list[bool]:
        keys = list(map(_key, block))
        if None in keys or block[-1].offset >= self._rules.end_offset:
            return [self._is_newest(record) for record in block]
        return list(map(ge, map(_offset, block), self._offsets.offsets_of(keys)))

    def _is_newest(self, record: "OpenedRecord") -> bool:
        if record.offset >= self._rules.end_offset:
            return True
        if record.key is None:
            self._counts.records_without_key += 1
            return False
        return record.offset >= self._offsets.offsets_of((record.key,))[0]


class _Selection:
    """Which records of a batch stay, and what is to be known of those."""

    def __init__(self, *, deletes_stay: bool) -> None:
        self._deletes_stay = deletes_stay
        self.kept: list[bool] = []
        self.has_tombstones = False
        self.largest_timestamp = NO_TIMESTAMP

    def add(self, block: "list[OpenedRecord]", stays: list[bool]) -> None:
        if None in map(_value, block):
            self._look_for_tombstones(block, stays)
        timestamps = compress(map(_timestamp, block), stays)
        self.largest_timestamp = max(self.largest_timestamp, max(timestamps, default=NO_TIMESTAMP))
        self.kept += stays

    def _look_for_tombstones(self, block: "list[OpenedRecord]", stays: list[bool]) -> None:
        for number, record in enumerate(block):
            if record.value is None and stays[number]:
                stays[number] = self._deletes_stay
                self.has_tombstones = self.has_tombstones or self._deletes_stay
