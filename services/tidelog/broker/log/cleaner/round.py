"""One cleaning of one log, from the owner's side.

It is a generator: what it yields is work for a thread, called without arguments, and what that gave is sent back. So
the owner is free in between, and a test can run it without threads. Groups are put in place one by one and in order: a
tombstone must not go while an older group may still hold what it deletes.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from tidelog.broker.log.cleaner.cleaning import CleanedFiles, GroupJob, remove_cleaned
from tidelog.broker.log.cleaner.counters import CleaningCounts
from tidelog.broker.log.cleaner.dirty import sources
from tidelog.broker.log.cleaner.filtering import BatchFilter, CleaningRules, ProducerEnd
from tidelog.broker.log.cleaner.grouping import group_segments
from tidelog.broker.log.cleaner.mapping import MapJob
from tidelog.broker.log.cleaner.transactions import TransactionTrail
from tidelog.broker.log.names import CLEANED
from tidelog.broker.log.segment import Segment
from tidelog.broker.log.swap import begin_swap, can_swap, finish_swap, give_up_swap

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from tidelog.broker.log.cleaner.dirty import DirtyLog
    from tidelog.broker.log.cleaner.offset_map import OffsetMap
    from tidelog.broker.log.cleaner.pace import Pace
    from tidelog.broker.log.cleaner.source import SourceSegment
    from tidelog.broker.log.log import Log
    from tidelog.broker.log.txn_index import AbortedTxn

    Steps = Generator[Callable[[], object], Any, bool]


@dataclass(slots=True)
class CleaningRound:
    """The tools of one cleaning. `counts` is read when it is over."""

    dirty: "DirtyLog"
    offsets: "OffsetMap"
    pace: "Pace"
    now_ms: int
    counts: CleaningCounts = field(default_factory=CleaningCounts)

    def steps(self) -> "Steps":
        """True if the log was cleaned; false if it has changed meanwhile so that this was in vain."""
        log, dirty = self.dirty.log, self.dirty
        truncations = log.truncations
        aborted = tuple(_aborted(log))
        to_map = sources(log, dirty.first_dirty_offset, dirty.end_offset)
        end_offset: int = yield MapJob(
            log.files, to_map, dirty.first_dirty_offset, aborted, self.offsets, self.pace, self.counts
        ).run
        trail = TransactionTrail(aborted)
        rules = CleaningRules(end_offset, self.now_ms, log.config.delete_retention_ms, _producer_ends(log))
        batch_filter = BatchFilter(rules, self.offsets, trail, self.counts, self.pace)
        for group in group_segments(sources(log, 0, end_offset), log.config):
            job = GroupJob(log.files, log.directory, log.config, group, batch_filter, trail, self.pace, self.counts)
            cleaned: CleanedFiles = yield job.run
            if not (yield from self._put_in_place(cleaned, group, truncations)):
                return False
        log.first_dirty_offset = end_offset
        return True

    def _put_in_place(self, cleaned: CleanedFiles, group: "tuple[SourceSegment, ...]", truncations: int) -> "Steps":
        log = self.dirty.log
        new = Segment(
            log.files,
            log.open_segments,
            log.directory,
            cleaned.base_offset,
            sizes=cleaned.sizes,
            modified_ms=cleaned.modified_ms,
            suffix=CLEANED,
        )
        bases = {source.base_offset for source in group}
        old = [segment for segment in log.segments if segment.base_offset in bases]
        if len(old) < len(group) or not can_swap(log, old, truncations):
            yield partial(remove_cleaned, log.files, new)
            return False
        begin_swap(log, new)
        yield partial(log.files.sync_dir, log.directory)
        if log.pending_swap is not new or not can_swap(log, old, truncations):
            _give_up(log)
            return False
        finish_swap(log, new, old, self.now_ms)
        return True


def _give_up(log: "Log") -> None:
    if not log.is_offline:
        with log.io():
            give_up_swap(log)


def _aborted(log: "Log") -> "list[AbortedTxn]":
    """Of all segments: the marker of a transaction may lie in a later one than its records."""
    return [txn for segment in log.segments for txn in segment.txn_index.entries()]


def _producer_ends(log: "Log") -> dict[int, ProducerEnd]:
    return {pid: ProducerEnd(entry.last_offset, entry.producer_epoch) for pid, entry in log.producers.entries.items()}
