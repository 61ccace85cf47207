"""Which log is compacted next, and what is known about compaction. It decides; threads do the work.

A log goes first if most of it is dirty, provided that this is more than its min.cleanable.dirty.ratio or that something
in it has waited for too long. A log that cannot be compacted is left alone until the process starts again.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelog.broker.log.cleaner.counters import CleanerCounts
from tidelog.broker.log.cleaner.dirty import DirtyLog, look_at
from tidelog.broker.log.retention import delete_old_segments
from tidelog.kafka.errors import KafkaError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidelog.broker.log.cleaner.round import CleaningRound
    from tidelog.broker.log.log import Log
    from tidelog.kafka.types import TopicPartition


@dataclass(frozen=True, slots=True)
class CleanerLimits:
    """The settings log.cleaner.* of a process; buffer and bytes are shared by all threads."""

    threads: int = 1
    dedupe_buffer_size: int = 128 * 1024 * 1024
    io_buffer_load_factor: float = 0.9
    io_max_bytes_per_second: float = float("inf")
    backoff_ms: int = 15_000


class Cleaner:
    """Looks at all logs of a process and remembers which are being cleaned, or cannot be."""

    def __init__(self, logs: "Iterable[Log]") -> None:
        """`logs` is gone through at every decision, so that it may change in between (a LogStore)."""
        self._logs = logs
        # By name: while a deleted log is still being read, a new one of its name lies in the same place.
        self._in_progress: set[TopicPartition] = set()
        # Of these a copy is being made, which must not miss the end of what it has the beginning of.
        self._paused: set[TopicPartition] = set()
        self.uncleanable: dict[Log, str] = {}
        self.counts = CleanerCounts()

    def take_dirtiest(self, now_ms: int) -> DirtyLog | None:
        """The log that is to be cleaned now; it is in progress until `on_done`, `on_given_up` or `on_uncleanable`."""
        self._forget_deleted()
        looks = [look for log in self._candidates() if (look := _look(log, now_ms)) is not None]
        self.counts.dirty_ratio_max = max((look.ratio for look in looks), default=0.0)
        self.counts.compaction_delay_ms_max = max((look.compaction_delay_ms for look in looks), default=0)
        dirtiest = max((look for look in looks if look.is_due), key=lambda look: look.ratio, default=None)
        if dirtiest is not None:
            self._in_progress.add(dirtiest.log.partition)
        return dirtiest

    def pause(self, partition: "TopicPartition") -> None:
        """Begin nothing with this partition; what is in progress goes on to its end."""
        self._paused.add(partition)

    def resume(self, partition: "TopicPartition") -> None:
        self._paused.discard(partition)

    def is_in_progress(self, partition: "TopicPartition") -> bool:
        return partition in self._in_progress

    def _candidates(self) -> "list[Log]":
        return [
            log
            for log in self._logs
            if log.config.compact
            and not log.is_offline
            and log.partition not in self._in_progress
            and log.partition not in self._paused
            and log not in self.uncleanable
        ]

    def _forget_deleted(self) -> None:
        """A deleted log is offline, and so are those of a failed directory."""
        for log in [log for log in self.uncleanable if log.is_offline]:
            del self.uncleanable[log]
        self.counts.uncleanable_partitions = len(self.uncleanable)
        self.counts.uncleanable_bytes = sum(log.size for log in self.uncleanable)

    def on_done(self, cleaning: "CleaningRound", now_ms: int) -> None:
        self._in_progress.discard(cleaning.dirty.log.partition)
        self.counts.add(cleaning.counts, now_ms - cleaning.now_ms, now_ms)

    def on_given_up(self, log: "Log") -> None:
        """It was in vain: the log was cut or deleted meanwhile, or its directory failed."""
        self._in_progress.discard(log.partition)
        self.counts.cleanings_given_up += 1

    def on_uncleanable(self, log: "Log", reason: str) -> None:
        self._in_progress.discard(log.partition)
        self.uncleanable[log] = reason
        self._forget_deleted()

    def apply_retention(self, now_ms: int) -> int:
        """Delete old segments of the compacted logs that are not being cleaned; gives how many."""
        deleted = 0
        for log in self._candidates():
            try:
                deleted += delete_old_segments(log, now_ms)
            except KafkaError:
                # Its directory has failed and was told so.
                continue
        self.counts.segments_deleted += deleted
        return deleted


def _look(log: "Log", now_ms: int) -> DirtyLog | None:
    """None if the directory fails at the look: timestamps are read from the files."""
    try:
        with log.io():
            return look_at(log, now_ms)
    except KafkaError:
        return None
