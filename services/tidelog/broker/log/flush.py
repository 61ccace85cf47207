"""Making a log durable: what has to be synced is told by the owner, the syncing is done by a thread.

The recovery point moves only after everything below it is on the disk: data, indexes, snapshots, and the epochs.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelog.broker.log.names import SEGMENT_SUFFIXES, TXN_INDEX

if TYPE_CHECKING:
    from tidelog.broker.log.files import Files
    from tidelog.broker.log.log import Log
    from tidelog.broker.log.segment import Segment


@dataclass(frozen=True, slots=True)
class FlushJob:
    """Plain data for a thread: sync these files, and then everything before the offset is durable.

    A file that is gone meanwhile belonged to a segment that was deleted, and needs no syncing any more.
    """

    directory: str
    paths: tuple[str, ...]
    end_offset: int
    truncations: int
    rolled: int
    parent: str | None

    def run(self, files: "Files") -> None:
        for path in self.paths:
            files.sync_file(path)
        files.sync_dir(self.directory)
        if self.parent is not None:
            files.sync_dir(self.parent)


def flush_is_due(log: "Log", now_ms: int) -> bool:
    """By flush.messages, by flush.ms, or because a segment was rolled."""
    unflushed = log.log_end_offset - log.recovery_point
    if unflushed <= 0:
        return bool(log.rolled_unflushed)
    return (
        unflushed >= log.config.flush_messages
        or now_ms - log.last_flush_ms >= log.config.flush_ms
        or bool(log.rolled_unflushed)
    )


def start_flush(log: "Log", end_offset: int | None = None) -> FlushJob:
    """What makes the log durable up to an offset, by default its end."""
    end = log.log_end_offset if end_offset is None else end_offset
    segments = dict.fromkeys(log.rolled_unflushed)
    segments.update(dict.fromkeys(s for s in log.segments.from_offset(log.recovery_point) if s.base_offset <= end))
    paths = [path for segment in segments for path in _paths(segment)]
    paths += [log.snapshots.path(o) for o in log.snapshots.offsets if log.recovery_point <= o <= end]
    paths.append(log.epochs.path)
    parent = log.directory.rpartition("/")[0] if log.is_new else None
    return FlushJob(log.directory, tuple(paths), end, log.truncations, len(log.rolled_unflushed), parent)


def _paths(segment: "Segment") -> list[str]:
    suffixes = [suffix for suffix in SEGMENT_SUFFIXES if suffix != TXN_INDEX or segment.txn_index.entries()]
    return [segment.path(suffix) for suffix in suffixes]


def finish_flush(log: "Log", job: FlushJob, now_ms: int) -> None:
    """The job was run. After a truncation it says nothing any more: other bytes may lie where it synced."""
    log.last_flush_ms = now_ms
    log.is_new = log.is_new and job.parent is None
    if job.truncations == log.truncations:
        log.recovery_point = max(log.recovery_point, job.end_offset)
        del log.rolled_unflushed[: job.rolled]


def flush_now(log: "Log", now_ms: int) -> None:
    """All at once, for those who may wait: a shutdown, and tests."""
    with log.io():
        job = start_flush(log)
        job.run(log.files)
        finish_flush(log, job, now_ms)
