"""Moves between log directories: what a request asks for, and the copying, on two directories of a temporary disk."""

import asyncio
import errno
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.batches import plain
from tests.support.logs import NOW, SMALL, append, offsets_of, read_from
from tidelog.broker.core.log_dir_moves import Move, asked_move, common_end
from tidelog.broker.log.cleaner.cleaner import Cleaner
from tidelog.broker.log.epoch_cache import EpochEntry
from tidelog.broker.log.files import Files
from tidelog.broker.log.log import Log
from tidelog.broker.log.log_dir import LogDir
from tidelog.broker.log.log_file import FileRange
from tidelog.broker.log.log_store import LogStore
from tidelog.broker.log.retention import delete_records
from tidelog.broker.shell import log_dir_copy
from tidelog.broker.shell.log_dir_moves import LogDirMoves
from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import PartitionIndex, TopicName, TopicPartition
from tidelog.runtime.clock import ManualClock
from tidelog.runtime.settings import load_config

TOPIC_ID = uuid.UUID(int=7)
NAME = TopicPartition(TopicName("t"), PartitionIndex(0))


# ---- decisions


@pytest.mark.parametrize(
    ("copied_to", "wanted", "move"),
    [
        (None, "a", Move(drops_copy=False, starts_copy=False)),
        (None, "b", Move(drops_copy=False, starts_copy=True)),
        ("b", "b", Move(drops_copy=False, starts_copy=False)),
        ("b", "a", Move(drops_copy=True, starts_copy=False)),
        ("b", "c", Move(drops_copy=True, starts_copy=True)),
    ],
)
def test_what_a_request_asks_for(copied_to: str | None, wanted: str, move: Move) -> None:
    assert asked_move("a", copied_to, wanted) == move


@pytest.mark.parametrize(
    ("log", "log_end", "copy", "copy_end", "expected"),
    [
        ([(0, 0)], 10, [(0, 0)], 7, 7),
        ([(0, 0)], 7, [(0, 0)], 10, 7),
        # The log lost what was written in epoch 1, and got something else in epoch 2.
        ([(0, 0), (2, 5)], 20, [(0, 0), (1, 5)], 9, 5),
        ([(0, 0), (2, 8)], 20, [(0, 0), (1, 5)], 9, 5),
        ([(0, 0), (2, 3)], 20, [(0, 0), (1, 5)], 9, 3),
        ([(1, 4)], 6, [(1, 2)], 5, 5),
        ([(3, 4)], 6, [(1, 2)], 5, None),
        ([(3, 4)], 6, [], 0, None),
        ([], 0, [], 0, None),
    ],
)
def test_up_to_where_a_copy_is_the_same(
    log: list[tuple[int, int]], log_end: int, copy: list[tuple[int, int]], copy_end: int, expected: int | None
) -> None:
    entries = [[EpochEntry(*entry) for entry in entries] for entries in (log, copy)]
    assert common_end(entries[0], log_end, entries[1], copy_end) == expected


# ---- copying


class OnePartition:
    """A partition and the others that know it, as far as a move touches them."""

    def __init__(self, name: TopicPartition, log: Log) -> None:
        self.name = name
        self.topic_id = TOPIC_ID
        self.log = log
        self.moved: list[str] = []

    def on_log_moved(self, log: Log) -> None:
        self.log = log
        self.moved.append(log.directory)


class Disks:
    """Two log directories and the moves between them; tasks are real, nothing else is."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.paths = [str(folder / name) for name in ("a", "b", "c")]
        overrides = {"broker.id": "1", "zookeeper.connect": "z:1", "log.dirs": ",".join(self.paths), **settings}
        self.config = load_config(BrokerConfig, file=None, environ={}, overrides=overrides).config
        self.store = LogStore(Files(), self.paths, lambda _: SMALL, self._on_dir_failed)
        self.store.load(NOW)
        self.cleaner = Cleaner(self.store)
        self.checkpointed: list[str] = []
        self.by_name: dict[tuple[bytes, int], OnePartition] = {}
        self.known = {NAME}
        self.tasks: set[asyncio.Task[None]] = set()
        self.failures: list[BaseException] = []
        self.on_deletes: Callable[[TopicPartition], None] = lambda _: None
        self.on_broker: Callable[[BrokerConfig], None] = lambda _: None
        self.moves = LogDirMoves(
            self.config,
            SimpleNamespace(on_broker_changed=self._on_broker_changed),  # type: ignore[arg-type]
            self,  # type: ignore[arg-type]
            self,  # type: ignore[arg-type]
            ManualClock(),
            self._spawn,
        )

    def host(self, records: int = 200) -> OnePartition:
        log = self.store.get(NAME) or self.store.create(NAME, NOW, TOPIC_ID)
        for _ in range(records):
            append(log)
        log.update_high_watermark(log.log_end_offset)
        partition = OnePartition(NAME, log)
        self.by_name[b"t", 0] = partition
        self.moves.resume(partition)  # type: ignore[arg-type]
        return partition

    def folders(self) -> list[list[str]]:
        return [
            sorted(path.name for path in Path(folder).iterdir() if path.is_dir() and not path.name.endswith("-delete"))
            for folder in self.paths
        ]

    # What a move asks of storage, partitions and the process.

    def checkpoint(self, directory: LogDir) -> None:
        self.checkpointed.append(directory.path)

    def missing(self, topic: bytes, index: int) -> KafkaError:
        known = TopicPartition(TopicName(topic.decode()), PartitionIndex(index)) in self.known
        return KafkaError(KafkaCode.NOT_LEADER_OR_FOLLOWER if known else KafkaCode.UNKNOWN_TOPIC_OR_PARTITION)

    def _spawn(self, coroutine: Any, name: str) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(coroutine, name=name)
        self.tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.failures.append(error)

    def _on_broker_changed(self, callback: Callable[[BrokerConfig], None]) -> None:
        self.on_broker = callback

    def _on_dir_failed(self, path: str, error: OSError) -> None:
        asyncio.get_running_loop().call_soon(self.moves.on_dir_failed)


@pytest.fixture
async def disks(tmp_path: Path) -> AsyncIterator[Disks]:
    made = Disks(tmp_path)
    yield made
    await made.moves.close()
    assert made.failures == []


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not is_so():
            await asyncio.sleep(0)


def refusal(call: Callable[[], object]) -> KafkaCode:
    with pytest.raises(KafkaError) as refused:
        call()
    return refused.value.code


async def test_a_replica_is_moved_while_it_is_written_to(disks: Disks) -> None:
    partition = disks.host()
    disks.moves.move("t", 0, disks.paths[1])
    while not partition.moved:
        append(partition.log)
        partition.log.update_high_watermark(partition.log.log_end_offset)
        await asyncio.sleep(0)
    assert disks.folders() == [[], ["t-0"], []]
    assert partition.moved == [f"{disks.paths[1]}/t-0"]
    log = partition.log
    assert offsets_of(read_from(log, 0)) == list(range(log.log_end_offset))
    assert log.high_watermark == log.log_end_offset > 200
    await until(lambda: disks.checkpointed[-2:] == disks.paths[:2])
    assert disks.cleaner.take_dirtiest(NOW) is None


async def test_naming_the_present_directory_calls_a_move_off(disks: Disks) -> None:
    partition = disks.host()
    disks.moves.move("t", 0, disks.paths[0])
    assert disks.folders() == [["t-0"], [], []], "nothing to do"
    disks.moves.move("t", 0, disks.paths[1])
    disks.moves.move("t", 0, disks.paths[1])
    (name,) = disks.folders()[1]
    assert name.startswith("t-0.")
    assert name.endswith("-future")
    disks.moves.move("t", 0, disks.paths[0])
    assert disks.folders() == [["t-0"], [], []]
    await asyncio.sleep(0)
    assert partition.moved == []


async def test_another_directory_takes_the_place_of_the_first(disks: Disks) -> None:
    partition = disks.host()
    disks.moves.move("t", 0, disks.paths[1])
    await asyncio.sleep(0)
    disks.moves.move("t", 0, disks.paths[2])
    await until(lambda: bool(partition.moved))
    assert disks.folders() == [[], [], ["t-0"]]


async def test_refusals(disks: Disks) -> None:
    move = disks.moves.move
    assert refusal(lambda: move("t", 0, "/nowhere")) is KafkaCode.LOG_DIR_NOT_FOUND
    assert refusal(lambda: move("x" * 240, 0, disks.paths[0])) is KafkaCode.INVALID_TOPIC_EXCEPTION
    assert refusal(lambda: move("unknown", 0, disks.paths[0])) is KafkaCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refusal(lambda: move("t", 0, disks.paths[2])) is KafkaCode.REPLICA_NOT_AVAILABLE
    partition = disks.host()
    assert disks.folders() == [[], [], ["t-0"]], "it was remembered"
    disks.store.dirs[1].fail(OSError(errno.EIO, "Input/output error"))
    assert refusal(lambda: move("t", 0, disks.paths[1])) is KafkaCode.KAFKA_STORAGE_ERROR
    partition.log.io_failed(OSError(errno.EIO, "Input/output error"))
    assert refusal(lambda: move("t", 0, disks.paths[0])) is KafkaCode.KAFKA_STORAGE_ERROR


async def test_a_move_goes_on_after_a_restart(disks: Disks, tmp_path: Path) -> None:
    partition = disks.host()
    copy = disks.store.futures.create(NAME, disks.store.dirs[1], TOPIC_ID, NOW)
    copy.append_as_follower(read_from(partition.log, 0)[:2000], NOW)
    again = Disks(tmp_path)
    moved = again.host(records=5)
    await until(lambda: bool(moved.moved))
    assert again.folders() == [[], ["t-0"], []]
    assert offsets_of(read_from(moved.log, 0)) == list(range(205))


async def test_what_the_log_lost_is_cut_off_the_copy(disks: Disks, tmp_path: Path) -> None:
    partition = disks.host(records=10)
    copy = disks.store.futures.create(NAME, disks.store.dirs[1], TOPIC_ID, NOW)
    copy.append_as_follower(read_from(partition.log, 0), NOW)
    for epoch, log in ((1, copy), (2, partition.log)):
        append(log, plain(b"of epoch %d" % epoch), epoch=epoch)
        append(log, epoch=epoch)
    again = Disks(tmp_path)
    moved = again.host(records=0)
    await until(lambda: bool(moved.moved))
    assert [(entry.epoch, entry.start_offset) for entry in moved.log.epochs.entries] == [(0, 0), (2, 10)]
    assert b"of epoch 1" not in read_from(moved.log, 0)
    assert b"of epoch 2" in read_from(moved.log, 0)


async def test_a_log_that_begins_in_the_midst_of_a_batch(disks: Disks) -> None:
    partition = disks.host(records=0)
    for _ in range(40):
        append(partition.log, plain(count=3))
    partition.log.update_high_watermark(120)
    delete_records(partition.log, 100)
    disks.moves.move("t", 0, disks.paths[1])
    await until(lambda: bool(partition.moved))
    assert (partition.log.log_start_offset, partition.log.log_end_offset) == (100, 120)
    assert offsets_of(read_from(partition.log, 100)) == list(range(99, 120))


async def test_a_cut_of_the_log_while_it_is_copied(disks: Disks) -> None:
    partition = disks.host(records=50)
    disks.on_broker(_slow(disks.config))
    disks.moves.move("t", 0, disks.paths[1])
    copy = disks.store.futures.get(NAME)
    assert copy is not None
    await until(lambda: copy.log_end_offset > 0)
    disks.store.truncate(partition.log, 1, NOW)
    append(partition.log, plain(b"new"), epoch=5)
    disks.on_broker(disks.config)
    await until(lambda: bool(partition.moved))
    assert [entry.epoch for entry in partition.log.epochs.entries] == [0, 5]
    assert offsets_of(read_from(partition.log, 0)) == [0, 1]


async def test_a_cut_of_the_log_while_the_disk_is_read(disks: Disks, monkeypatch: pytest.MonkeyPatch) -> None:
    partition = disks.host(records=50)

    async def read_and_cut(records: FileRange) -> bytes:
        data = records.read()
        if not partition.log.truncations:
            disks.store.truncate(partition.log, 10, NOW)
            append(partition.log, plain(b"new"), epoch=5)
        return data

    monkeypatch.setattr(log_dir_copy, "_read", read_and_cut)
    disks.moves.move("t", 0, disks.paths[1])
    await until(lambda: bool(partition.moved))
    assert offsets_of(read_from(partition.log, 0)) == list(range(11))


async def test_copying_is_throttled(disks: Disks) -> None:
    partition = disks.host(records=200)
    disks.on_broker(_slow(disks.config))
    disks.moves.move("t", 0, disks.paths[1])
    copy = disks.store.futures.get(NAME)
    assert copy is not None
    await until(lambda: copy.log_end_offset > 0)
    for _ in range(1000):
        await asyncio.sleep(0)
    assert copy.log_end_offset < 200
    assert not partition.moved


async def test_a_failed_directory_ends_the_move_and_not_the_log(disks: Disks) -> None:
    partition = disks.host()
    disks.on_broker(_slow(disks.config))
    disks.moves.move("t", 0, disks.paths[1])
    await asyncio.sleep(0)
    copy = disks.store.futures.get(NAME)
    assert copy is not None
    copy.io_failed(OSError(errno.EIO, "Input/output error"))
    await until(lambda: disks.store.futures.get(NAME) is None)
    append(partition.log)
    disks.on_broker(disks.config)
    disks.moves.move("t", 0, disks.paths[2])
    await until(lambda: bool(partition.moved))
    assert partition.moved == [f"{disks.paths[2]}/t-0"]


async def test_if_the_logs_own_directory_fails_the_copy_stays(disks: Disks) -> None:
    partition = disks.host()
    disks.on_broker(_slow(disks.config))
    disks.moves.move("t", 0, disks.paths[1])
    await asyncio.sleep(0)
    partition.log.io_failed(OSError(errno.EIO, "Input/output error"))
    disks.on_broker(disks.config)
    await until(lambda: not disks.tasks)
    assert not partition.moved
    assert disks.folders()[1][0].endswith("-future")


async def test_a_deleted_partition_is_not_moved_on(disks: Disks) -> None:
    partition = disks.host()
    disks.moves.move("t", 0, disks.paths[1])
    disks.on_deletes(NAME)
    disks.store.delete(NAME, NOW)
    await asyncio.sleep(0)
    assert disks.folders() == [[], [], []]
    assert not partition.moved


async def test_a_cleaning_that_is_under_way_is_waited_for(disks: Disks) -> None:
    partition = disks.host()
    disks.cleaner._in_progress.add(NAME)
    disks.moves.move("t", 0, disks.paths[1])
    for _ in range(100):
        await asyncio.sleep(0)
    assert not partition.moved
    disks.cleaner.on_given_up(partition.log)
    await until(lambda: bool(partition.moved))


def _slow(config: BrokerConfig) -> BrokerConfig:
    """One batch a second."""
    overrides = {
        "broker.id": "1", "zookeeper.connect": "z:1", "log.dirs": ",".join(config.log_directories),
        "replica.alter.log.dirs.io.max.bytes.per.second": "10"}  # fmt: skip
    return load_config(BrokerConfig, file=None, environ={}, overrides=overrides).config
