"""All logs of a broker, spread over its log directories."""

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tidelog.broker.log.flush import finish_flush, start_flush
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
            partition = partition_of(entry.name) if entry.is_dir else None
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
                log.first_dirty_offset = first_dirty_offsets.get(partition)
                self._add(directory, log)

    def _tools(self, directory: LogDir) -> LoadTools:
        return LoadTools(self._files, self.open_segments, self.trash, directory.fail)

    def _add(self, directory: LogDir, log: "Log") -> None:
        directory.logs[log.partition] = log
        self._dir_of[log.partition] = directory

    def create(self, partition: "TopicPartition", now_ms: int, topic_id: "TopicId | None" = None) -> "Log":
        """A new log, in the directory that has the fewest. KAFKA_STORAGE_ERROR if none of them works."""
        assert partition not in self._dir_of, f"{partition} exists"
        online = [directory for directory in self.dirs if not directory.is_offline]
        if not online:
            raise KafkaError(KafkaCode.KAFKA_STORAGE_ERROR, "All log directories are offline.")
        directory = min(online, key=lambda d: len(d.logs))
        try:
            log = self._create_in(directory, partition, now_ms, topic_id)
        except OSError as error:
            directory.fail(error)
            raise KafkaError(KafkaCode.KAFKA_STORAGE_ERROR, f"{directory.path}: {error}") from error
        self._add(directory, log)
        return log

    def _create_in(
        self, directory: LogDir, partition: "TopicPartition", now_ms: int, topic_id: "TopicId | None"
    ) -> "Log":
        path = f"{directory.path}/{partition}"
        self._files.mkdir(path)
        if topic_id is not None:
            write_topic_id(self._files, path, topic_id)
        config = self._config_of(partition.topic)
        log = load_log(LoadRequest(partition, path, config, now_ms, was_clean=True), self._tools(directory))
        log.is_new = True
        return log

    def delete(self, partition: "TopicPartition", now_ms: int) -> None:
        """The directory is renamed at once and removed later."""
        directory = self._dir_of.pop(partition)
        log = directory.logs.pop(partition)
        with log.io():
            log.close_files()
            renamed = f"{directory.path}/{deletion_name(str(partition))}"
            self._files.rename(log.directory, renamed)
        log.is_offline = True
        self.trash.add(Removal(now_ms + log.config.file_delete_delay_ms, directories=(renamed,)))

    # Work on all logs

    def truncate(self, log: "Log", offset: int, now_ms: int) -> bool:
        return truncate_to(log, offset, now_ms, self._dir_of[log.partition].checkpoint_recovery_points)

    def truncate_fully(self, log: "Log", offset: int, now_ms: int) -> None:
        truncate_fully(log, offset, now_ms, self._dir_of[log.partition].checkpoint_recovery_points)

    def apply_retention(self, now_ms: int) -> int:
        """Delete old segments of all logs that are not compacted; gives how many. A failing directory is left out."""
        deleted = 0
        for log in self:
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
            changed = [log for log in directory.logs.values() if log.close()]
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
