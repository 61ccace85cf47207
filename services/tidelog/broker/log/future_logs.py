"""Copies of logs in other directories of the same broker, which are to take the place of what they are copied from.

A copy has a name of its own until it takes the place: then it gets the plain name, and only after that the former log is
renamed for deletion. A stop between the two leaves two logs of one partition, and loading keeps the longer one; both are
beginnings of the same history. So at no moment there is none, and a copy is never taken for a log before it is whole.
"""

from typing import TYPE_CHECKING

from tidelog.broker.log.meta_properties import read_topic_id
from tidelog.broker.log.names import OFFSET_INDEX, TIME_INDEX, TXN_INDEX, future_name
from tidelog.broker.log.retention import advance_start
from tidelog.broker.log.truncation import truncate_fully, truncate_to
from tidelog.kafka.errors import KafkaError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidelog.broker.log.log import Log
    from tidelog.broker.log.log_dir import LogDir
    from tidelog.broker.log.log_store import LogStore
    from tidelog.kafka.types import TopicId, TopicPartition


class FutureLogs:
    """The copies of a store, at most one of each partition."""

    def __init__(self, store: "LogStore") -> None:
        self._store = store
        self._dir_of: dict[TopicPartition, LogDir] = {}

    def __iter__(self) -> "Iterator[Log]":
        return iter([directory.futures[partition] for partition, directory in self._dir_of.items()])

    def get(self, partition: "TopicPartition") -> "Log | None":
        directory = self._dir_of.get(partition)
        return None if directory is None else directory.futures[partition]

    def dir_of(self, partition: "TopicPartition") -> "LogDir | None":
        return self._dir_of.get(partition)

    # Coming and going

    def add(self, directory: "LogDir", copy: "Log", now_ms: int) -> None:
        """One that was made, or found on disk. Of two that were found the second one goes."""
        if copy.partition in self._dir_of:
            self._store.discard(directory, copy, now_ms)
            return
        directory.futures[copy.partition] = copy
        self._dir_of[copy.partition] = directory

    def create(self, partition: "TopicPartition", directory: "LogDir", topic_id: "TopicId", now_ms: int) -> "Log":
        """An empty copy. KAFKA_STORAGE_ERROR if the directory fails."""
        assert partition not in self._dir_of, f"{partition} is being copied"
        assert partition not in directory.logs, f"{partition} is there already"
        copy = self._store.make_log(directory, partition, future_name(partition), now_ms, topic_id)
        self.add(directory, copy, now_ms)
        return copy

    def drop(self, partition: "TopicPartition", now_ms: int) -> None:
        """Forget a copy if there is one, and delete it unless its directory has failed."""
        directory = self._dir_of.pop(partition, None)
        if directory is None:
            return
        copy = directory.futures.pop(partition)
        try:
            self._store.discard(directory, copy, now_ms)
        except KafkaError:
            # The directory is offline, and what is left there will be found when it is loaded again.
            assert directory.is_offline

    def drop_misplaced(self, now_ms: int) -> None:
        """What was found beside the log itself has nowhere to go."""
        for partition, directory in list(self._dir_of.items()):
            if partition in directory.logs:
                self.drop(partition, now_ms)

    def belongs_to(self, copy: "Log", log: "Log") -> bool:
        """Whether a copy that was found on disk is one of this log, and not of a deleted topic of the same name."""
        with copy.io():
            of_copy = read_topic_id(copy.files, copy.directory)
        with log.io():
            return of_copy == read_topic_id(log.files, log.directory)

    # While it is copied

    def on_cut(self, log: "Log", now_ms: int) -> None:
        """The log was cut, or begins anew elsewhere: so does its copy. If that fails, the log goes on alone."""
        copy = self.get(log.partition)
        if copy is None or copy.is_offline:
            return
        try:
            if log.log_start_offset == log.log_end_offset:
                self.restart(copy, log.log_end_offset, now_ms)
            else:
                self.truncate(copy, log.log_end_offset, now_ms)
        except KafkaError:
            assert copy.is_offline

    def truncate(self, copy: "Log", end_offset: int, now_ms: int) -> None:
        """Drop what a copy has from an offset on. KAFKA_STORAGE_ERROR if its directory fails."""
        truncate_to(copy, end_offset, now_ms, self._dir_of[copy.partition].checkpoint_recovery_points)

    def restart(self, copy: "Log", offset: int, now_ms: int) -> None:
        """Begin all over at an offset. KAFKA_STORAGE_ERROR if its directory fails."""
        truncate_fully(copy, offset, now_ms, self._dir_of[copy.partition].checkpoint_recovery_points)

    def take_place(self, partition: "TopicPartition", now_ms: int) -> "Log":
        """The copy becomes the log. KAFKA_STORAGE_ERROR if its directory fails; then the log stays what it was."""
        log, copy, directory = self._store.get(partition), self.get(partition), self._dir_of[partition]
        assert log is not None
        assert copy is not None
        assert copy.log_end_offset == log.log_end_offset, "a copy that is not whole"
        with copy.io():
            _inherit(copy, log)
            # Where the log begins is not told by its records: it must be known as soon as the name is the plain one.
            directory.checkpoint_start_offsets()
            _rename(copy, f"{directory.path}/{partition}")
            copy.files.sync_dir(directory.path)
        del self._dir_of[partition], directory.futures[partition]
        self._store.exchange(directory, copy, now_ms)
        return copy


def _inherit(copy: "Log", log: "Log") -> None:
    """What the log knows beyond its records: what is committed, what is compacted, who wrote before its start."""
    copy.update_high_watermark(log.high_watermark)
    advance_start(copy, log.log_start_offset)
    copy.epochs.take_over(log.epochs.entries)
    copy.epochs.truncate_start(copy.log_start_offset)
    copy.producers = log.producers
    copy.snapshots.write(copy.log_end_offset, copy.producers.entries.values())
    copy.first_dirty_offset = log.first_dirty_offset


def _rename(log: "Log", directory: str) -> None:
    """Open files and mapped indexes stay as they are; only what will be opened has another path."""
    log.files.rename(log.directory, directory)
    log.directory = directory
    log.epochs.path = f"{directory}/{log.epochs.path.rpartition('/')[2]}"
    log.snapshots.relocate(directory)
    for segment in (*log.segments, *log.rolled_unflushed):
        segment.directory = directory
        segment.offset_index.path = segment.path(OFFSET_INDEX)
        segment.time_index.path = segment.path(TIME_INDEX)
        segment.txn_index.path = segment.path(TXN_INDEX)
    # The new name is not durable in the directory above before it is synced.
    log.is_new = True
