"""One of a broker's log directories: its logs, its checkpoint files, and whether it still works."""

from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from tidelog.broker.log.checkpoints import CorruptCheckpointError, read_offsets, write_offsets
from tidelog.broker.log.names import CLEANER_OFFSETS, HIGH_WATERMARKS, RECOVERY_POINTS, START_OFFSETS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tidelog.broker.log.files import Files
    from tidelog.broker.log.log import Log
    from tidelog.kafka.types import TopicPartition


@dataclass(slots=True)
class CheckpointFile:
    """One file that several threads may replace; what was collected first never overwrites what came later."""

    path: str
    lock: Lock = field(default_factory=Lock)
    collected: int = 0
    written: int = 0


@dataclass(frozen=True, slots=True)
class CheckpointJob:
    """Plain data for a thread: the offsets of all logs of a directory at one moment."""

    file: CheckpointFile
    number: int
    offsets: "Mapping[TopicPartition, int]"

    def run(self, files: "Files") -> None:
        with self.file.lock:
            if self.number > self.file.written:
                write_offsets(files, self.file.path, self.offsets)
                self.file.written = self.number


class LogDir:
    """A directory and the logs in it. When the file system fails, all of them go offline and the others go on."""

    def __init__(self, files: "Files", path: str, on_failed: "Callable[[LogDir, OSError], None]") -> None:
        self.path = path
        self.logs: dict[TopicPartition, Log] = {}
        # Copies that are to take the place of logs in other directories; never of one that is in this directory.
        self.futures: dict[TopicPartition, Log] = {}
        self.is_offline = False
        self._files = files
        self._on_failed = on_failed
        names = (RECOVERY_POINTS, HIGH_WATERMARKS, START_OFFSETS, CLEANER_OFFSETS)
        self._checkpoints = {name: CheckpointFile(f"{path}/{name}") for name in names}
        self._dirty_offsets: dict[TopicPartition, int] = {}

    def fail(self, error: OSError) -> None:
        """Called at the first error of the file system, wherever it was met; later ones change nothing."""
        if self.is_offline:
            return
        self.is_offline = True
        for log in self.all_logs().values():
            log.is_offline = True
        self._on_failed(self, error)

    def all_logs(self) -> "dict[TopicPartition, Log]":
        """The logs and the copies: what the checkpoints tell of."""
        return self.logs | self.futures if self.futures else self.logs

    def read_checkpoint(self, name: str) -> "dict[TopicPartition, int]":
        """Offsets by partition. A file that cannot be believed counts as empty: recovery then reads more."""
        try:
            return read_offsets(self._files, f"{self.path}/{name}")
        except CorruptCheckpointError:
            return {}

    def recovery_point_job(self) -> CheckpointJob:
        return self._job(RECOVERY_POINTS, {p: log.recovery_point for p, log in self.all_logs().items()})

    def high_watermark_job(self) -> CheckpointJob:
        return self._job(HIGH_WATERMARKS, {p: log.high_watermark for p, log in self.all_logs().items()})

    def start_offset_job(self) -> CheckpointJob:
        """Only the starts that the names of the segments do not tell."""
        moved = {
            p: log.log_start_offset
            for p, log in self.all_logs().items()
            if log.log_start_offset > log.segments.first.base_offset
        }
        return self._job(START_OFFSETS, moved)

    def cleaner_offset_jobs(self) -> list[CheckpointJob]:
        """One, if what the cleaner has done changed since the last one."""
        dirty = {p: log.first_dirty_offset for p, log in self.logs.items() if log.first_dirty_offset is not None}
        if dirty == self._dirty_offsets:
            return []
        self._dirty_offsets = dirty
        return [self._job(CLEANER_OFFSETS, dirty)]

    def jobs(self) -> list[CheckpointJob]:
        others = self.cleaner_offset_jobs()
        return [self.recovery_point_job(), self.high_watermark_job(), self.start_offset_job(), *others]

    def checkpoint_recovery_points(self) -> None:
        """At once, on the caller's thread: before a truncation nothing else will do."""
        for job in (self.recovery_point_job(), *self.cleaner_offset_jobs()):
            job.run(self._files)

    def checkpoint_start_offsets(self) -> None:
        """At once, on the caller's thread."""
        self.start_offset_job().run(self._files)

    def _job(self, name: str, offsets: "Mapping[TopicPartition, int]") -> CheckpointJob:
        file = self._checkpoints[name]
        file.collected += 1
        return CheckpointJob(file, file.collected, offsets)
