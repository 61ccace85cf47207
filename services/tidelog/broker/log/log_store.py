"""All logs of a broker, spread over its log directories."""

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tidelog.broker.log.flush import finish_flush, start_flush
from tidelog.broker.log.future_logs import FutureLogs
from tidelog.broker.log.loading import LoadRequest, LoadTools, load_log
from tidelog.broker.log.log_dir import LogDir
from tidelog.broker.log.meta_properties import mark_clean, take_clean_mark, write_topic_id
from tidelog.broker.log.names import (
    CLEANER_OFFSETS,
    DELETED_DIRECTORY,
    HIGH_WATERMARKS,
    RECOVERY_POINTS,
    START_OFFSETS,
    deletion_name,
    future_partition_of,
    partition_of,
)
from tidelog.broker.log.open_segments import OpenSegments
from tidelog.broker.log.retention import delete_old_segments
from tidelog.broker.log.trash import Removal, Trash
from tidelog.broker.log.truncation import truncate_fully, truncate_to
from tidelog.kafka.errors import KafkaCode, KafkaError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tidelog.broker.log.config import LogConfig
    from tidelog.broker.log.files import Files
    from tidelog.broker.log.log import Log
    from tidelog.broker.log.log_dir import CheckpointJob
    from tidelog.kafka.types import TopicId, TopicName, TopicPartition

# A sync waits for the disk, and the disk takes many at once.
_SYNC_THREADS = 8
# Each log has half a dozen files to sync; from so many logs on it is faster to sync the whole file system at once.
_MANY_JOBS = 64
# Anybody may name partitions that are not here; the wishes that came first are forgotten first.
_WISHES_MAX = 10_000


class LogStore:
    """Opens, creates and deletes logs. `on_dir_failed` is told once of every directory that fails.

    `config_of` gives the configuration of a topic; a log keeps it until `log.config` is set to another one.
    """

    def __init__(
        self,
        files: "Files",
        directories: "Sequence[str]",
        config_of: "Callable[[TopicName], LogConfig]",
        on_dir_failed: "Callable[[str, OSError], None]",
        open_segments_max: int = 3000,
    ) -> None:
        self._files = files
        self._config_of = config_of
        self._on_dir_failed = on_dir_failed
        self.trash = Trash()
        self.open_segments = OpenSegments(open_segments_max)
        self.dirs = [LogDir(files, path, self._dir_failed) for path in directories]
        self._dir_of: dict[TopicPartition, LogDir] = {}
        self.futures = FutureLogs(self)
        self._wished: dict[TopicPartition, LogDir] = {}

    def __iter__(self) -> "Iterator[Log]":
        for directory in self.dirs:
            yield from tuple(directory.logs.values())

    def __len__(self) -> int:
        return len(self._dir_of)

    # Finding and opening

    def get(self, partition: "TopicPartition") -> "Log | None":
        directory = self._dir_of.get(partition)
        return None if directory is None else directory.logs[partition]

    def dir_of(self, partition: "TopicPartition") -> LogDir:
        return self._dir_of[partition]

    def load(self, now_ms: int) -> None:
        """Open everything that is on disk. A directory that fails meanwhile goes offline, and the others go on."""
        for directory in self.dirs:
            try:
                self._load_dir(directory, now_ms)
            except OSError as error:
                directory.fail(error)
        self.futures.drop_misplaced(now_ms)

    def _load_dir(self, directory: LogDir, now_ms: int) -> None:
        self._files.mkdir(directory.path)
        was_clean = take_clean_mark(self._files, directory.path)
        recovery_points = directory.read_checkpoint(RECOVERY_POINTS)
        starts = directory.read_checkpoint(START_OFFSETS)
        high_watermarks = directory.read_checkpoint(HIGH_WATERMARKS)
        first_dirty_offsets = directory.read_checkpoint(CLEANER_OFFSETS)
        for entry in self._files.listing(directory.path):
            path = f"{directory.path}/{entry.name}"
            if entry.is_dir and entry.name.endswith(DELETED_DIRECTORY):
                self.trash.add(Removal(now_ms, directories=(path,)))
            future = future_partition_of(entry.name) if entry.is_dir else None
            partition = future or (partition_of(entry.name) if entry.is_dir else None)
            if partition is not None:
                request = LoadRequest(
                    partition=partition,
                    directory=path,
                    config=self._config_of(partition.topic),
                    now_ms=now_ms,
                    was_clean=was_clean,
                    recovery_point=recovery_points.get(partition, 0),
                    log_start_offset=starts.get(partition, 0),
                    high_watermark=high_watermarks.get(partition, 0),
                )
                log = load_log(request, self._tools(directory))
                if future is None:
                    log.first_dirty_offset = first_dirty_offsets.get(partition)
                    self._add_found(directory, log, now_ms)
                else:
                    self.futures.add(directory, log, now_ms)

    def _tools(self, directory: LogDir) -> LoadTools:
        return LoadTools(self._files, self.open_segments, self.trash, directory.fail)

    def _add_found(self, directory: LogDir, log: "Log", now_ms: int) -> None:
        """Two of a partition are there if the broker was stopped while a copy took the place of a log."""
        other = self.get(log.partition)
        if other is None:
            self._add(directory, log)
        elif log.log_end_offset > other.log_end_offset:
            self.exchange(directory, log, now_ms)
        else:
            self.discard(directory, log, now_ms)

    def _add(self, directory: LogDir, log: "Log") -> None:
        directory.logs[log.partition] = log
        self._dir_of[log.partition] = directory

    def create(self, partition: "TopicPartition", now_ms: int, topic_id: "TopicId | None" = None) -> "Log":
        """A new log, where it was wished or in the directory that has the fewest. KAFKA_STORAGE_ERROR if none works."""
        assert partition not in self._dir_of, f"{partition} exists"
        directory = self._dir_for(partition)
        log = self.make_log(directory, partition, str(partition), now_ms, topic_id)
        self._add(directory, log)
        return log

    def wish(self, partition: "TopicPartition", directory: LogDir) -> None:
        """Remember where a log shall be once it is created."""
        self._wished.pop(partition, None)
        self._wished[partition] = directory
        if len(self._wished) > _WISHES_MAX:
            del self._wished[next(iter(self._wished))]

    def _dir_for(self, partition: "TopicPartition") -> LogDir:
        wished = self._wished.pop(partition, None)
        if wished is not None and not wished.is_offline:
            return wished
        online = [directory for directory in self.dirs if not directory.is_offline]
        if not online:
            raise KafkaError(KafkaCode.KAFKA_STORAGE_ERROR, "All log directories are offline.")
        return min(online, key=lambda d: len(d.logs) + len(d.futures))

    def make_log(
        self, directory: LogDir, partition: "TopicPartition", name: str, now_ms: int, topic_id: "TopicId | None"
    ) -> "Log":
        """The files of an empty log under a name. KAFKA_STORAGE_ERROR if the directory fails."""
        path, config = f"{directory.path}/{name}", self._config_of(partition.topic)
        try:
            self._files.mkdir(path)
            if topic_id is not None:
                write_topic_id(self._files, path, topic_id)
            log = load_log(LoadRequest(partition, path, config, now_ms, was_clean=True), self._tools(directory))
        except OSError as error:
            directory.fail(error)
            raise KafkaError(KafkaCode.KAFKA_STORAGE_ERROR, f"{directory.path}: {error}") from error
        log.is_new = True
        return log

    def delete(self, partition: "TopicPartition", now_ms: int) -> None:
        """Of the log and of a copy of it the directory is renamed at once and removed later."""
        self.futures.drop(partition, now_ms)
        directory = self._dir_of.pop(partition)
        self.discard(directory, directory.logs.pop(partition), now_ms)

    def discard(self, directory: LogDir, log: "Log", now_ms: int) -> None:
        """What nobody finds in the store any more. KAFKA_STORAGE_ERROR if the directory fails."""
        with log.io():
            log.close_files()
            renamed = f"{directory.path}/{deletion_name(str(log.partition))}"
            self._files.rename(log.directory, renamed)
        log.is_offline = True
        self.trash.add(Removal(now_ms + log.config.file_delete_delay_ms, directories=(renamed,)))

    def exchange(self, directory: LogDir, log: "Log", now_ms: int) -> None:
        """A log of another directory is the one of its partition from now on, and the former one goes."""
        former_dir = self._dir_of[log.partition]
        former = former_dir.logs.pop(log.partition)
        self._add(directory, log)
        try:
            self.discard(former_dir, former, now_ms)
            self._files.sync_dir(former_dir.path)
        except KafkaError:
            # Its directory is offline. Should it be loaded again, the longer log is kept.
            assert former_dir.is_offline
        except OSError as error:
            former_dir.fail(error)

    # Work on all logs

    def truncate(self, log: "Log", offset: int, now_ms: int) -> bool:
        is_cut = truncate_to(log, offset, now_ms, self._dir_of[log.partition].checkpoint_recovery_points)
        self.futures.on_cut(log, now_ms)
        return is_cut

    def truncate_fully(self, log: "Log", offset: int, now_ms: int) -> None:
        truncate_fully(log, offset, now_ms, self._dir_of[log.partition].checkpoint_recovery_points)
        self.futures.on_cut(log, now_ms)

    def apply_retention(self, now_ms: int) -> int:
        """Delete old segments of all logs that are not compacted; gives how many. A failing directory is left out."""
        deleted = 0
        for log in (*self, *self.futures):
            if not log.is_offline and not log.config.compact:
                try:
                    deleted += delete_old_segments(log, now_ms)
                except KafkaError:
                    continue
        return deleted

    def expire_producers(self, now_ms: int) -> None:
        for log in self:
            log.producers.expire(now_ms, log.config)

    def high_watermark_jobs(self) -> "list[CheckpointJob]":
        return [directory.high_watermark_job() for directory in self.dirs if not directory.is_offline]

    def recovery_point_jobs(self) -> "list[CheckpointJob]":
        return [directory.recovery_point_job() for directory in self.dirs if not directory.is_offline]

    def cleaner_offset_jobs(self) -> "list[CheckpointJob]":
        return [job for directory in self.dirs if not directory.is_offline for job in directory.cleaner_offset_jobs()]

    def start_offset_jobs(self) -> "list[CheckpointJob]":
        return [directory.start_offset_job() for directory in self.dirs if not directory.is_offline]

    def _dir_failed(self, directory: LogDir, error: OSError) -> None:
        self._on_dir_failed(directory.path, error)

    # The end

    def close(self, now_ms: int, broker_epoch: int = -1) -> None:
        """An orderly stop: close and sync every log, write the checkpoints, and say that it was orderly."""
        with ThreadPoolExecutor(_SYNC_THREADS) as threads:
            for directory in self.dirs:
                if not directory.is_offline:
                    self._close_dir(directory, now_ms, broker_epoch, threads)

    def _close_dir(self, directory: LogDir, now_ms: int, broker_epoch: int, threads: ThreadPoolExecutor) -> None:
        try:
            changed = [log for log in directory.all_logs().values() if log.close()]
            jobs = [start_flush(log) for log in changed]
            if len(jobs) < _MANY_JOBS or not self._files.sync_filesystem(directory.path):
                for _ in threads.map(lambda job: job.run(self._files), jobs):
                    pass
            for log, job in zip(changed, jobs, strict=True):
                finish_flush(log, job, now_ms)
            for checkpoint in directory.jobs():
                checkpoint.run(self._files)
            mark_clean(self._files, directory.path, broker_epoch)
        except OSError as error:
            directory.fail(error)
        except KafkaError:
            # A log met an error of the file system and has told the directory.
            assert directory.is_offline
