"""The broker's logs under its event loop: opened before anything is served, looked after, and closed in good order."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tidelog.broker.log.cleaner.cleaner import Cleaner, CleanerLimits
from tidelog.broker.log.cleaner.running import CleanerThreads
from tidelog.broker.log.files import Files
from tidelog.broker.log.flusher import Flusher
from tidelog.broker.log.log_store import LogStore
from tidelog.broker.log.meta_properties import ForeignDirectoryError, MetaProperties, claim_directory
from tidelog.broker.shell.log_configs import log_config
from tidelog.kafka.types import BrokerId
from tidelog.runtime import logs
from tidelog.runtime.faults import StartupError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tidelog.broker.core.live_config import LiveConfig
    from tidelog.broker.log.config import LogConfig
    from tidelog.broker.log.log_dir import CheckpointJob, LogDir
    from tidelog.kafka.configs.broker import BrokerConfig
    from tidelog.kafka.types import TopicPartition
    from tidelog.runtime.background import Background
    from tidelog.runtime.process import Process
    from tidelog.runtime.timers import TimerHandle

# How often it is looked for files whose time to be removed has come; they had a minute already.
_TRASH_INTERVAL_MS = 1000
# A topic's flush.ms holds whatever the broker's log.flush.scheduler.interval.ms is, which by default is never.
_FLUSH_INTERVAL_MS_MAX = 1000

_logger = logs.get("storage")


class Storage:
    """The store and what runs beside it. The event loop owns all logs; threads are given plain data."""

    def __init__(self, config: BrokerConfig, process: Process, configs: LiveConfig) -> None:
        self._config = config
        self._process = process
        self._clock = process.clock
        self._files = Files()
        self._loop = asyncio.get_running_loop()
        self._configs = configs
        self.store = LogStore(self._files, config.log_directories, self.log_config, self._on_dir_failed)
        self.flusher = Flusher(self._files, self._loop.call_soon_threadsafe)
        self.cleaner = Cleaner(self.store)
        self._checkpoint_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoints")
        self._timers: list[TimerHandle] = []
        self.is_open = False
        # Told when a directory fails: the partitions in it have something to say to those who wait for them.
        self.on_dir_failed: Callable[[], None] = lambda: None

    def log_config(self, topic: str) -> LogConfig:
        return log_config(self._configs.topic(topic), self._configs.broker.producer_id_expiration_ms)

    async def open(self, cluster_id: str) -> None:
        """Claim the directories and load every log. StartupError if a directory belongs to somebody else."""
        owner = MetaProperties(BrokerId(self._config.broker_id), cluster_id)
        started_ms = self._clock.monotonic_ms()
        # Nobody else touches a log before this is over, so a thread may do it while the loop answers probes.
        await asyncio.to_thread(self._load, owner)
        self.is_open = True
        _logger.info("logs loaded", logs=len(self.store), ms=round(self._clock.monotonic_ms() - started_ms))

    async def close(self) -> None:
        """Make everything durable and say that this was an orderly stop."""
        for timer in self._timers:
            timer.cancel()
        await asyncio.to_thread(self._checkpoint_thread.shutdown)
        await asyncio.to_thread(self.flusher.close)
        if self.is_open:
            await asyncio.to_thread(self.store.close, self._clock.now_ms())

    def look_after(self, tasks: Background, flush_due: Callable[[], None]) -> None:
        """Checkpoints, retention, flushes by time, removals and compaction, until the process stops."""
        config, store = self._config, self.store
        self._every(
            config.replica_high_watermark_checkpoint_interval_ms, lambda: self._checkpoint(store.high_watermark_jobs())
        )
        self._every(
            config.log_flush_offset_checkpoint_interval_ms, lambda: self._checkpoint(store.recovery_point_jobs())
        )
        self._every(
            config.log_flush_start_offset_checkpoint_interval_ms, lambda: self._checkpoint(store.start_offset_jobs())
        )
        self._every(
            config.producer_id_expiration_check_interval_ms, lambda: store.expire_producers(self._clock.now_ms())
        )
        self._every(min(config.log_flush_scheduler_interval_ms, _FLUSH_INTERVAL_MS_MAX), flush_due)
        self._every(_TRASH_INTERVAL_MS, self._remove_due)
        self._process.timers.after(config.log_initial_task_delay_ms, self._start_retention)
        if config.log_cleaner_enable:
            cleaning = CleanerThreads(self.cleaner, store, self._files, _cleaner_limits(config), self._clock.now_ms)
            tasks.spawn(cleaning.run(), "log cleaner")

    def delete(self, partition: TopicPartition) -> None:
        """Delete a log and a copy of it if there are any. KAFKA_STORAGE_ERROR if the directory of the log fails."""
        if self.store.get(partition) is not None:
            self.store.delete(partition, self._clock.now_ms())
        else:
            self.store.futures.drop(partition, self._clock.now_ms())

    def checkpoint(self, directory: LogDir) -> None:
        """Write down soon where the logs of a directory stand: one came or went."""
        if not directory.is_offline:
            self._checkpoint(directory.jobs())

    def _load(self, owner: MetaProperties) -> None:
        for directory in self.store.dirs:
            try:
                claim_directory(self._files, directory.path, owner)
            except ForeignDirectoryError as error:
                raise StartupError(f"cannot use a log directory: {error}") from None
            except OSError as error:
                directory.fail(error)
        self.store.load(self._clock.now_ms())
        for copy in self.store.futures:
            # Before the cleaner looks at anything: it could take away what the copy does not have yet.
            self.cleaner.pause(copy.partition)

    def _every(self, interval_ms: int, action: Callable[[], None]) -> None:
        self._timers.append(self._process.timers.every(max(interval_ms, 1), action))

    def _start_retention(self) -> None:
        self._apply_retention()
        self._every(self._config.log_retention_check_interval_ms, self._apply_retention)

    def _apply_retention(self) -> None:
        deleted = self.store.apply_retention(self._clock.now_ms())
        if deleted:
            _logger.info("old segments deleted", segments=deleted)

    def _checkpoint(self, jobs: Sequence[CheckpointJob]) -> None:
        for job in jobs:
            self._loop.run_in_executor(self._checkpoint_thread, job.run, self._files).add_done_callback(_checkpointed)

    def _remove_due(self) -> None:
        for removal in self.store.trash.take_due(self._clock.now_ms()):
            self.flusher.remove(removal, self._on_removal_failed)

    def _on_removal_failed(self, error: OSError) -> None:
        _logger.warning("files not removed", why=str(error))

    def _on_dir_failed(self, path: str, error: OSError) -> None:
        # It may be a thread that finds out, while logs are loaded or closed.
        _logger.error("log directory failed", directory=path, why=str(error))
        self._loop.call_soon_threadsafe(self._after_dir_failed)

    def _after_dir_failed(self) -> None:
        self.on_dir_failed()
        if all(directory.is_offline for directory in self.store.dirs):
            self._process.fail("all log directories failed")


def _checkpointed(done: asyncio.Future[None]) -> None:
    """A checkpoint that was not written makes the next start slower, not wrong; if the disk fails, appends find out."""
    error = done.exception()
    if error is not None:
        _logger.failure("checkpoint not written", error)


def _cleaner_limits(config: BrokerConfig) -> CleanerLimits:
    return CleanerLimits(
        threads=config.log_cleaner_threads,
        dedupe_buffer_size=config.log_cleaner_dedupe_buffer_size,
        io_buffer_load_factor=config.log_cleaner_io_buffer_load_factor,
        io_max_bytes_per_second=config.log_cleaner_io_max_bytes_per_second,
        backoff_ms=config.log_cleaner_backoff_ms,
    )
