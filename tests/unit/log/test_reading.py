"""Reading: by offset, within limits, by timestamp; how far each kind of reader sees."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.batches import batch, plain
from tests.support.logs import NOW, SMALL, LogOnDisk, append, offsets_of, read_from, stored
from tidelog.broker.log.config import LogConfig
from tidelog.broker.log.log import Log
from tidelog.broker.log.log_file import FileRange
from tidelog.broker.log.open_segments import OpenSegments
from tidelog.broker.log.reading import Fetched, Isolation, fetch, find_by_timestamp, find_max_timestamp
from tidelog.broker.log.retention import advance_start, delete_old_segments
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.compression import Codec
from tidelog.kafka.records.header import whole_batches
from tidelog.kafka.records.record import Record

FOLLOWER, CONSUMER, COMMITTED = Isolation.LOG_END, Isolation.HIGH_WATERMARK, Isolation.COMMITTED


@pytest.fixture
def disk(tmp_path: Path) -> LogOnDisk:
    return LogOnDisk(tmp_path / "t-0")


@pytest.fixture
def log(disk: LogOnDisk) -> Log:
    """Batches of one to three records, over some segments: offsets 0 to 79."""
    log = disk.open()
    for n in range(40):
        append(log, plain(b"x" * (n % 5 * 20), count=n % 3 + 1))
    return log


def got(fetched: Fetched) -> list[int]:
    return offsets_of(fetched.records.read()) if fetched.records else []


def test_every_offset_is_found_in_the_batch_that_holds_it(log: Log) -> None:
    everything = stored(log)
    for start, header in whole_batches(everything):
        for offset in range(header.base_offset, header.next_offset):
            records = fetch(log, offset, 1, FOLLOWER).records
            assert records is not None
            assert records.read() == everything[start : start + header.size]


@pytest.mark.parametrize("max_bytes", [0, 1, 100, 150, 300, 999, 10**6])
def test_a_reader_gets_on_whatever_the_limit(log: Log, max_bytes: int) -> None:
    offset = 0
    while offset < log.log_end_offset:
        fetched = fetch(log, offset, max_bytes, FOLLOWER)
        assert fetched.records is not None
        data = fetched.records.read()
        batches = list(whole_batches(data))
        assert len(data) <= max(max_bytes, batches[0][1].size)
        assert batches[0][1].base_offset == offset
        offset = batches[-1][1].next_offset
    assert offset == log.log_end_offset


def test_a_limit_cuts_the_last_batch_but_not_the_first(log: Log) -> None:
    everything = fetch(log, 0, 10**6, FOLLOWER).records
    assert everything is not None
    data = everything.read()
    first = next(whole_batches(data))[1].size
    for limit in range(everything.size + 10):
        records = fetch(log, 0, limit, FOLLOWER).records
        assert records is not None
        assert records.read() == data[: max(first, limit)]


def test_without_the_first_batch_exception_a_small_limit_gives_nothing(log: Log) -> None:
    assert fetch(log, 0, 10, FOLLOWER, at_least_one=False).records is None
    assert fetch(log, 0, 10, FOLLOWER).records is not None
    whole = fetch(log, 0, 10, FOLLOWER).records
    assert whole is not None
    assert fetch(log, 0, whole.size, FOLLOWER, at_least_one=False).records == whole


def test_readers_see_as_far_as_they_may(log: Log) -> None:
    bases = [header.base_offset for _, header in whole_batches(stored(log))]
    for high_watermark in bases:
        log.update_high_watermark(high_watermark)
        assert offsets_of(read_from(log, 0, isolation=CONSUMER)) == list(range(high_watermark))
        fetched = fetch(log, 0, 10**6, COMMITTED)
        assert fetched[1:] == (high_watermark, high_watermark, 0, [])
    assert offsets_of(read_from(log, 0)) == list(range(log.log_end_offset))
    assert fetch(log, log.log_end_offset, 100, CONSUMER).records is None


@pytest.mark.parametrize("offset", [-1, -2, 81, 2**62])
def test_an_offset_outside_the_log(log: Log, offset: int) -> None:
    with pytest.raises(KafkaError) as caught:
        fetch(log, offset, 100, FOLLOWER)
    assert caught.value.code is KafkaCode.OFFSET_OUT_OF_RANGE


def test_an_offset_before_the_start(log: Log) -> None:
    log.update_high_watermark(50)
    advance_start(log, 13)
    with pytest.raises(KafkaError):
        fetch(log, 12, 100, FOLLOWER)
    assert got(fetch(log, 13, 1, FOLLOWER))[-1] >= 13


def test_a_range_can_be_read_after_its_segment_was_closed_or_deleted(disk: LogOnDisk, log: Log) -> None:
    first = fetch(log, 0, 10**6, FOLLOWER).records
    assert first is not None
    before = first.read()
    log.segments.first.close_files()
    assert first.read() == before
    log.update_high_watermark(log.log_end_offset)
    log.config = replace(SMALL, retention_bytes=0)
    assert delete_old_segments(log, NOW) > 1
    for removal in disk.trash.take_due(NOW + SMALL.file_delete_delay_ms):
        removal.run(disk.files)
    assert first.read() == before


def test_few_open_segments_are_enough(tmp_path: Path) -> None:
    disk = LogOnDisk(tmp_path / "t-0", open_segments=OpenSegments(2))
    log = disk.open()
    for _ in range(60):
        append(log)
        assert len(disk.open_segments) <= 2
    for offset in (0, 59, 1, 30, 58, 2):
        assert got(fetch(log, offset, 1, FOLLOWER)) == [offset]
        assert len(disk.open_segments) <= 2
    append(log)
    assert offsets_of(read_from(log, 0)) == list(range(61))
    assert offsets_of(stored(log)) == list(range(61))


@pytest.fixture
def timed(disk: LogOnDisk) -> Log:
    """Timestamps by offset: 1000 3000 2000 | 2500 3000 | 5000 4000, the last batch compressed."""
    log = disk.open()
    for codec, times in ((Codec.NONE, (1000, 3000, 2000)), (Codec.NONE, (2500, 3000)), (Codec.GZIP, (5000, 4000))):
        append(log, batch(*[Record(None, b"v", t) for t in times], codec=codec), epoch=3)
    return log


@pytest.mark.parametrize(
    ("timestamp", "offset", "found"),
    [(0, 0, 1000), (1000, 0, 1000), (1001, 1, 3000), (3000, 1, 3000), (3001, 5, 5000), (5000, 5, 5000)],
)
def test_a_timestamp_gives_the_first_record_that_is_not_older(
    timed: Log, timestamp: int, offset: int, found: int
) -> None:
    assert find_by_timestamp(timed, timestamp) == (offset, found, 3)


def test_a_timestamp_after_all_records_gives_nothing(timed: Log) -> None:
    assert find_by_timestamp(timed, 5001) is None
    assert find_max_timestamp(timed) == (5, 5000, 3)


def test_an_empty_log_has_no_timestamps(disk: LogOnDisk) -> None:
    log = disk.open()
    assert find_by_timestamp(log, 0) is None
    assert find_max_timestamp(log) is None


def test_the_search_begins_at_the_start_of_the_log(timed: Log) -> None:
    timed.update_high_watermark(7)
    advance_start(timed, 2)
    assert find_by_timestamp(timed, 0) == (2, 2000, 3)
    assert find_by_timestamp(timed, 2001) == (3, 2500, 3)


def test_timestamps_over_many_segments_and_after_a_restart(disk: LogOnDisk) -> None:
    log = disk.open()
    times = [1000 + n * 10 - (95 if n % 7 == 6 else 0) for n in range(80)]
    for time in times:
        append(log, plain(timestamp=time))
    for opened in (log, None):
        if opened is None:
            log.close()
            opened = disk.open(was_clean=True)
        for wanted in range(990, 1800, 5):
            first = next(((n, t) for n, t in enumerate(times) if t >= wanted), None)
            found = find_by_timestamp(opened, wanted)
            assert (found and found[:2]) == first
        assert find_max_timestamp(opened) == (79, 1790, 0)


def dropped(records: FileRange) -> FileRange:
    """The range after the kernel has forgotten its file; skips where it keeps everything, as in a file system of memory."""
    os.fsync(records.fd)
    os.posix_fadvise(records.fd, 0, 0, os.POSIX_FADV_DONTNEED)
    if records.is_cached():
        pytest.skip("files stay in memory here")
    return records


def test_a_range_tells_whether_it_is_in_memory(tmp_path: Path) -> None:
    log = LogOnDisk(tmp_path / "t-0", LogConfig()).open()
    for _ in range(40):
        append(log, plain(bytes(100_000)))
    records = fetch(log, 0, 2_000_000, FOLLOWER).records
    assert records is not None
    assert records.is_cached()
    assert not dropped(records).is_cached()
    before = records.file.files.pread(records.fd, 1, records.position)
    assert before, "one page does not make it cached"
    assert not records.is_cached()
    records.read_into_cache()
    assert records.is_cached()


def test_what_was_written_lately_is_known_to_be_in_memory(tmp_path: Path) -> None:
    """Without asking the kernel: place and time decide."""
    log = LogOnDisk(tmp_path / "t-0", LogConfig()).open()
    for second in range(60):
        append(log, now_ms=NOW + second * 1000)

    def is_recent(offset: int, second: int) -> bool:
        records = fetch(log, offset, 1, FOLLOWER).records
        assert records is not None
        return records.is_recent(NOW + second * 1000)

    assert is_recent(59, 59)
    assert is_recent(50, 59)
    assert not is_recent(10, 59)
    assert not is_recent(59, 90), "nothing was written for long"
    append(log, now_ms=NOW + 3_600_000)
    assert is_recent(60, 3600)
    assert not is_recent(59, 3600), "it was written before a long silence"


def test_a_segment_that_is_opened_again_has_nothing_recent(tmp_path: Path) -> None:
    disk = LogOnDisk(tmp_path / "t-0", LogConfig())
    append(disk.open())
    records = fetch(disk.open(), 0, 1, FOLLOWER).records
    assert records is not None
    assert not records.is_recent(NOW)
