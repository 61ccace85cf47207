"""Truncation to an offset, and starting again at one."""

from pathlib import Path

import pytest

from tests.support.batches import batch, plain
from tests.support.logs import NOW, LogOnDisk, append, never, offsets_of, read_from, stored
from tidelog.broker.log.flush import finish_flush, flush_now, start_flush
from tidelog.broker.log.log import Log
from tidelog.broker.log.reading import find_max_timestamp
from tidelog.broker.log.truncation import truncate_fully, truncate_to
from tidelog.kafka.records.control import EndTransactionMarker, MarkerType, encode_marker
from tidelog.kafka.records.header import TRANSACTIONAL
from tidelog.kafka.records.record import Record


@pytest.fixture
def disk(tmp_path: Path) -> LogOnDisk:
    return LogOnDisk(tmp_path / "t-0")


@pytest.fixture
def log(disk: LogOnDisk) -> Log:
    log = disk.open()
    for n in range(40):
        append(log, plain(timestamp=NOW + n), epoch=n // 10)
    log.update_high_watermark(20)
    return log


@pytest.mark.parametrize("offset", [0, 1, 10, 13, 14, 25, 39])
def test_everything_from_an_offset_on_goes(disk: LogOnDisk, log: Log, offset: int) -> None:
    before = stored(log)
    size = len(plain())
    assert truncate_to(log, offset, NOW, never())
    assert (log.log_end_offset, log.high_watermark) == (offset, min(offset, 20))
    assert stored(log) == before[: offset * size]
    assert log.epochs.entries == tuple((e, 10 * e) for e in range(4) if 10 * e < offset)
    found = find_max_timestamp(log)
    assert (found and found.timestamp) == (NOW + offset - 1 if offset else None)
    append(log, plain(count=2), epoch=7)
    assert offsets_of(read_from(log, 0)) == list(range(offset + 2))
    facts = stored(log), log.epochs.entries, log.segments.bases
    again = disk.open()
    assert (stored(again), again.epochs.entries, again.segments.bases) == facts


def test_nothing_to_cut_still_drops_epochs_that_begin_at_the_end(log: Log) -> None:
    log.assign_epoch(5)
    assert log.epochs.latest_epoch == 5
    assert not truncate_to(log, 40, NOW, never())
    assert log.epochs.latest_epoch == 3
    assert not truncate_to(log, 99, NOW, never())
    assert log.log_end_offset == 40


def test_an_offset_within_a_batch_takes_the_whole_batch(disk: LogOnDisk) -> None:
    log = disk.open()
    append(log, plain(count=3))
    append(log, plain(count=3))
    truncate_to(log, 4, NOW, never())
    assert offsets_of(stored(log)) == [0, 1, 2]
    assert log.log_end_offset == 3


def test_the_recovery_point_is_lowered_durably_before_anything_is_cut(log: Log) -> None:
    flush_now(log, NOW)
    assert log.recovery_point == 40
    seen = []
    truncate_to(log, 15, NOW, lambda: seen.append((log.recovery_point, len(offsets_of(stored(log))))))
    assert seen == [(15, 40)]


def test_a_flush_that_began_before_a_truncation_says_nothing_after_it(log: Log) -> None:
    job = start_flush(log)
    truncate_to(log, 15, NOW, never())
    for _ in range(30):
        append(log, epoch=9)
    job.run(log.files)
    finish_flush(log, job, NOW)
    assert log.recovery_point == 0


def test_producers_and_aborted_transactions_are_as_they_were_at_the_offset(disk: LogOnDisk) -> None:
    log = disk.open()
    known = {}
    for n in range(30):
        known[log.log_end_offset] = decode(log)
        append(log, batch(Record(None, b"v", NOW), producer=(9, 0), sequence=n, attributes=TRANSACTIONAL))
        known[log.log_end_offset] = decode(log)
        marker = encode_marker(
            EndTransactionMarker(MarkerType.ABORT, 0), producer_id=9, producer_epoch=0, timestamp=NOW
        )
        log.append_as_leader(marker, 0, NOW, from_coordinator=True)
    for offset in (55, 54, 37, 20, 3):
        truncate_to(log, offset, NOW, never())
        assert decode(log) == known[offset]


def decode(log: Log) -> tuple[object, ...]:
    producers = {pid: (e.last_sequence, e.last_offset, e.txn_first_offset) for pid, e in log.producers.entries.items()}
    aborted = [entry for segment in log.segments for entry in segment.txn_index.entries()]
    return producers, aborted, log.producers.first_unstable_offset is not None and log.log_end_offset % 2


@pytest.mark.parametrize("offset", [0, 5, 40, 1000])
def test_starting_again_at_an_offset(disk: LogOnDisk, log: Log, offset: int) -> None:
    truncate_fully(log, offset, NOW, never())
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (offset, offset, offset)
    assert log.epochs.entries == ()
    assert {f.stem for f in disk.path.glob("*.log")} == {f"{offset:020d}"}
    append(log, epoch=4)
    assert offsets_of(read_from(disk.open(), offset)) == [offset]
