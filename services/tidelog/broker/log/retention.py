"""What leaves a log at its beginning: by time, by size, and because its start was moved by a user."""

from typing import TYPE_CHECKING

from tidelog.broker.log.names import DELETED
from tidelog.broker.log.trash import Removal
from tidelog.kafka.errors import KafkaCode, KafkaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.broker.log.log import Log
    from tidelog.broker.log.segment import Segment

    _Predicate = Callable[[Segment, int], bool]

HIGH_WATERMARK = -1


def delete_old_segments(log: "Log", now_ms: int) -> int:
    """Apply retention; gives the number of segments that went. Without the policy delete only the start decides."""
    with log.io():
        deleted = _delete_oldest(log, now_ms, _is_before_start(log))
        if log.config.delete:
            deleted += _delete_oldest(log, now_ms, _is_too_old(log, now_ms))
            deleted += _delete_oldest(log, now_ms, _is_too_much(log))
    return deleted


def _is_before_start(log: "Log") -> "_Predicate":
    # The active segment stays: its end is no start of another one.
    return lambda segment, end: end <= log.log_start_offset and segment is not log.segments.active


def _is_too_old(log: "Log", now_ms: int) -> "_Predicate":
    limit_ms = log.config.retention_ms
    return lambda segment, _: limit_ms >= 0 and now_ms - segment.largest_timestamp > limit_ms


def _is_too_much(log: "Log") -> "_Predicate":
    excess = log.size - log.config.retention_bytes if log.config.retention_bytes >= 0 else -1

    def is_too_much(segment: "Segment", _: int) -> bool:
        nonlocal excess
        if excess < segment.size:
            return False
        excess -= segment.size
        return True

    return is_too_much


def _delete_oldest(log: "Log", now_ms: int, should_go: "_Predicate") -> int:
    """Oldest first, until one may stay. What is not below the high watermark stays, and so does an empty active one."""
    going = []
    for segment in log.segments:
        end = log.segments.end_of(segment, log.log_end_offset)
        is_empty_active = segment is log.segments.active and not segment.size
        if end > log.high_watermark or is_empty_active or not should_go(segment, end):
            break
        going.append((segment, end))
    if not going:
        return 0
    if going[-1][0] is log.segments.active:
        log.roll(now_ms)
    move_start(log, max(log.log_start_offset, going[-1][1]))
    throw_away(log, [segment for segment, _ in going], now_ms)
    log.snapshots.keep(log.segments.bases)
    return len(going)


def move_start(log: "Log", offset: int) -> None:
    """The log begins here from now on. The caller knows that the offset is not beyond the high watermark."""
    log.log_start_offset = offset
    log.epochs.truncate_start(offset)
    log.update_high_watermark(log.high_watermark)


def throw_away(log: "Log", segments: "list[Segment]", now_ms: int) -> None:
    """Take segments out of the log: renamed now, removed after a while. Ranges of them can still be sent."""
    paths: list[str] = []
    for segment in segments:
        log.segments.remove(segment)
        if segment in log.rolled_unflushed:
            log.rolled_unflushed.remove(segment)
        segment.close_files()
        paths += segment.rename(DELETED)
    log.trash.add(Removal(now_ms + log.config.file_delete_delay_ms, files=tuple(paths)))


def delete_records(log: "Log", before_offset: int) -> int:
    """A user asks that the log begin at an offset, or at the high watermark for -1; gives where it begins now."""
    if not log.config.delete:
        raise KafkaError(KafkaCode.POLICY_VIOLATION, f"{log.partition} does not allow the deletion of records.")
    offset = log.high_watermark if before_offset == HIGH_WATERMARK else before_offset
    if not 0 <= offset <= log.high_watermark:
        raise KafkaError(
            KafkaCode.OFFSET_OUT_OF_RANGE, f"Offset {offset} is beyond the high watermark {log.high_watermark}."
        )
    advance_start(log, offset)
    return log.log_start_offset


def advance_start(log: "Log", offset: int) -> None:
    """Move the start up to an offset, as a follower does after its leader. It never moves back."""
    if offset > log.log_start_offset:
        with log.io():
            move_start(log, min(offset, log.log_end_offset))
