"""Compaction: which records stay, which batches stay as they are, and what readers still find."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.batches import batch
from tests.support.cleaning import (
    ForgetfulFiles,
    clean,
    clean_all,
    cleaning,
    do_all,
    end_transaction,
    headers_of,
    make_cleanable,
    pairs_of,
    put,
)
from tests.support.logs import NOW, SMALL, LogOnDisk, append, read_from, records_of, stored
from tidelog.broker.log.cleaner.source import UncleanableError
from tidelog.broker.log.log import Log
from tidelog.broker.log.names import LOG
from tidelog.broker.log.reading import aborted_transactions, find_by_timestamp
from tidelog.kafka.records.compression import Codec
from tidelog.kafka.records.control import MarkerType
from tidelog.kafka.records.header import DELETE_HORIZON, LOG_APPEND_TIME, whole_batches
from tidelog.kafka.records.record import Record

COMPACTED = replace(SMALL, compact=True, delete=False, delete_retention_ms=1000)
LATER = NOW + 10_000


@pytest.fixture
def disk(tmp_path: Path) -> LogOnDisk:
    return LogOnDisk(tmp_path / "t-0", COMPACTED, ForgetfulFiles())


@pytest.fixture
def log(disk: LogOnDisk) -> Log:
    return disk.open()


def test_only_the_newest_record_of_a_key_stays_and_keeps_its_offset(log: Log) -> None:
    put(log, ("a", "1"), ("b", "1"), ("a", "2"))
    put(log, ("c", "1"), ("b", "2"))
    clean_all(log)
    assert pairs_of(log) == [(2, "a", "2"), (3, "c", "1"), (4, "b", "2")]
    assert log.log_end_offset == 5
    assert log.first_dirty_offset == 5


def test_a_batch_that_stays_whole_is_not_touched(log: Log) -> None:
    put(log, ("a", "1"), ("b", "1"), codec=Codec.GZIP)
    put(log, ("c", "1"), codec=Codec.ZSTD)
    before = stored(log)
    clean_all(log)
    assert stored(log) == before


@pytest.mark.parametrize("codec", list(Codec))
def test_what_stays_of_a_batch_keeps_everything_but_the_others(log: Log, codec: Codec) -> None:
    headers = [(b"h", b"x"), (b"\xff\xfe", None)]
    records = [Record(b"k%d" % (n % 3), b"v%d" % n, NOW + n * 7, headers) for n in range(9)]
    append(log, batch(*records, codec=codec))
    (before,) = headers_of(log)
    clean_all(log)
    (header,) = headers_of(log)
    assert header.codec == codec
    assert (header.base_offset, header.last_offset, header.records_count) == (0, 8, 3)
    assert header.base_timestamp == before.base_timestamp
    found = records_of(stored(log))
    assert [(r.offset, r.key, r.value, r.timestamp) for r in found] == [
        (n, b"k%d" % (n % 3), b"v%d" % n, NOW + n * 7) for n in (6, 7, 8)
    ]
    assert all(list(r.headers) == headers for r in found)


def test_the_largest_timestamp_is_that_of_what_stays(log: Log) -> None:
    append(log, batch(Record(b"a", b"1", NOW + 500), Record(b"a", b"2", NOW), Record(b"b", b"", NOW + 3)))
    clean_all(log)
    assert headers_of(log)[0].max_timestamp == NOW + 3
    assert find_by_timestamp(log, NOW + 400) is None


def test_records_without_a_key_go(disk: LogOnDisk) -> None:
    disk.config = replace(COMPACTED, compact=False)
    log = disk.open()
    put(log, (None, "1"), ("a", "1"))
    log.config = COMPACTED
    counts = clean_all(log)
    assert pairs_of(log) == [(1, "a", "1")]
    assert counts.records_without_key == 1


def test_a_tombstone_gets_a_horizon_and_goes_after_it(log: Log) -> None:
    put(log, ("a", "1"))
    put(log, ("a", None), ("b", "1"))
    clean_all(log)
    assert pairs_of(log) == [(1, "a", None), (2, "b", "1")]
    header = headers_of(log)[-1]
    assert header.attributes & DELETE_HORIZON
    assert header.delete_horizon_ms == NOW + 1000
    assert [r.timestamp for r in records_of(stored(log))] == [NOW, NOW + 1]
    put(log, ("c", "1"))
    clean_all(log, NOW + 999)
    assert (1, "a", None) in pairs_of(log)
    assert headers_of(log)[0].delete_horizon_ms == NOW + 1000
    put(log, ("d", "1"))
    clean_all(log, NOW + 1000)
    assert pairs_of(log) == [(2, "b", "1"), (3, "c", "1"), (4, "d", "1")]


def test_a_tombstone_with_log_append_time_keeps_that_time(disk: LogOnDisk) -> None:
    log = disk.open()
    made = batch(Record(b"a", None, 5), attributes=LOG_APPEND_TIME, max_timestamp=NOW)
    log.append_as_follower(bytearray(made), NOW)
    clean_all(log)
    (header,) = headers_of(log)
    assert (header.max_timestamp, header.delete_horizon_ms) == (NOW, NOW + 1000)
    assert records_of(stored(log))[0].timestamp == NOW


def test_records_of_an_aborted_transaction_go_and_do_not_count(log: Log) -> None:
    put(log, ("a", "old"))
    put(log, ("a", "aborted"), producer=1, sequence=0, transactional=1)
    end_transaction(log, 1, MarkerType.ABORT)
    put(log, ("b", "kept"), producer=2, sequence=0, transactional=1)
    end_transaction(log, 2, MarkerType.COMMIT)
    clean_all(log)
    assert pairs_of(log) == [(0, "a", "old"), (3, "b", "kept")]


def test_markers_go_after_their_records_and_a_horizon(log: Log) -> None:
    put(log, ("a", "aborted"), producer=1, sequence=0, transactional=1)
    abort = end_transaction(log, 1, MarkerType.ABORT)
    put(log, ("b", "1"), producer=2, sequence=0, transactional=1)
    commit = end_transaction(log, 2, MarkerType.COMMIT)
    put(log, ("b", "2"))
    put(log, ("z", "1"))
    log.producers.clear()
    clean_all(log)
    # Records were seen in this pass, so both markers stay and the aborted transaction is still listed.
    assert [h.base_offset for h in headers_of(log) if h.is_control] == [abort, commit]
    assert aborted_transactions(log, 0, log.log_end_offset) != []
    put(log, ("x", "1"))
    clean_all(log)
    markers = [h for h in headers_of(log) if h.is_control]
    assert [h.delete_horizon_ms for h in markers] == [NOW + 1000, NOW + 1000]
    assert aborted_transactions(log, 0, log.log_end_offset) == []
    put(log, ("y", "1"))
    clean_all(log, NOW + 1000)
    assert not any(h.is_control for h in headers_of(log))


def test_a_marker_stays_while_records_of_its_transaction_do(log: Log) -> None:
    put(log, ("a", "1"), producer=1, sequence=0, transactional=1)
    commit = end_transaction(log, 1, MarkerType.COMMIT)
    put(log, ("b", "1"))
    log.producers.clear()
    for time_ms in (NOW, LATER, LATER * 2):
        clean_all(log, time_ms)
        put(log, ("c", str(time_ms)))
    header = next(h for h in headers_of(log) if h.is_control)
    assert (header.base_offset, header.delete_horizon_ms) == (commit, None)


def test_the_last_batch_of_a_living_producer_stays_even_if_it_is_empty(disk: LogOnDisk, log: Log) -> None:
    put(log, ("a", "1"), producer=7, sequence=0)
    put(log, ("a", "2"), producer=7, sequence=1)
    put(log, ("a", "3"))
    clean_all(log)
    assert pairs_of(log) == [(2, "a", "3")]
    empty = headers_of(log)[0]
    assert (empty.base_offset, empty.records_count, empty.producer_id, empty.last_sequence) == (1, 0, 7, 1)
    assert empty.max_timestamp == NOW
    # The sequence survives a restart that has nothing but the log.
    log.close()
    for file in disk.path.glob("*.snapshot"):
        file.unlink()
    assert put(disk.open(), ("b", "1"), producer=7, sequence=2) == 3


def test_a_silent_producers_batches_go(log: Log) -> None:
    put(log, ("a", "1"), producer=7, sequence=0)
    put(log, ("a", "2"))
    log.producers.expire(NOW + 10**9, replace(log.config, producer_id_expiration_ms=1))
    clean_all(log)
    assert [h.base_offset for h in headers_of(log)] == [1]


def test_the_marker_of_a_producers_epoch_stays_for_its_fence(log: Log) -> None:
    put(log, ("a", "1"), producer=3, sequence=0, transactional=1)
    marker = end_transaction(log, 3, MarkerType.ABORT)
    put(log, ("b", "1"))
    log.producers.entries[3].batches.clear()
    for time_ms in (NOW, LATER, LATER * 2, LATER * 3):
        clean_all(log, time_ms)
        put(log, ("c", str(time_ms)))
    kept = next(h for h in headers_of(log) if h.base_offset == marker)
    assert kept.is_control
    assert kept.records_count == 0


def test_segments_are_merged_and_the_end_of_the_cleaned_part_is_known(disk: LogOnDisk, log: Log) -> None:
    for n in range(40):
        put(log, ("same", f"value {n}"))
    put(log, ("other", "1"))
    make_cleanable(log)
    segments = len(log.segments)
    assert segments > 3
    clean(log)
    assert all(segment.size for segment in list(log.segments)[:-1])
    clean(log)
    assert len(log.segments) == 2
    assert pairs_of(log) == [(39, "same", "value 39"), (40, "other", "1")]
    ends = [h.next_offset for h in headers_of(log)]
    # A cleaned segment ends where the next one begins, if need be with an empty batch.
    for segment in list(log.segments)[1:]:
        assert segment.base_offset in ends
    assert not {n for n in disk.names() if n.endswith((".cleaned", ".swap"))}


def test_groups_stay_within_the_size_of_a_segment(log: Log) -> None:
    for n in range(30):
        put(log, (f"key {n}", "v" * 100))
    make_cleanable(log)
    clean(log)
    assert all(segment.size <= COMPACTED.segment_bytes for segment in log.segments)
    assert len(pairs_of(log)) == 30


def test_a_full_map_cleans_up_to_there_and_goes_on_later(log: Log) -> None:
    for n in range(20):
        put(log, (f"k{n % 10}", str(n)))
    make_cleanable(log)
    clean(log, slots=7)
    assert log.first_dirty_offset is not None
    assert 0 < log.first_dirty_offset < 20
    before = len(pairs_of(log))
    while log.first_dirty_offset < 20:
        clean(log, slots=7)
    assert len(pairs_of(log)) < before
    assert {(key, value) for _, key, value in pairs_of(log)} >= {(f"k{n % 10}", str(n)) for n in range(10, 20)}


def test_a_batch_with_more_keys_than_the_map_has_room_for_is_uncleanable(log: Log) -> None:
    put(log, *((f"k{n}", "v") for n in range(20)))
    make_cleanable(log)
    with pytest.raises(UncleanableError, match="dedupe"):
        do_all(cleaning(log, slots=7).steps())
    assert len(pairs_of(log)) == 20


def test_a_damaged_segment_is_uncleanable_and_stays(disk: LogOnDisk, log: Log) -> None:
    put(log, ("a", "1"))
    put(log, ("a", "2"))
    make_cleanable(log)
    path = Path(log.segments.first.path(LOG))
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(UncleanableError, match=r"000\.log is damaged at position"):
        do_all(cleaning(log).steps())
    assert path.read_bytes() == data
    assert not {n for n in disk.names() if n.endswith((".cleaned", ".swap"))}


def test_time_of_the_file_is_kept(disk: LogOnDisk, log: Log) -> None:
    put(log, ("a", "1"))
    make_cleanable(log)
    log.segments.first.modified_ms = 1_600_000_000_000
    clean(log)
    path = Path(log.segments.first.path(LOG))
    assert path.stat().st_mtime_ns == 1_600_000_000_000 * 10**6
    assert log.segments.first.modified_ms == 1_600_000_000_000


def test_a_reader_goes_on_over_the_cleaned_part(disk: LogOnDisk, log: Log) -> None:
    for n in range(60):
        put(log, (f"k{n % 7}", str(n)))
    clean_all(log)
    data = read_from(log, 0, max_bytes=100)
    assert [r.offset for r in records_of(data)] == list(range(53, 60))
    assert records_of(read_from(log, 57))[0].offset <= 57
    log.close()
    again = disk.open(was_clean=True)
    assert stored(again) == data


def test_indexes_of_a_cleaned_segment_name_batches(log: Log) -> None:
    log.config = replace(COMPACTED, segment_bytes=100_000, segment_index_bytes=4000)
    for n in range(200):
        put(log, (f"k{n % 150}", "v" * 50))
    clean_all(log)
    segment = log.segments.first
    by_position = dict(whole_batches(segment.batch_at(0, segment.size)))
    entries = segment.offset_index.entries()
    assert len(entries) > 10
    assert all(by_position[position].last_offset == offset for offset, position in entries)
    assert segment.time_index.entries()


def test_a_full_index_gets_no_more_entries(log: Log) -> None:
    log.config = replace(COMPACTED, segment_bytes=100_000, segment_index_bytes=24)
    for n in range(200):
        put(log, (f"k{n}", "v" * 100))
    make_cleanable(log)
    log.config = replace(log.config, index_interval_bytes=50)
    clean(log)
    assert len(pairs_of(log)) == 200
    assert all(segment.offset_index.count <= 3 for segment in log.segments)
