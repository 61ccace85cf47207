"""Which replicas move between the log directories of this broker, and what stops them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.broker.core.log_dir_moves import asked_move
from tidelog.broker.core.replication_quota import ReplicationQuota
from tidelog.broker.log.names import DIRECTORY_NAME_MAX, future_name
from tidelog.broker.shell.log_dir_copy import LogDirCopy
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import PartitionIndex, TopicName, TopicPartition
from tidelog.runtime import logs

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from tidelog.broker.log.log_dir import LogDir
    from tidelog.broker.shell.config_store import ConfigStore
    from tidelog.broker.shell.partition import Partition
    from tidelog.broker.shell.partitions import Partitions
    from tidelog.broker.shell.storage import Storage
    from tidelog.kafka.configs.broker import BrokerConfig
    from tidelog.runtime.clock import Clock

    Spawn = Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]]

_CLEANING_POLL_S = 0.1

_logger = logs.get("log-dirs")


class LogDirMoves:
    """Copies that are under way, one task each; so many at a time as num.replica.alter.log.dirs.threads says."""

    def __init__(
        self,
        config: BrokerConfig,
        configs: ConfigStore,
        storage: Storage,
        partitions: Partitions,
        clock: Clock,
        spawn: Spawn,
    ) -> None:
        self._storage = storage
        self._store = storage.store
        self._partitions = partitions
        self._clock = clock
        self._spawn = spawn
        self._slots = asyncio.Semaphore(config.num_replica_alter_log_dirs_threads or len(config.log_directories))
        self._quota = ReplicationQuota(
            config.alter_log_dirs_replication_quota_window_num,
            config.alter_log_dirs_replication_quota_window_size_seconds,
        )
        self._take_broker(config)
        self._tasks: dict[TopicPartition, asyncio.Task[None]] = {}
        configs.on_broker_changed(self._take_broker)
        partitions.on_added = self.resume
        partitions.on_deletes = self._on_deletes

    def move(self, topic: str, index: int, path: str) -> None:
        """Have a replica in this directory, sooner or later. KafkaError if that cannot be."""
        name = TopicPartition(TopicName(topic), PartitionIndex(index))
        if len(future_name(name)) > DIRECTORY_NAME_MAX:
            raise KafkaError(KafkaCode.INVALID_TOPIC_EXCEPTION, "The topic name is too long.")
        directory = self._dir_at(path)
        if directory.is_offline:
            raise KafkaError(KafkaCode.KAFKA_STORAGE_ERROR, f"The log directory {path} is offline.")
        partition = self._partitions.by_name.get((topic.encode(), index))
        if partition is None:
            self._store.wish(name, directory)
            raise self._not_here(topic, index)
        partition.log.check_online()
        self._move(partition, directory)

    def resume(self, partition: Partition) -> None:
        """A partition is hosted from now on; a copy of it may have been left unfinished by a stop."""
        copy = self._store.futures.get(partition.name)
        if copy is None or copy.is_offline or partition.log.is_offline:
            return
        if self._store.futures.belongs_to(copy, partition.log):
            self._start(partition)
        else:
            self._drop(partition.name)

    def on_dir_failed(self) -> None:
        """Copies in a directory that failed are given up; their logs go on where they are."""
        for copy in self._store.futures:
            if copy.is_offline:
                _logger.warning("move given up: the directory failed", partition=str(copy.partition))
                self._drop(copy.partition)

    async def close(self) -> None:
        """The broker stops; copies go on after its next start."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _move(self, partition: Partition, directory: LogDir) -> None:
        name, futures = partition.name, self._store.futures
        copied_to = futures.dir_of(name)
        move = asked_move(self._store.dir_of(name).path, None if copied_to is None else copied_to.path, directory.path)
        if move.drops_copy:
            _logger.info("move called off", partition=str(name))
            self._drop(name)
        if move.starts_copy:
            futures.create(name, directory, partition.topic_id, self._clock.now_ms())
            # What the files of the directory may say of an earlier log of this partition is not true of the new one.
            self._storage.checkpoint(directory)
            _logger.info("move begun", partition=str(name), directory=directory.path)
            self._start(partition)

    def _start(self, partition: Partition) -> None:
        name = partition.name
        self._storage.cleaner.pause(name)
        task = self._tasks[name] = self._spawn(self._run(partition), f"move of {name}")
        task.add_done_callback(lambda done: self._ended(name, done))

    async def _run(self, partition: Partition) -> None:
        name = partition.name
        async with self._slots:
            while self._storage.cleaner.is_in_progress(name):  # noqa: ASYNC110  cleanings are few, and it is not urgent
                await asyncio.sleep(_CLEANING_POLL_S)
            copy, source = self._store.futures.get(name), self._store.dir_of(name)
            assert copy is not None
            moving = LogDirCopy(partition, copy, self._store, self._quota, self._clock)
            try:
                await moving.run()
            except KafkaError as error:
                _logger.warning("move failed", partition=str(name), why=error.message)
                self._give_up(partition)
                return
        self._storage.cleaner.resume(name)
        for directory in (source, self._store.dir_of(name)):
            self._storage.checkpoint(directory)
        _logger.info("moved", partition=str(name), source=source.path, directory=self._store.dir_of(name).path)

    def _give_up(self, partition: Partition) -> None:
        # If it is the log's own directory that failed, the copy may be all that is left: it stays where it is.
        if not partition.log.is_offline:
            self._forget(partition.name)

    def _on_deletes(self, name: TopicPartition) -> None:
        self._stop(name)
        self._storage.cleaner.resume(name)

    def _drop(self, name: TopicPartition) -> None:
        self._stop(name)
        self._forget(name)

    def _forget(self, name: TopicPartition) -> None:
        self._store.futures.drop(name, self._clock.now_ms())
        self._storage.cleaner.resume(name)

    def _stop(self, name: TopicPartition) -> None:
        task = self._tasks.pop(name, None)
        if task is not None:
            task.cancel()

    def _ended(self, name: TopicPartition, done: asyncio.Task[None]) -> None:
        if self._tasks.get(name) is done:
            del self._tasks[name]

    def _dir_at(self, path: str) -> LogDir:
        for directory in self._store.dirs:
            if str(Path(directory.path).absolute()) == path:
                return directory
        raise KafkaError(KafkaCode.LOG_DIR_NOT_FOUND, f"There is no log directory {path}.")

    def _not_here(self, topic: str, index: int) -> KafkaError:
        missing = self._partitions.missing(topic.encode(), index)
        if missing.code is not KafkaCode.NOT_LEADER_OR_FOLLOWER:
            return missing
        # Tools ask for a directory before the replica is created, and take this for an answer.
        return KafkaError(KafkaCode.REPLICA_NOT_AVAILABLE, f"There is no replica of {topic}-{index} here yet.")

    def _take_broker(self, config: BrokerConfig) -> None:
        self._quota.bound = config.replica_alter_log_dirs_io_max_bytes_per_second
