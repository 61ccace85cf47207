"""Which log is cleaned next, what may be cleaned of it, and the threads that do it."""

import asyncio
import errno
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.cleaning import ForgetfulFiles, cleaning, do_all, make_cleanable, pairs_of, put
from tests.support.logs import NOW, SMALL
from tidelog.broker.log.cleaner.cleaner import Cleaner, CleanerLimits
from tidelog.broker.log.cleaner.dirty import look_at
from tidelog.broker.log.cleaner.grouping import group_segments
from tidelog.broker.log.cleaner.running import CleanerThreads
from tidelog.broker.log.cleaner.source import SourceSegment, UncleanableError
from tidelog.broker.log.config import LogConfig
from tidelog.broker.log.files import Files
from tidelog.broker.log.log import Log
from tidelog.broker.log.log_store import LogStore
from tidelog.broker.log.names import LOG
from tidelog.kafka.types import PartitionIndex, TopicName, TopicPartition

COMPACTED = replace(SMALL, compact=True, delete=False)


class Store:
    """A store whose logs are made by name."""

    def __init__(self, root: Path, config: LogConfig = COMPACTED, files: Files | None = None) -> None:
        self.files = files or ForgetfulFiles()
        self.failed: list[str] = []
        self.root = root
        self.config = config
        self.store = self.opened()

    def opened(self) -> LogStore:
        store = LogStore(self.files, [str(self.root)], lambda _: self.config, lambda path, _: self.failed.append(path))
        store.load(NOW)
        return store

    def log(self, topic: str, values: int, keys: int = 5) -> Log:
        log = self.store.create(TopicPartition(TopicName(topic), PartitionIndex(0)), NOW)
        fill(log, values, keys)
        return log


def fill(log: Log, values: int, keys: int = 5) -> None:
    for n in range(values):
        put(log, (f"k{n % keys}", "v" * 100))
    make_cleanable(log)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "data")


def test_what_is_not_stable_durable_or_rolled_is_not_cleaned(store: Store) -> None:
    log = store.log("t", 30)
    end = look_at(log, NOW).end_offset
    assert end == log.segments.active.base_offset == 30
    put(log, ("a", "1"))
    assert look_at(log, NOW).end_offset == 30
    middle = log.segments[1].base_offset
    log.update_high_watermark(middle + 1)
    assert look_at(log, NOW).end_offset == middle
    log.update_high_watermark(log.log_end_offset)
    log.recovery_point = middle + 1
    assert look_at(log, NOW).end_offset == middle
    assert look_at(log, NOW).dirty_bytes == log.segments.first.size


def test_young_records_wait_for_min_compaction_lag(store: Store) -> None:
    log = store.log("t", 30)
    log.config = replace(COMPACTED, min_compaction_lag_ms=1000)
    assert look_at(log, NOW + 999).dirty_bytes == 0
    assert look_at(log, NOW + 1000).end_offset == 30


def test_the_ratio_counts_what_is_clean_and_what_is_dirty(store: Store) -> None:
    log = store.log("t", 30)
    assert look_at(log, NOW).ratio == 1.0
    assert do_all(cleaning(log).steps())
    assert look_at(log, NOW).ratio == 0.0
    fill(log, 30)
    looked = look_at(log, NOW)
    assert 0.5 < looked.ratio < 1.0
    assert looked.clean_bytes + looked.dirty_bytes == log.size


def test_a_checkpoint_that_the_log_does_not_reach_counts_for_nothing(store: Store) -> None:
    log = store.log("t", 10)
    for nonsense in (10_000, -5):
        log.first_dirty_offset = nonsense
        assert look_at(log, NOW).first_dirty_offset == 0


def test_the_dirtiest_log_goes_first_and_only_once_at_a_time(store: Store) -> None:
    some, most = store.log("some", 30), store.log("most", 30)
    assert do_all(cleaning(some).steps())
    fill(some, 30)
    store.store.create(TopicPartition(TopicName("empty"), PartitionIndex(0)), NOW)
    cleaner = Cleaner(store.store)
    taken = [look.log for _ in range(3) if (look := cleaner.take_dirtiest(NOW)) is not None]
    assert taken == [most, some]
    assert cleaner.counts.dirty_ratio_max == 0.0
    cleaner.on_given_up(most)
    again = cleaner.take_dirtiest(NOW)
    assert again is not None
    assert again.log is most


def test_a_log_below_its_ratio_waits_unless_something_waits_too_long(store: Store) -> None:
    log = store.log("t", 60, keys=60)
    assert do_all(cleaning(log).steps())
    fill(log, 12)
    cleaner = Cleaner(store.store)
    assert cleaner.take_dirtiest(NOW) is None
    log.config = replace(COMPACTED, max_compaction_lag_ms=5000)
    assert cleaner.take_dirtiest(NOW + 5000) is None
    assert cleaner.take_dirtiest(NOW + 5001) is not None
    assert cleaner.counts.compaction_delay_ms_max == 1


def test_a_log_that_is_not_compacted_is_left_alone(store: Store) -> None:
    store.log("t", 30).config = SMALL
    assert Cleaner(store.store).take_dirtiest(NOW) is None


def test_retention_of_compacted_logs_is_the_cleaners(tmp_path: Path) -> None:
    both = Store(tmp_path / "data", replace(COMPACTED, delete=True, retention_ms=1000))
    log = both.log("t", 30)
    cleaner = Cleaner(both.store)
    assert both.store.apply_retention(NOW + 5000) == 0
    assert cleaner.take_dirtiest(NOW) is not None
    assert cleaner.apply_retention(NOW + 5000) == 0
    cleaner.on_given_up(log)
    assert cleaner.apply_retention(NOW + 5000) > 0
    assert log.log_start_offset == 30
    assert cleaner.counts.segments_deleted > 0


def source(base: int, size: int = 100, end: int | None = None, index: int = 8) -> SourceSegment:
    return SourceSegment(f"/{base}", base, base + 10 if end is None else end, size, index, 12, NOW)


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ([source(0), source(10), source(20)], [2, 1]),
        ([source(0, 40), source(10, 40), source(20, 40), source(30, 81)], [3, 1]),
        ([source(0, 10, index=60), source(10, 10, index=60)], [1, 1]),
        ([source(0, 10), source(10, 10, end=2**31)], [2]),
        ([source(0, 10), source(10, 10, end=2**31 + 1)], [1, 1]),
        ([source(0, 10), source(10, 0, end=2**40)], [2]),
        ([source(0, 201), source(10)], [1, 1]),
        ([source(n, 1) for n in range(70)], [64, 6]),
    ],
)
def test_groups_fit_into_a_segment(sources: list[SourceSegment], expected: list[int]) -> None:
    config = LogConfig(segment_bytes=200, segment_index_bytes=100)
    expected_config = replace(config, segment_index_bytes=10_000) if len(sources) > 10 else config
    groups = group_segments(sources, expected_config)
    assert [len(group) for group in groups] == expected
    assert [one for group in groups for one in group] == sources


def test_a_truncation_below_what_is_clean_makes_it_dirty_again(store: Store) -> None:
    log = store.log("t", 30, keys=30)
    assert do_all(cleaning(log).steps())
    (job,) = store.store.cleaner_offset_jobs()
    job.run(store.files)
    assert store.store.cleaner_offset_jobs() == []
    assert store.store.truncate(log, 12, NOW)
    assert log.first_dirty_offset == 12
    again = store.opened().get(log.partition)
    assert again is not None
    assert again.first_dirty_offset == 12


def test_a_cut_while_a_cleaned_segment_is_put_in_place_gives_it_up(store: Store) -> None:
    log = store.log("t", 30)
    steps = cleaning(log).steps()
    sync = steps.send(steps.send(next(steps)())())
    assert log.pending_swap is not None
    assert store.store.truncate(log, 3, NOW)
    assert not list(Path(log.directory).glob("*.swap"))
    with pytest.raises(StopIteration) as ended:
        steps.send(sync())
    assert ended.value.value is False
    assert [offset for offset, _, _ in pairs_of(log)] == [0, 1, 2]


def test_a_cut_while_a_thread_cleans_throws_its_work_away(store: Store) -> None:
    log = store.log("t", 30)
    steps = cleaning(log).steps()
    cleaned = steps.send(next(steps)())()
    store.store.truncate(log, 3, NOW)
    with pytest.raises(StopIteration) as ended:
        steps.send(steps.send(cleaned)())
    assert ended.value.value is False
    assert not [path for path in Path(log.directory).iterdir() if path.suffix in (".cleaned", ".swap")]
    assert len(pairs_of(log)) == 3


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


def run(cleaner: Cleaner, store: Store) -> asyncio.Task[None]:
    limits = CleanerLimits(threads=2, dedupe_buffer_size=2 * 24 * 1000, backoff_ms=5)
    return asyncio.create_task(CleanerThreads(cleaner, store.store, store.files, limits, lambda: NOW).run())


async def stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_threads_clean_what_is_dirty_and_write_it_down(store: Store) -> None:
    logs = [store.log(f"t{n}", 30) for n in range(3)]
    cleaner = Cleaner(store.store)
    task = run(cleaner, store)
    await until(lambda: cleaner.counts.cleanings == 3)
    await until((store.root / "cleaner-offset-checkpoint").exists)
    fill(logs[0], 30)
    await until(lambda: cleaner.counts.cleanings == 4)
    await stop(task)
    assert all(len(pairs_of(log)) == 5 for log in logs)
    assert cleaner.counts.records_read > cleaner.counts.records_kept > 0
    assert 0 < cleaner.counts.map_utilization_max < 1
    again = store.opened()
    assert {log.first_dirty_offset for log in again} <= {30, 60}


async def test_an_uncleanable_log_is_told_once_and_the_others_go_on(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = store.log("bad", 30), store.log("good", 20)
    path = Path(bad.segments.first.path(LOG))
    path.write_bytes(b"x" + path.read_bytes()[1:])
    cleaner = Cleaner(store.store)
    task = run(cleaner, store)
    await until(lambda: cleaner.counts.cleanings == 1 and cleaner.uncleanable)
    await stop(task)
    assert len(pairs_of(good)) == 5
    assert cleaner.uncleanable[bad].endswith("damaged at position 0.")
    assert (cleaner.counts.uncleanable_partitions, cleaner.counts.uncleanable_bytes) == (1, bad.size)
    assert [r.message for r in caplog.records if "bad-0 is not compacted any more" in r.message] != []
    assert not bad.is_offline


async def test_a_log_that_is_deleted_meanwhile_is_given_up_and_its_name_is_free(store: Store) -> None:
    log = store.log("t", 30)
    cleaner = Cleaner(store.store)
    dirty = cleaner.take_dirtiest(NOW)
    assert dirty is not None
    steps = cleaning(log).steps()
    work = next(steps)
    store.store.delete(log.partition, NOW)
    new = store.log("t", 30, keys=3)
    assert cleaner.take_dirtiest(NOW) is None
    with suppress(UncleanableError, StopIteration):
        while True:
            work = steps.send(work())
    cleaner.on_given_up(log)
    again = cleaner.take_dirtiest(NOW)
    assert again is not None
    assert again.log is new
    assert len(pairs_of(new)) == 30
    cleaner.on_uncleanable(new, "for a reason")
    assert cleaner.take_dirtiest(NOW) is None
    store.store.delete(new.partition, NOW)
    cleaner.take_dirtiest(NOW)
    assert cleaner.uncleanable == {}


class FailingFiles(ForgetfulFiles):
    """No room for anything that is called `.cleaned`."""

    def open(self, path: str, *, create: bool = False, readonly: bool = False) -> int:
        if create and path.endswith(".cleaned"):
            raise OSError(errno.EIO, "the disk is failing")
        return super().open(path, create=create, readonly=readonly)


async def test_a_failing_disk_takes_its_directory_offline_and_the_cleaner_lives(tmp_path: Path) -> None:
    store = Store(tmp_path / "data", files=FailingFiles())
    log = store.log("t", 30)
    cleaner = Cleaner(store.store)
    task = run(cleaner, store)
    await until(lambda: cleaner.counts.cleanings_given_up == 1)
    assert not task.done()
    await stop(task)
    assert store.failed == [str(store.root)]
    assert log.is_offline
    assert not cleaner.uncleanable
