"""What leaves a log: by time, size and start offset; asynchronous removal; records deleted by a user."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.batches import plain
from tests.support.logs import NOW, SMALL, LogOnDisk, append, offsets_of, read_from
from tidelog.broker.log.log import Log
from tidelog.broker.log.retention import advance_start, delete_old_segments, delete_records
from tidelog.kafka.errors import KafkaCode, KafkaError

SEGMENT = 1000 // len(plain())  # records of a full segment


@pytest.fixture
def disk(tmp_path: Path) -> LogOnDisk:
    return LogOnDisk(tmp_path / "t-0")


@pytest.fixture
def log(disk: LogOnDisk) -> Log:
    """Ten segments, nine of them full."""
    log = disk.open()
    for n in range(9 * SEGMENT + 5):
        append(log, plain(timestamp=NOW + n), epoch=n // 50)
    log.update_high_watermark(log.log_end_offset)
    return log


def test_nothing_goes_without_limits(log: Log) -> None:
    assert delete_old_segments(log, NOW + 10**12) == 0


def test_by_time_segments_go_when_their_newest_record_is_too_old(log: Log) -> None:
    log.config = replace(SMALL, retention_ms=1000)
    assert delete_old_segments(log, NOW + 1000 + 3 * SEGMENT - 1) == 2
    assert delete_old_segments(log, NOW + 1000 + 3 * SEGMENT) == 1
    assert log.log_start_offset == log.segments.first.base_offset == 3 * SEGMENT
    assert log.epochs.entries[0].start_offset >= 3 * SEGMENT
    assert offsets_of(read_from(log, log.log_start_offset)) == list(range(3 * SEGMENT, log.log_end_offset))


def test_the_active_segment_goes_too_after_it_was_rolled(disk: LogOnDisk, log: Log) -> None:
    end = log.log_end_offset
    log.config = replace(SMALL, retention_ms=1000)
    assert delete_old_segments(log, NOW + 10**9) == 10
    assert (log.log_start_offset, log.log_end_offset, log.segments.bases) == (end, end, (end,))
    assert delete_old_segments(log, NOW + 10**9) == 0, "an empty active segment stays"
    assert append(log).first_offset == end


def test_by_size_the_oldest_go_while_more_than_the_limit_would_be_left(log: Log) -> None:
    size, segment_size = log.size, log.segments.first.size
    log.config = replace(SMALL, retention_bytes=size - 2 * segment_size)
    assert delete_old_segments(log, NOW) == 2
    log.config = replace(SMALL, retention_bytes=log.size - segment_size + 1)
    assert delete_old_segments(log, NOW) == 0


def test_what_is_not_below_the_high_watermark_stays(log: Log) -> None:
    log.high_watermark = 2 * SEGMENT + 1
    log.config = replace(SMALL, retention_ms=0, retention_bytes=0)
    assert delete_old_segments(log, NOW + 10**9) == 2
    assert log.log_start_offset == 2 * SEGMENT


def test_segments_before_the_start_go_under_every_policy(log: Log) -> None:
    log.config = replace(SMALL, delete=False, compact=True, retention_ms=0)
    advance_start(log, 2 * SEGMENT + 1)
    assert delete_old_segments(log, NOW + 10**9) == 2
    assert (log.log_start_offset, log.segments.first.base_offset) == (2 * SEGMENT + 1, 2 * SEGMENT)


def test_files_are_renamed_at_once_and_removed_later(disk: LogOnDisk, log: Log) -> None:
    log.config = replace(SMALL, retention_bytes=log.size - log.segments.first.size)
    delete_old_segments(log, NOW)
    assert {n for n in disk.names() if n.startswith("0" * 20)} == {
        f"{0:020d}.log.deleted", f"{0:020d}.index.deleted", f"{0:020d}.timeindex.deleted"}  # fmt: skip
    assert disk.trash.take_due(NOW + 59_999) == []
    (removal,) = disk.trash.take_due(NOW + 60_000)
    removal.run(disk.files)
    removal.run(disk.files)
    assert not [n for n in disk.names() if n.startswith("0" * 20)]
    assert len(disk.trash) == 0


def test_snapshots_of_deleted_segments_go(disk: LogOnDisk, log: Log) -> None:
    log.config = replace(SMALL, retention_bytes=0)
    delete_old_segments(log, NOW)
    assert {int(f.stem) for f in disk.path.glob("*.snapshot")} == {log.log_end_offset}


def test_a_log_without_timestamps_goes_by_the_time_of_its_files(disk: LogOnDisk) -> None:
    log = disk.open()
    for _ in range(3 * SEGMENT):
        append(log, plain(timestamp=-1))
    log.update_high_watermark(log.log_end_offset)
    log.config = replace(SMALL, retention_ms=1000)
    assert delete_old_segments(log, NOW + 1000) == 0
    assert delete_old_segments(log, NOW + 1001) == 3


def test_deleting_records(log: Log) -> None:
    assert delete_records(log, 7) == 7
    assert delete_records(log, 3) == 7, "the start never moves back"
    log.update_high_watermark(30)
    for offset in (31, -2):
        with pytest.raises(KafkaError) as caught:
            delete_records(log, offset)
        assert caught.value.code is KafkaCode.OFFSET_OUT_OF_RANGE
    assert delete_records(log, -1) == 30
    log.config = replace(SMALL, delete=False, compact=True)
    with pytest.raises(KafkaError) as caught:
        delete_records(log, 30)
    assert caught.value.code is KafkaCode.POLICY_VIOLATION
