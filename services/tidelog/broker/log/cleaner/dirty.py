"""Which part of a log can be compacted, and how much it needs it. Everything here only looks at the log."""

from typing import TYPE_CHECKING, NamedTuple

from tidelog.broker.log.cleaner.source import SourceSegment
from tidelog.broker.log.names import LOG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidelog.broker.log.log import Log
    from tidelog.broker.log.segment import Segment


class DirtyLog(NamedTuple):
    """A log and its dirty part: from the first dirty offset up to a segment that is not cleaned."""

    log: "Log"
    first_dirty_offset: int
    end_offset: int
    clean_bytes: int
    dirty_bytes: int
    compaction_delay_ms: int

    @property
    def ratio(self) -> float:
        whole = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / whole if whole else 0.0

    @property
    def is_due(self) -> bool:
        """By its ratio, or because something waits for longer than max.compaction.lag.ms."""
        if not self.dirty_bytes:
            return False
        return self.compaction_delay_ms > 0 or self.ratio > self.log.config.min_cleanable_dirty_ratio


def look_at(log: "Log", now_ms: int) -> DirtyLog:
    first_dirty = _first_dirty_offset(log)
    spans = _inactive(log)
    cleanable = [(segment, end) for segment, end in _cleanable(log, spans, first_dirty, now_ms) if end > first_dirty]
    clean = (segment for segment, end in spans if end <= first_dirty)
    return DirtyLog(
        log=log,
        first_dirty_offset=first_dirty,
        end_offset=cleanable[-1][1] if cleanable else first_dirty,
        clean_bytes=sum(segment.size for segment in clean),
        dirty_bytes=sum(segment.size for segment, _ in cleanable),
        compaction_delay_ms=_compaction_delay_ms(log, spans, first_dirty, now_ms),
    )


def sources(log: "Log", from_offset: int, end_offset: int) -> tuple[SourceSegment, ...]:
    """The segments that hold offsets within these two, as plain data for a thread."""
    return tuple(
        SourceSegment(
            path=segment.path(LOG),
            base_offset=segment.base_offset,
            end_offset=end,
            size=segment.size,
            offset_index_bytes=segment.offset_index.count * segment.offset_index.entry.size,
            time_index_bytes=segment.time_index.count * segment.time_index.entry.size,
            modified_ms=segment.modified_ms,
        )
        for segment, end in _inactive(log)
        if segment.base_offset < end_offset and end > from_offset
    )


def _first_dirty_offset(log: "Log") -> int:
    """A checkpoint that the log does not reach any more says nothing about what is in it."""
    checkpoint = log.first_dirty_offset
    if checkpoint is None or not log.log_start_offset <= checkpoint <= log.log_end_offset:
        return log.log_start_offset
    return checkpoint


def _inactive(log: "Log") -> "list[tuple[Segment, int]]":
    """All segments but the active one, each with the offset after it."""
    return list(zip(log.segments, log.segments.bases[1:], strict=False))


def _cleanable(
    log: "Log", spans: "list[tuple[Segment, int]]", first_dirty: int, now_ms: int
) -> "Iterator[tuple[Segment, int]]":
    """The segments up to the first that is not stable, not yet on the disk, or too young."""
    bound, lag_ms = min(log.last_stable_offset, log.recovery_point), log.config.min_compaction_lag_ms
    for segment, end in spans:
        if end > bound or (lag_ms > 0 and end > first_dirty and segment.largest_timestamp > now_ms - lag_ms):
            return
        yield segment, end


def _compaction_delay_ms(log: "Log", spans: "list[tuple[Segment, int]]", first_dirty: int, now_ms: int) -> int:
    """For how long the oldest dirty record has waited beyond what is allowed."""
    limit_ms = now_ms - log.config.max_compaction_lag_ms
    if limit_ms < 0:
        return 0
    dirty = (segment.read_first_timestamp() for segment, end in spans if end > first_dirty)
    oldest = min((timestamp for timestamp in dirty if timestamp > 0), default=limit_ms)
    return max(limit_ms - oldest, 0)
