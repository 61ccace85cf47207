"""The machine stops at every moment of a cleaning: the log is then as it was, or cleaned, and never less."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.support.cleaning import cleaning, do_all, end_transaction, pairs_of, put
from tests.support.crashing_files import Change, Disk, JournalFiles, crash_states
from tests.support.logs import NOW, SMALL
from tidelog.broker.log.files import Files
from tidelog.broker.log.flush import flush_now
from tidelog.broker.log.log import Log
from tidelog.broker.log.log_store import LogStore
from tidelog.kafka.records.control import MarkerType
from tidelog.kafka.records.header import whole_batches
from tidelog.kafka.types import PartitionIndex, TopicName, TopicPartition

PARTITION = TopicPartition(TopicName("t"), PartitionIndex(0))
CONFIG = replace(
    SMALL, compact=True, delete=False, segment_bytes=500, segment_index_bytes=240, delete_retention_ms=1000
)
Pairs = list[tuple[int, str | None, str | None]]


@dataclass
class Cleaned:
    """A log that was cleaned several times, with every change of its files."""

    root: Path
    journal: list[Change]
    begun_at: int
    table: dict[str, str]
    end_offset: int


def opened(files: Files, root: Path) -> LogStore:
    store = LogStore(files, [str(root)], lambda _: CONFIG, lambda _, error: pytest.fail(str(error)))
    store.load(NOW)
    return store


def table_of(pairs: Pairs) -> dict[str, str]:
    table: dict[str, str] = {}
    for _, key, value in pairs:
        assert key is not None
        table.pop(key, None)
        if value is not None:
            table[key] = value
    return table


@pytest.fixture(scope="module")
def cleaned(tmp_path_factory: pytest.TempPathFactory) -> Cleaned:
    root = tmp_path_factory.mktemp("cleaned") / "data"
    files = JournalFiles()
    store = opened(files, root)
    log = store.create(PARTITION, NOW)
    for n in range(16):
        put(log, (f"k{n % 5}", str(n)), (f"only {n}", "x"))
    put(log, ("k1", None))
    put(log, ("k2", "committed"), producer=3, sequence=0, transactional=1)
    end_transaction(log, 3, MarkerType.COMMIT)
    put(log, ("k3", "aborted"), producer=4, sequence=0, transactional=1)
    end_transaction(log, 4, MarkerType.ABORT)
    put(log, ("k4", "last"))
    log.roll(NOW)
    flush_now(log, NOW)
    log.update_high_watermark(log.log_end_offset)
    for job in (*store.recovery_point_jobs(), *store.high_watermark_jobs()):
        job.run(files)
    begun_at = len(files.journal)
    # The table without the aborted record: readers of committed records never see it.
    table = table_of([pair for pair in pairs_of(log) if pair[2] != "aborted"])
    segments = len(log.segments)
    for round_number in range(3):
        assert do_all(cleaning(log, NOW + round_number * 2000).steps())
        for job in store.cleaner_offset_jobs():
            job.run(files)
        for removal in store.trash.take_due(NOW + 10**9):
            removal.run(files)
    assert len(log.segments) < segments
    assert table_of(pairs_of(log)) == table
    return Cleaned(root, files.journal, begun_at, table, log.log_end_offset)


def states(cleaned: Cleaned) -> Iterator[Disk]:
    seen = set()
    for length in range(cleaned.begun_at, len(cleaned.journal) + 1):
        for disk in crash_states(cleaned.journal[:length]):
            key = hash(disk.key())
            if key not in seen:
                seen.add(key)
                yield disk


@pytest.mark.timeout(600)
def test_a_crash_at_any_moment_of_a_cleaning_loses_nothing(cleaned: Cleaned, tmp_path: Path) -> None:
    number = 0
    for number, disk in enumerate(states(cleaned)):
        root = tmp_path / str(number)
        root.mkdir()
        disk.write_to(root, str(cleaned.root))
        check(cleaned, root)
    assert number > 300


def check(cleaned: Cleaned, root: Path) -> None:
    store = opened(Files(), root)
    log = store.get(PARTITION)
    assert log is not None
    assert log.log_end_offset == cleaned.end_offset
    assert table_of([pair for pair in pairs_of(log) if pair[2] != "aborted"]) == cleaned.table
    check_aborted(log)
    check_indexes(log)
    names = {path.name for path in (root / "t-0").iterdir()}
    assert not {name for name in names if name.endswith((".cleaned", ".swap", ".deleted"))}
    assert log.first_dirty_offset is None or log.first_dirty_offset <= cleaned.end_offset
    log.close_files()
    before = content_of(root)
    again = opened(Files(), root).get(PARTITION)
    assert again is not None
    again.close_files()
    assert content_of(root) == before, "a second recovery changes nothing"


def content_of(root: Path) -> dict[str, bytes]:
    return {str(f.relative_to(root)): f.read_bytes() for f in root.rglob("*") if f.is_file()}


def check_aborted(log: Log) -> None:
    """As long as the aborted record is there, it is listed."""
    is_there = any(value == "aborted" for _, _, value in pairs_of(log))
    listed = {txn.producer_id for segment in log.segments for txn in segment.txn_index.entries()}
    assert not is_there or listed == {4}


def check_indexes(log: Log) -> None:
    for segment in log.segments:
        positions = dict(whole_batches(segment.batch_at(0, segment.size)))
        for relative, position in segment.offset_index.entries():
            assert positions[position].base_offset <= segment.base_offset + relative
        for offset, at in ((h.last_offset, at) for at, h in positions.items()):
            assert segment.position_of(offset) == at
