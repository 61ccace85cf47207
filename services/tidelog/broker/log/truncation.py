"""Cutting the end off a log, or all of it. A follower does this where it differs from its leader."""

from typing import TYPE_CHECKING

from tidelog.broker.log.names import SEGMENT_SUFFIXES
from tidelog.broker.log.replay import replay_producers
from tidelog.broker.log.swap import give_up_swap

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.broker.log.log import Log
    from tidelog.broker.log.segment import Segment


def truncate_to(log: "Log", offset: int, now_ms: int, checkpoint: "Callable[[], None]") -> bool:
    """Drop everything from an offset on; False if there is nothing to drop.

    A batch that holds the offset goes as a whole, and the log ends before it: no offset is left without a record.
    `checkpoint` makes the lowered recovery point durable. It is called before anything is cut, so that a crash at any
    later moment is followed by a recovery that looks at what was being cut.
    """
    with log.io():
        if offset >= log.log_end_offset:
            # A leader that never wrote may have left an epoch that begins at the end.
            log.epochs.truncate_end(log.log_end_offset)
            return False
        _lower_recovery_point(log, offset, checkpoint)
        if offset <= log.segments.first.base_offset:
            _start_again(log, offset, now_ms)
            return True
        _remove_segments(log, [s for s in log.segments if s.base_offset > offset])
        end_offset = _cut_segment(log, log.segments.active, offset)
        log.recovery_point = min(log.recovery_point, end_offset)
        log.epochs.truncate_end(end_offset)
        _settle(log, end_offset, now_ms)
    return True


def truncate_fully(log: "Log", offset: int, now_ms: int, checkpoint: "Callable[[], None]") -> None:
    """Forget the whole log and go on at an offset, as a follower that fell behind the leader's start does."""
    with log.io():
        _lower_recovery_point(log, 0, checkpoint)
        _start_again(log, offset, now_ms)


def _lower_recovery_point(log: "Log", offset: int, checkpoint: "Callable[[], None]") -> None:
    log.truncations += 1
    give_up_swap(log)
    log.rolled_unflushed.clear()
    is_below_cleaned = log.first_dirty_offset is not None and offset < log.first_dirty_offset
    if is_below_cleaned:
        log.first_dirty_offset = offset
    if offset < log.recovery_point or is_below_cleaned:
        log.recovery_point = min(offset, log.recovery_point)
        checkpoint()


def _start_again(log: "Log", offset: int, now_ms: int) -> None:
    _remove_segments(log, list(log.segments))
    log.snapshots.remove_after(-1)
    log.epochs.clear()
    log.producers.clear()
    log.segments.add(log.new_segment(offset, now_ms))
    log.files.sync_dir(log.directory)
    log.log_start_offset = log.log_end_offset = log.recovery_point = offset
    log.update_high_watermark(offset)


def _remove_segments(log: "Log", segments: "list[Segment]") -> None:
    """At once and newest first: what is left after a crash is the beginning of the log."""
    for segment in reversed(segments):
        log.segments.remove(segment)
        segment.close_files()
        for suffix in SEGMENT_SUFFIXES:
            log.files.unlink_if_there(segment.path(suffix))
    log.files.sync_dir(log.directory)


def _cut_segment(log: "Log", segment: "Segment", offset: int) -> int:
    """Gives the offset at which the log ends now."""
    first = segment.locate(offset)
    position, offset = (segment.size, offset) if first is None else (first.position, min(offset, first.base_offset))
    segment.make_writable(log.config)
    segment.offset_index.truncate(offset)
    segment.time_index.truncate(offset)
    segment.txn_index.truncate(offset)
    file = segment.open_file()
    log.files.truncate(file.fd, position)
    # The cut must be on the disk before anything is written there: old bytes behind new ones could pass for more log.
    log.files.sync(file.fd)
    segment.size = position
    segment.forget_end()
    return offset


def _settle(log: "Log", offset: int, now_ms: int) -> None:
    log.log_end_offset = offset
    log.snapshots.remove_after(offset)
    _reload_producers(log, now_ms)
    log.files.sync_dir(log.directory)
    log.update_high_watermark(log.high_watermark)


def _reload_producers(log: "Log", now_ms: int) -> None:
    snapshot = log.snapshots.read_newest(log.log_end_offset)
    taken_at, entries = snapshot or (log.segments.first.base_offset, [])
    log.producers.load(entries, now_ms, log.config)
    for segment in log.segments.from_offset(taken_at):
        replay_producers(log.producers, segment, taken_at, log.log_end_offset)
