"""Idempotent and transactional producers: sequences, epochs, markers, the last stable offset, snapshots."""

import struct
from dataclasses import replace
from pathlib import Path

import pytest
from crc32c import crc32c

from tests.support.batches import batch, plain
from tests.support.logs import NOW, SMALL, LogOnDisk, append, stored
from tidelog.broker.log.log import Appended, Log
from tidelog.broker.log.producer_snapshot import CorruptSnapshotError, decode_snapshot, encode_snapshot
from tidelog.broker.log.reading import Isolation, aborted_transactions, fetch
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.control import EndTransactionMarker, MarkerType, encode_marker
from tidelog.kafka.records.header import SEQUENCE_MAX, TRANSACTIONAL
from tidelog.kafka.records.record import Record

OUT_OF_ORDER, STALE = KafkaCode.OUT_OF_ORDER_SEQUENCE_NUMBER, KafkaCode.INVALID_PRODUCER_EPOCH


@pytest.fixture
def disk(tmp_path: Path) -> LogOnDisk:
    return LogOnDisk(tmp_path / "t-0")


@pytest.fixture
def log(disk: LogOnDisk) -> Log:
    return disk.open()


def send(log: Log, sequence: int, count: int = 1, *, epoch: int = 0, pid: int = 9, txn: bool = False) -> Appended:
    records = [Record(None, b"v", NOW + sequence % 1000)] * count
    return append(
        log, batch(*records, producer=(pid, epoch), sequence=sequence, attributes=TRANSACTIONAL if txn else 0)
    )


def code(log: Log, sequence: int, count: int = 1, *, epoch: int = 0, pid: int = 9, txn: bool = False) -> KafkaCode:
    before = stored(log)
    with pytest.raises(KafkaError) as caught:
        send(log, sequence, count, epoch=epoch, pid=pid, txn=txn)
    assert stored(log) == before
    return caught.value.code


def end(log: Log, kind: MarkerType, *, pid: int = 9, epoch: int = 0, coordinator_epoch: int = 1) -> int:
    marker = encode_marker(
        EndTransactionMarker(kind, coordinator_epoch), producer_id=pid, producer_epoch=epoch, timestamp=NOW
    )
    return log.append_as_leader(marker, 0, NOW, from_coordinator=True).first_offset


def test_sequences_follow_each_other(log: Log) -> None:
    assert [send(log, s, c)[0] for s, c in ((0, 3), (3, 2), (5, 1))] == [0, 3, 5]
    assert code(log, 7) is OUT_OF_ORDER
    assert code(log, 4) is OUT_OF_ORDER
    assert send(log, 6)[0] == 6


def test_a_duplicate_gives_the_first_offset_and_time(log: Log) -> None:
    send(log, 0, 2)
    send(log, 2, 3)
    assert send(log, 2, 3) == (2, 4, NOW + 2, True)
    assert send(log, 0, 2) == (0, 1, NOW, True)
    assert log.log_end_offset == 5


def test_five_batches_are_remembered(log: Log) -> None:
    for n in range(7):
        send(log, n)
    assert [send(log, n)[0] for n in range(2, 7)] == list(range(2, 7))
    assert code(log, 1) is OUT_OF_ORDER


def test_an_overlap_that_is_no_duplicate(log: Log) -> None:
    send(log, 0, 3)
    assert code(log, 0, 2) is OUT_OF_ORDER
    assert code(log, 2, 2) is OUT_OF_ORDER


def test_a_producer_that_is_not_known_may_start_anywhere(log: Log) -> None:
    assert send(log, 77)[0] == 0
    assert code(log, 0) is OUT_OF_ORDER


def test_sequences_wrap(log: Log) -> None:
    send(log, SEQUENCE_MAX - 1, 3)
    assert code(log, 0) is OUT_OF_ORDER
    assert send(log, 1)[0] == 3
    assert send(log, SEQUENCE_MAX - 1, 3)[0] == 0
    other = send(log, SEQUENCE_MAX, pid=10)[0]
    assert send(log, 0, pid=10)[0] == other + 1


def test_epochs(log: Log) -> None:
    send(log, 0)
    assert code(log, 1, epoch=1) is OUT_OF_ORDER
    send(log, 0, epoch=1)
    assert code(log, 1, epoch=0) is STALE
    assert code(log, 0, epoch=0) is STALE
    assert send(log, 1, epoch=1)[0] == 2


def test_a_marker_without_data_changes_nothing_but_the_epoch(log: Log) -> None:
    end(log, MarkerType.ABORT, epoch=3)
    log.update_high_watermark(log.log_end_offset)
    assert log.last_stable_offset == 1
    assert log.segments.active.txn_index.entries() == []
    assert code(log, 0, epoch=2) is STALE
    assert code(log, 5, epoch=3) is OUT_OF_ORDER
    send(log, 0, epoch=3)


def test_the_last_stable_offset_waits_for_markers_and_the_high_watermark(log: Log) -> None:
    append(log)
    send(log, 0, txn=True)
    send(log, 0, pid=10, txn=True)
    log.update_high_watermark(3)
    assert (log.last_stable_offset, log.producers.has_open_transaction(9)) == (1, True)
    assert end(log, MarkerType.COMMIT) == 3
    assert log.last_stable_offset == 1, "the marker is not replicated yet"
    log.update_high_watermark(4)
    assert (log.last_stable_offset, log.producers.has_open_transaction(9)) == (2, False)
    end(log, MarkerType.ABORT, pid=10)
    log.update_high_watermark(5)
    assert log.last_stable_offset == 5


def test_only_aborted_transactions_are_indexed(disk: LogOnDisk, log: Log) -> None:
    append(log)
    send(log, 0, 2, txn=True)
    end(log, MarkerType.ABORT)
    send(log, 2, txn=True)
    end(log, MarkerType.COMMIT)
    assert log.segments.active.txn_index.entries() == [(9, 1, 3, 4)]
    assert (disk.path / "00000000000000000000.txnindex").stat().st_size == 34


def test_the_aborted_transactions_of_a_range(log: Log) -> None:
    for n in range(30):
        append(log)
        send(log, n, txn=True)
        end(log, MarkerType.ABORT if n % 2 else MarkerType.COMMIT)
    log.update_high_watermark(log.log_end_offset)
    assert len(log.segments) > 5
    aborted = [(9, 3 * n + 1, 3 * n + 2, 3 * n + 3) for n in range(1, 30, 2)]
    for start in range(90):
        for stop in (start + 1, start + 10, 90):
            found = aborted_transactions(log, start, stop)
            expected = [entry for entry in aborted if entry[2] >= start and entry[1] < stop]
            assert [e for e in found if e[1] < stop] == expected
    fetched = fetch(log, 0, 10**6, Isolation.COMMITTED)
    assert fetched.aborted is not None
    assert fetched.aborted[0] == aborted[0]


def test_a_batch_outside_of_the_open_transaction(log: Log) -> None:
    send(log, 0, txn=True)
    assert code(log, 1) is KafkaCode.INVALID_TXN_STATE
    assert send(log, 1, txn=True)[0] == 1


def test_fenced_markers(log: Log) -> None:
    send(log, 0, epoch=5, txn=True)
    with pytest.raises(KafkaError) as caught:
        end(log, MarkerType.ABORT, epoch=4)
    assert caught.value.code is STALE
    end(log, MarkerType.ABORT, epoch=5, coordinator_epoch=7)
    with pytest.raises(KafkaError) as caught:
        end(log, MarkerType.ABORT, epoch=5, coordinator_epoch=6)
    assert caught.value.code is KafkaCode.TRANSACTION_COORDINATOR_FENCED


def test_an_end_marker_of_the_same_epoch_keeps_the_sequences(log: Log) -> None:
    send(log, 0, txn=True)
    end(log, MarkerType.COMMIT)
    assert send(log, 0, txn=True).is_duplicate
    assert send(log, 1, txn=True)[0] == 2


def test_a_coordinator_writes_offsets_of_a_transaction_without_sequences(log: Log) -> None:
    data = batch(Record(b"k", b"v", NOW), producer=(9, 0), attributes=TRANSACTIONAL)
    for _ in range(2):
        log.append_as_leader(bytearray(data), 0, NOW, from_coordinator=True)
    assert log.producers.has_open_transaction(9)


def test_producers_survive_a_clean_stop_and_a_crash(disk: LogOnDisk, log: Log) -> None:
    for n in range(20):
        send(log, n, pid=9)
    send(log, 0, pid=10)
    send(log, 0, pid=30, txn=True)
    known = decode(log)
    log.close()
    clean = disk.open(was_clean=True)
    assert decode(clean) == known
    assert clean.producers.first_unstable_offset == log.producers.first_unstable_offset
    crashed = disk.open(recovery_point=3)
    assert decode(crashed) == known
    assert send(crashed, 20)[0] == log.log_end_offset


def decode(log: Log) -> dict[int, tuple[int, int, int, int]]:
    return {
        pid: (e.producer_epoch, e.last_sequence, e.last_offset, e.txn_first_offset)
        for pid, e in log.producers.entries.items()
    }


def test_silent_producers_are_forgotten_unless_a_transaction_is_open(log: Log) -> None:
    send(log, 0, pid=1)
    send(log, 0, pid=2, txn=True)
    send(log, 0, pid=5000)
    config = replace(SMALL, producer_id_expiration_ms=1000, permanent_producer_ids=range(5000, 5010))
    log.producers.expire(NOW + 1000, config)
    assert set(log.producers.entries) == {1, 2, 5000}
    log.producers.expire(NOW + 1001, config)
    assert set(log.producers.entries) == {2, 5000}


def test_a_snapshot_has_kafkas_bytes(log: Log) -> None:
    send(log, 0, 2)
    send(log, 2, 1)
    send(log, 3, 3)
    raw = encode_snapshot(log.producers.entries.values())
    version, crc, count = struct.unpack_from(">hIi", raw)
    assert (version, crc, count) == (1, crc32c(raw[6:]), 1)
    assert struct.unpack_from(">qhiqiqiq", raw, 10) == (9, 0, 5, 5, 2, NOW + 3, -1, -1)
    for at in range(len(raw)):
        damaged = bytearray(raw)
        damaged[at] ^= 1
        with pytest.raises(CorruptSnapshotError):
            decode_snapshot(bytes(damaged))
        with pytest.raises(CorruptSnapshotError):
            decode_snapshot(raw[:at])


def test_a_damaged_snapshot_is_replaced_by_an_older_one_and_the_log(disk: LogOnDisk, log: Log) -> None:
    for n in range(30):
        send(log, n)
    known = decode(log)
    log.close()
    newest = max(disk.path.glob("*.snapshot"))
    newest.write_bytes(newest.read_bytes()[:-1])
    assert decode(disk.open(was_clean=True)) == known
    assert not newest.exists()


def test_a_follower_learns_the_same(disk: LogOnDisk, log: Log, tmp_path: Path) -> None:
    log.config = replace(SMALL, segment_bytes=10**6)
    for n in range(3):
        send(log, n, txn=True)
        end(log, MarkerType.ABORT)
    append(log, plain())
    follower = LogOnDisk(tmp_path / "follower").open()
    follower.append_as_follower(stored(log), NOW)
    assert decode(follower) == decode(log)
    mine, theirs = ([e for s in x.segments for e in s.txn_index.entries()] for x in (follower, log))
    assert mine == theirs
