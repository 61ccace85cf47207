"""Copies of logs in another directory: how they come, take the place of a log, and survive stops at any moment."""

import errno
from pathlib import Path
from uuid import UUID

import pytest

from tests.support.batches import batch
from tests.support.logs import NOW, SMALL, append, offsets_of, read_from, stored
from tidelog.broker.log.cleaner.cleaner import Cleaner
from tidelog.broker.log.config import LogConfig
from tidelog.broker.log.files import Files
from tidelog.broker.log.flush import flush_now
from tidelog.broker.log.log import Log
from tidelog.broker.log.log_store import LogStore
from tidelog.broker.log.names import future_name, future_partition_of, partition_of
from tidelog.broker.log.retention import delete_records
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.record import Record
from tidelog.kafka.types import PartitionIndex, TopicName, TopicPartition

TOPIC_ID = UUID(int=7)
NAME = TopicPartition(TopicName("t"), PartitionIndex(0))


class Disks:
    """Two directories, and stores that are started over them one after the other."""

    def __init__(self, folder: Path) -> None:
        self.paths = [folder / "a", folder / "b"]
        self.failed: list[str] = []
        self.files = Files()

    def start(self, config: LogConfig = SMALL) -> LogStore:
        store = LogStore(
            self.files, [str(path) for path in self.paths], lambda _: config, lambda path, _: self.failed.append(path)
        )
        store.load(NOW)
        return store

    def names(self) -> list[list[str]]:
        """The directories of partitions, with what is random in their names left out."""
        return [sorted(_shown(path.name) for path in folder.iterdir() if path.is_dir()) for folder in self.paths]


def _shown(name: str) -> str:
    return "future" if name.endswith("-future") else "delete" if name.endswith("-delete") else name


@pytest.fixture
def disks(tmp_path: Path) -> Disks:
    return Disks(tmp_path)


def begun(store: LogStore, records: int = 30) -> tuple[Log, Log]:
    """A log in the first directory, and an empty copy in the second."""
    log = store.create(NAME, NOW, TOPIC_ID)
    for _ in range(records):
        append(log)
    log.update_high_watermark(records)
    return log, store.futures.create(NAME, store.dirs[1], TOPIC_ID, NOW)


def fill(copy: Log, log: Log) -> None:
    copy.append_as_follower(read_from(log, copy.log_end_offset), NOW)


def test_names() -> None:
    assert future_partition_of(future_name(NAME)) == NAME
    assert future_name(NAME) != future_name(NAME)
    assert partition_of(future_name(NAME)) is None
    assert future_partition_of("t-0") is None
    assert future_partition_of("t-0.123-future") is None


def test_a_copy_takes_the_place_of_its_log(disks: Disks) -> None:
    store = disks.start()
    log, copy = begun(store)
    before = stored(log)
    assert disks.names() == [["t-0"], ["future"]]
    assert store.get(NAME) is log
    fill(copy, log)
    assert store.futures.take_place(NAME, NOW) is copy
    assert disks.names() == [["delete"], ["t-0"]]
    assert store.get(NAME) is copy
    assert store.futures.get(NAME) is None
    assert (store.dir_of(NAME), log.is_offline, copy.is_offline) == (store.dirs[1], True, False)
    assert (stored(copy), copy.high_watermark) == (before, 30)
    for _ in range(30):
        append(copy)
    flush_now(copy, NOW)
    assert offsets_of(read_from(copy, 0)) == list(range(60)), "new segments are made under the new name"
    store.trash.take_due(NOW + SMALL.file_delete_delay_ms)[0].run(disks.files)
    assert disks.names() == [[], ["t-0"]]


@pytest.mark.parametrize("is_clean", [True, False])
def test_what_the_records_do_not_tell_moves_too(disks: Disks, *, is_clean: bool) -> None:
    store = disks.start()
    log = store.create(NAME, NOW, TOPIC_ID)
    append(log, batch(Record(None, b"gone", NOW), producer=(4711, 3), sequence=0))
    for _ in range(19):
        append(log)
    log.update_high_watermark(20)
    copy = store.futures.create(NAME, store.dirs[1], TOPIC_ID, NOW)
    fill(copy, log)
    copy.producers.entries.clear()
    delete_records(log, 5)
    log.assign_epoch(9)
    log.first_dirty_offset = 7
    store.futures.take_place(NAME, NOW)
    assert (copy.log_start_offset, copy.log_end_offset, copy.first_dirty_offset) == (5, 20, 7)
    assert [entry.epoch for entry in copy.epochs.entries] == [0, 9], "an epoch that nobody wrote in yet"
    assert copy.producers.entries[4711].last_sequence == 0, "a producer of whom the copy has no record"
    if is_clean:
        store.close(NOW)
    found = disks.start().get(NAME)
    assert found is not None
    assert found.log_start_offset == 5, "the checkpoint was written before the name was changed"
    assert 4711 in found.producers.entries


def test_checkpoints_of_both_directories_follow(disks: Disks) -> None:
    store = disks.start()
    log, copy = begun(store)
    fill(copy, log)
    flush_now(copy, NOW)
    assert store.dirs[1].recovery_point_job().offsets == {NAME: 30}, "a copy has its place in the checkpoints"
    store.futures.take_place(NAME, NOW)
    for directory, expected in zip(store.dirs, ({}, {NAME: 30}), strict=True):
        assert directory.recovery_point_job().offsets == expected
        assert directory.high_watermark_job().offsets == expected


@pytest.mark.parametrize("is_clean", [True, False])
def test_an_unfinished_copy_is_found_again(disks: Disks, *, is_clean: bool) -> None:
    store = disks.start()
    log, copy = begun(store)
    copy.append_as_follower(read_from(log, 0)[:1000], NOW)
    reached = copy.log_end_offset
    assert 0 < reached < 30
    if is_clean:
        store.close(NOW)
    found = disks.start()
    again, kept = found.futures.get(NAME), found.get(NAME)
    assert again is not None
    assert kept is not None
    assert (again.log_end_offset, kept.log_end_offset) == (reached, 30)
    assert found.futures.belongs_to(again, kept)
    fill(again, kept)
    found.futures.take_place(NAME, NOW)
    assert disks.names() == [["delete"], ["t-0"]]


@pytest.mark.parametrize("loses", ["the log", "the copy"])
def test_after_a_stop_between_the_two_names_the_longer_log_is_kept(disks: Disks, loses: str) -> None:
    store = disks.start()
    log, copy = begun(store)
    fill(copy, log)
    if loses == "the log":
        append(copy)
    else:
        append(log)
    Path(copy.directory).rename(disks.paths[1] / "t-0")
    found = disks.start()
    kept = found.get(NAME)
    assert kept is not None
    assert kept.log_end_offset == 31
    assert disks.names() == ([["delete"], ["t-0"]] if loses == "the log" else [["t-0"], ["delete"]])
    assert [len(directory.logs) for directory in found.dirs] == ([0, 1] if loses == "the log" else [1, 0])


def test_of_two_copies_one_is_kept_and_none_beside_its_log(disks: Disks) -> None:
    store = disks.start()
    log, copy = begun(store)
    Path(copy.directory).rename(disks.paths[0] / future_name(NAME))
    (disks.paths[1] / future_name(NAME)).mkdir()
    found = disks.start()
    assert found.futures.get(NAME) is None, "it was beside its log"
    assert disks.names() == [["delete", "t-0"], ["delete"]]
    assert log.log_end_offset == 30


def test_a_copy_of_a_deleted_topic_of_the_same_name_is_not_one_of_this(disks: Disks) -> None:
    store = disks.start()
    log, _ = begun(store)
    other = store.make_log(store.dirs[1], NAME, future_name(NAME), NOW, UUID(int=8))
    assert not store.futures.belongs_to(other, log)


def test_a_copy_that_is_dropped_leaves_the_log_alone(disks: Disks) -> None:
    store = disks.start()
    log, copy = begun(store)
    store.futures.drop(NAME, NOW)
    store.futures.drop(NAME, NOW)
    assert disks.names() == [["t-0"], ["delete"]]
    assert (list(store.futures), copy.is_offline) == ([], True)
    append(log)


def test_a_log_is_deleted_with_its_copy(disks: Disks) -> None:
    store = disks.start()
    begun(store)
    store.delete(NAME, NOW)
    assert disks.names() == [["delete"], ["delete"]]
    assert len(store) == 0


def test_a_log_is_cut_with_its_copy(disks: Disks) -> None:
    store = disks.start()
    log, copy = begun(store)
    fill(copy, log)
    store.truncate(log, 12, NOW)
    assert (log.log_end_offset, copy.log_end_offset) == (12, 12)
    assert stored(copy) == stored(log)
    store.truncate_fully(log, 100, NOW)
    assert (copy.log_start_offset, copy.log_end_offset) == (100, 100)


def test_if_the_copy_cannot_be_cut_the_log_goes_on_alone(disks: Disks) -> None:
    store = disks.start()
    log, copy = begun(store)
    fill(copy, log)
    copy.io_failed(OSError(errno.EIO, "Input/output error"))
    store.truncate(log, 12, NOW)
    append(log)
    assert (log.log_end_offset, disks.failed) == (13, [str(disks.paths[1])])
    store.futures.drop(NAME, NOW)
    assert disks.names() == [["t-0"], ["future"]], "what is in a failed directory stays there"


def test_if_the_former_directory_fails_in_the_midst_the_copy_serves(disks: Disks) -> None:
    store = disks.start()
    log, copy = begun(store)
    fill(copy, log)
    disks.paths[0].rename(disks.paths[0].with_name("away"))
    assert store.futures.take_place(NAME, NOW) is copy
    assert disks.failed == [str(disks.paths[0])]
    assert store.get(NAME) is copy
    append(copy)


def test_if_the_new_directory_fails_in_the_midst_the_log_serves(disks: Disks) -> None:
    store = disks.start()
    log, copy = begun(store)
    fill(copy, log)
    (disks.paths[1] / "t-0" / "in-the-way").mkdir(parents=True)
    with pytest.raises(KafkaError) as refused:
        store.futures.take_place(NAME, NOW)
    assert refused.value.code is KafkaCode.KAFKA_STORAGE_ERROR
    assert store.get(NAME) is log
    append(log)
    assert (copy.is_offline, disks.failed) == (True, [str(disks.paths[1])])


def test_a_wish_decides_where_a_log_is_created(disks: Disks) -> None:
    store = disks.start()
    other = TopicPartition(NAME.topic, PartitionIndex(1))
    for name in (NAME, other):
        store.wish(name, store.dirs[1])
    assert store.create(NAME, NOW).directory == f"{disks.paths[1]}/t-0"
    store.dirs[1].fail(OSError(errno.EIO, "Input/output error"))
    assert store.create(other, NOW).directory == f"{disks.paths[0]}/t-1", "a wish is not worth more than a log"


def test_copies_are_not_compacted_and_stop_the_compaction_of_their_logs(disks: Disks) -> None:
    store = disks.start(LogConfig(segment_bytes=500, compact=True, delete=False, min_cleanable_dirty_ratio=0.1))
    log = store.create(NAME, NOW, TOPIC_ID)
    for _ in range(30):
        append(log, batch(Record(b"k", b"v", NOW)))
    log.update_high_watermark(30)
    flush_now(log, NOW)
    cleaner = Cleaner(store)
    cleaner.pause(NAME)
    assert cleaner.take_dirtiest(NOW) is None
    cleaner.resume(NAME)
    taken = cleaner.take_dirtiest(NOW)
    assert taken is not None
    assert taken.log is log
    assert cleaner.is_in_progress(NAME)


def test_old_segments_of_a_copy_go_by_the_topics_retention(disks: Disks) -> None:
    store = disks.start()
    log, copy = begun(store)
    fill(copy, log)
    for one in (log, copy):
        one.update_high_watermark(30)
        one.config = LogConfig(segment_bytes=1000, retention_bytes=500)
    assert store.apply_retention(NOW) > 1
    assert copy.log_start_offset > 0
