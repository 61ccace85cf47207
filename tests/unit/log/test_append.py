"""Appending as a leader and as a follower: offsets, segments, indexes, refusals."""

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.batches import at_offset, batch, plain
from tests.support.logs import NOW, SMALL, LogOnDisk, append, offsets_of, read_from, stored
from tidelog.broker.log.config import LogConfig
from tidelog.broker.log.follower_batches import UnexpectedOffsetError
from tidelog.broker.log.log import Log
from tidelog.broker.log.names import LOG
from tidelog.broker.log.truncation import truncate_to
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.header import TimestampType, whole_batches
from tidelog.kafka.records.produced import ProduceRules
from tidelog.kafka.records.record import Record


@pytest.fixture
def disk(tmp_path: Path) -> LogOnDisk:
    return LogOnDisk(tmp_path / "t-0")


def code_of(caught: pytest.ExceptionInfo[KafkaError]) -> KafkaCode:
    return caught.value.code


def test_a_fresh_log_has_one_empty_segment(disk: LogOnDisk) -> None:
    log = disk.open(was_clean=True)
    assert disk.names() == {
        "00000000000000000000.log",
        "00000000000000000000.index",
        "00000000000000000000.timeindex",
        "leader-epoch-checkpoint",
    }
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark, log.size) == (0, 0, 0, 0)


def test_offsets_and_epoch_are_put_into_the_callers_buffer_and_the_file(disk: LogOnDisk) -> None:
    log = disk.open()
    first, second = plain(count=3), plain(count=2)
    assert log.append_as_leader(first, 7, NOW)[:2] == (0, 2)
    assert log.append_as_leader(second, 7, NOW)[:2] == (3, 4)
    assert struct.unpack_from(">qii", second) == (3, len(second) - 12, 7)
    assert (disk.path / "00000000000000000000.log").read_bytes() == first + second
    assert log.log_end_offset == 5
    assert log.epochs.entries == ((7, 0),)
    assert (disk.path / "leader-epoch-checkpoint").read_text() == "0\n1\n7 0\n"


def test_a_refused_batch_changes_nothing(disk: LogOnDisk) -> None:
    log = disk.open()
    append(log)
    before = stored(log)
    with pytest.raises(KafkaError) as caught:
        append(log, batch(Record(None, b"v"), crc=1), epoch=9)
    assert code_of(caught) is KafkaCode.CORRUPT_MESSAGE
    assert (stored(log), log.log_end_offset, log.epochs.latest_epoch) == (before, 1, 0)


def test_a_batch_larger_than_a_segment_is_refused(disk: LogOnDisk) -> None:
    log = disk.open()
    with pytest.raises(KafkaError) as caught:
        append(log, plain(bytes(2000)))
    assert code_of(caught) is KafkaCode.RECORD_LIST_TOO_LARGE
    assert log.log_end_offset == 0


def test_a_batch_that_grows_beyond_the_limit_in_the_topics_codec(disk: LogOnDisk) -> None:
    from tidelog.kafka.records.compression import Codec

    sent = batch(Record(None, bytes(900), NOW), codec=Codec.GZIP)
    disk.config = replace(SMALL, rules=ProduceRules(max_message_bytes=500, codec=Codec.NONE))
    with pytest.raises(KafkaError) as caught:
        append(disk.open(), sent)
    assert code_of(caught) is KafkaCode.MESSAGE_TOO_LARGE


def test_log_append_time_is_in_the_answer(disk: LogOnDisk) -> None:
    disk.config = replace(SMALL, rules=ProduceRules(timestamp_type=TimestampType.LOG_APPEND_TIME))
    log = disk.open()
    assert append(log, now_ms=NOW + 5).log_append_time_ms == NOW + 5
    assert next(h for _, h in whole_batches(stored(log))).max_timestamp == NOW + 5
    disk.config = SMALL


def test_it_rolls_exactly_when_the_next_batch_would_not_fit(disk: LogOnDisk) -> None:
    log = disk.open()
    size = len(plain())
    for _ in range(40):
        append(log)
    fit = 1000 // size
    assert log.segments.bases == tuple(range(0, 40, fit))
    assert all(s.size == fit * size for s in list(log.segments)[:-1])
    assert {int(f.stem) for f in disk.path.glob("*.snapshot")} == set(log.segments.bases) - {0}
    for f in list(disk.path.glob("*.index"))[:-1]:
        assert f.stat().st_size % 8 == 0
    assert offsets_of(stored(log)) == list(range(40))


def test_index_entries_are_those_of_the_rule(disk: LogOnDisk) -> None:
    """After more than index.interval.bytes: the last offset of the append and where it starts."""
    disk.config = LogConfig(index_interval_bytes=300)
    log = disk.open()
    times = [100, 300, 200, 250, 400, 350, 500, 450, 600]
    expected_offsets, expected_times = list[tuple[int, int]](), list[tuple[int, int]]()
    since, newest = 0, (-1, -1)
    for n, time in enumerate(times):
        data = batch(Record(None, b"x" * 50, time), Record(None, b"y", time))
        newest = max(newest, (time, 2 * n + 1), key=lambda pair: pair[0])
        if since > 300:
            expected_offsets.append((2 * n + 1, n * len(data)))
            if not expected_times or newest[0] > expected_times[-1][0]:
                expected_times.append(newest)
            since = 0
        since += len(data)
        append(log, data)
    segment = log.segments.active
    assert segment.offset_index.entries() == expected_offsets
    assert segment.time_index.entries() == expected_times
    assert (disk.path / "00000000000000000000.index").stat().st_size == 10 * 1024**2
    log.roll(NOW)
    assert segment.time_index.entries()[-1] == (600, 17), "the newest record ends the time index of a rolled segment"
    assert (disk.path / "00000000000000000000.index").stat().st_size == 8 * len(expected_offsets)
    assert (disk.path / "00000000000000000000.timeindex").stat().st_size == 12 * len(segment.time_index.entries())


def test_it_rolls_when_an_index_is_full(disk: LogOnDisk) -> None:
    disk.config = LogConfig(index_interval_bytes=0, segment_index_bytes=36)
    log = disk.open()
    for n in range(20):
        append(log, plain(timestamp=NOW + n))
    assert len(log.segments) > 4
    assert all(1 <= len(s.time_index.entries()) <= 3 for s in list(log.segments)[:-1])
    assert offsets_of(read_from(log, 0)) == list(range(20))


def test_it_rolls_by_the_time_of_the_records(disk: LogOnDisk) -> None:
    disk.config = replace(SMALL, segment_ms=1000)
    log = disk.open()
    for timestamp in (NOW, NOW + 1000, NOW + 1001, NOW + 1500):
        append(log, plain(timestamp=timestamp))
    assert log.segments.bases == (0, 2)


def test_without_timestamps_it_rolls_by_the_age_of_the_segment(disk: LogOnDisk) -> None:
    disk.config = replace(SMALL, segment_ms=1000)
    log = disk.open()
    append(log, plain(timestamp=-1), now_ms=NOW)
    append(log, plain(timestamp=-1), now_ms=NOW + 1000)
    append(log, plain(timestamp=-1), now_ms=NOW + 1001)
    assert log.segments.bases == (0, 2)


def test_it_rolls_when_offsets_get_too_far_from_the_base(disk: LogOnDisk) -> None:
    log = disk.open()
    log.append_as_follower(at_offset(plain(), 0), NOW)
    log.append_as_follower(at_offset(plain(), 2**31 - 1), NOW)
    log.append_as_follower(at_offset(plain(), 2**31), NOW)
    assert log.segments.bases == (0, 2**31)
    assert offsets_of(read_from(log, 0)) == [0, 2**31 - 1, 2**31]


def test_a_follower_writes_what_the_leader_has(disk: LogOnDisk, tmp_path: Path) -> None:
    leader = disk.open()
    for n in range(10):
        append(leader, plain(count=n + 1), epoch=n // 3)
    follower = LogOnDisk(tmp_path / "other").open()
    data = stored(leader)
    appended = follower.append_as_follower(data + data[:30], NOW)
    assert appended is not None
    assert appended[:2] == (0, 54)
    assert stored(follower) == data
    assert follower.epochs.entries == leader.epochs.entries
    assert follower.append_as_follower(b"", NOW) is None
    assert follower.append_as_follower(data[:50], NOW) is None


def test_a_follower_refuses_what_does_not_continue_its_log(disk: LogOnDisk) -> None:
    log = disk.open()
    log.append_as_follower(at_offset(plain(count=3), 0), NOW)
    with pytest.raises(UnexpectedOffsetError) as caught:
        log.append_as_follower(at_offset(plain(), 2), NOW)
    assert caught.value.first_offset == 2
    with pytest.raises(UnexpectedOffsetError):
        log.append_as_follower(at_offset(plain(), 5) + at_offset(plain(), 5), NOW)
    assert log.log_end_offset == 3
    log.append_as_follower(at_offset(plain(), 5), NOW)
    assert log.log_end_offset == 6


@pytest.mark.parametrize("at", [8, 16, 17, 30, 65])
def test_a_follower_refuses_a_corrupt_batch_and_all_that_came_with_it(disk: LogOnDisk, at: int) -> None:
    log = disk.open()
    bad = at_offset(plain(), 1)
    bad[at] ^= 0x80
    with pytest.raises(KafkaError) as caught:
        log.append_as_follower(at_offset(plain(), 0) + bad, NOW)
    assert code_of(caught) is KafkaCode.CORRUPT_MESSAGE
    assert log.log_end_offset == 0


def test_a_leaders_epoch_is_known_before_it_writes(disk: LogOnDisk) -> None:
    log = disk.open()
    append(log)
    log.assign_epoch(4)
    assert log.epochs.entries == ((0, 0), (4, 1))
    log.assign_epoch(6)
    assert log.epochs.entries == ((0, 0), (6, 1)), "the leader of epoch 4 never wrote"
    assert log.end_offset_for_epoch(0) == (0, 1)
    assert log.end_offset_for_epoch(5) == (0, 1)
    assert log.end_offset_for_epoch(6) == (6, 1)
    assert log.end_offset_for_epoch(7) == (-1, -1)
    assert log.end_offset_for_epoch(-1) == (-1, -1)


def space_of(log: Log) -> int:
    return Path(log.segments.first.path(LOG)).stat().st_blocks * 512


def test_a_growing_segment_has_space_ahead_until_it_is_rolled(tmp_path: Path) -> None:
    log = LogOnDisk(tmp_path / "t-0", LogConfig()).open(was_clean=True)
    data = plain(bytes(1_000_000))
    while log.size < 4_000_000:
        append(log, bytearray(data))
    assert space_of(log) < log.size + 1_000_000, "small segments have none"
    for _ in range(6):
        append(log, bytearray(data))
    ahead = space_of(log) - log.size
    if not ahead:
        pytest.skip("this file system gives no space ahead")
    assert 0 < ahead < log.size // 2
    truncate_to(log, 9, NOW, lambda: None)
    append(log, bytearray(data))
    assert Path(log.segments.first.path(LOG)).stat().st_size == log.size
    log.roll(NOW)
    assert space_of(log) < log.segments.first.size + 100_000


def test_a_file_system_that_gives_no_space_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.broker.log.files.ctypes.CDLL", lambda *_, **__: object())
    log = LogOnDisk(tmp_path / "t-0", LogConfig()).open(was_clean=True)
    for _ in range(6):
        append(log, plain(bytes(1_000_000)))
    assert log.log_end_offset == 6
