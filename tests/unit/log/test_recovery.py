"""Opening a log again: after an orderly stop, after a crash, with damaged or missing files."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.batches import at_offset, plain
from tests.support.logs import NOW, SMALL, LogOnDisk, append, offsets_of, read_from, stored
from tidelog.broker.log.log import Log


@pytest.fixture
def disk(tmp_path: Path) -> LogOnDisk:
    return LogOnDisk(tmp_path / "t-0")


@pytest.fixture
def log(disk: LogOnDisk) -> Log:
    log = disk.open()
    for n in range(40):
        append(log, plain(timestamp=NOW + n), epoch=n // 10)
    return log


def facts(log: Log) -> tuple[object, ...]:
    return log.log_start_offset, log.log_end_offset, log.segments.bases, log.epochs.entries, stored(log)


def index_files(disk: LogOnDisk) -> dict[str, bytes]:
    return {f.name: f.read_bytes() for f in disk.path.iterdir() if f.suffix in (".index", ".timeindex")}


def last_file(disk: LogOnDisk, suffix: str = ".log") -> Path:
    return max(disk.path.glob(f"*{suffix}"))


@pytest.mark.parametrize("was_clean", [True, False])
def test_a_stopped_log_opens_as_it_was(disk: LogOnDisk, log: Log, was_clean: bool) -> None:
    before = facts(log)
    assert log.close()
    indexes = index_files(disk)
    assert all(len(data) < 100 for data in indexes.values())
    again = disk.open(was_clean=was_clean)
    assert facts(again) == before
    assert again.recovery_point == (40 if was_clean else 0)
    assert index_files(disk) == indexes, "recovery makes the indexes as they were"
    append(again)
    assert offsets_of(read_from(again, 0)) == list(range(41))


def test_a_clean_log_that_is_only_opened_writes_nothing_when_it_is_closed(disk: LogOnDisk, log: Log) -> None:
    log.close()
    again = disk.open(was_clean=True)
    files = {f.name: f.stat().st_mtime_ns for f in disk.path.iterdir()}
    assert not again.close()
    assert {f.name: f.stat().st_mtime_ns for f in disk.path.iterdir()} == files


def test_a_log_that_was_left_without_a_word_is_recovered(disk: LogOnDisk, log: Log) -> None:
    before = facts(log)
    again = disk.open(recovery_point=0)
    assert facts(again) == before
    assert again.recovery_point == 0
    assert disk.open(recovery_point=25).recovery_point == 25
    assert disk.open(recovery_point=99).recovery_point == 40


@pytest.mark.parametrize(
    "tail", [os.urandom(200), bytes(5), bytes(200), at_offset(plain(), 40)[:-1], at_offset(plain(), 3)]
)
def test_what_follows_the_last_good_batch_is_cut_off(disk: LogOnDisk, log: Log, tail: bytes) -> None:
    before = facts(log)
    with last_file(disk).open("ab") as file:
        file.write(tail)
    again = disk.open()
    assert facts(again) == before
    assert append(again).first_offset == 40


def test_a_whole_batch_that_was_written_but_not_told_is_kept(disk: LogOnDisk, log: Log) -> None:
    with last_file(disk).open("ab") as file:
        file.write(at_offset(plain(), 40, leader_epoch=3))
    assert disk.open().log_end_offset == 41


def test_old_bytes_behind_newer_ones_are_cut_off(disk: LogOnDisk, log: Log) -> None:
    with last_file(disk).open("ab") as file:
        file.write(at_offset(plain(), 40, leader_epoch=1))
    assert disk.open().log_end_offset == 40


def test_any_flipped_byte_of_the_last_segment_is_never_served(disk: LogOnDisk, log: Log) -> None:
    whole = stored(log)
    file = last_file(disk)
    data, begin, epochs = file.read_bytes(), int(file.stem), (disk.path / "leader-epoch-checkpoint").read_bytes()
    batch_size = len(plain())
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 0x55
        file.write_bytes(damaged)
        (disk.path / "leader-epoch-checkpoint").write_bytes(epochs)
        again = disk.open(recovery_point=begin)
        kept = stored(again)
        assert kept == whole[: len(whole) - len(data) + at // batch_size * batch_size]
        again.close_files()


@pytest.mark.parametrize("number", range(5))
def test_a_bad_batch_in_an_older_segment_ends_the_log_there(disk: LogOnDisk, log: Log, number: int) -> None:
    segment = log.segments[1]
    position = number * len(plain())
    whole = stored(log)
    path = disk.path / f"{segment.base_offset:020d}.log"
    data = bytearray(path.read_bytes())
    data[position + 62] ^= 1
    path.write_bytes(data)
    again = disk.open()
    assert again.log_end_offset == segment.base_offset + number
    assert stored(again) == whole[: log.segments[0].size + position]
    assert len(again.segments) == 2
    assert append(again, epoch=9).first_offset == segment.base_offset + number
    assert offsets_of(read_from(again, 0)) == list(range(segment.base_offset + number + 1))


def test_a_lost_end_of_an_older_segment_ends_the_log_there(disk: LogOnDisk, log: Log) -> None:
    """Its last batches were not synced, while a later segment was."""
    path = disk.path / f"{log.segments[1].base_offset:020d}.log"
    with path.open("r+b") as file:
        file.truncate(3 * len(plain()))
    again = disk.open()
    assert again.log_end_offset == log.segments[1].base_offset + 3


def test_gaps_of_a_compacted_log_are_kept(disk: LogOnDisk) -> None:
    disk.config = replace(SMALL, compact=True)
    log = disk.open()
    for n in range(30):
        log.append_as_follower(at_offset(plain(), n * 10), NOW)
    before = facts(log)
    assert facts(disk.open()) == before


@pytest.mark.parametrize("was_clean", [True, False])
def test_lost_indexes_are_made_again(disk: LogOnDisk, log: Log, was_clean: bool) -> None:
    before = facts(log)
    log.close()
    indexes = index_files(disk)
    for name in indexes:
        (disk.path / name).unlink()
    assert facts(disk.open(was_clean=was_clean, recovery_point=40)) == before
    assert index_files(disk) == indexes


@pytest.mark.parametrize("junk", [bytes(48), b"\xff" * 24])
def test_senseless_indexes_before_the_recovery_point_are_made_again(disk: LogOnDisk, log: Log, junk: bytes) -> None:
    log.close()
    indexes = index_files(disk)
    name = f"{log.segments[1].base_offset:020d}"
    (disk.path / f"{name}.index").write_bytes(junk)
    again = disk.open(recovery_point=40)
    assert index_files(disk) == indexes
    assert offsets_of(read_from(again, 0)) == list(range(40))


def test_leftovers_are_removed(disk: LogOnDisk, log: Log) -> None:
    log.close()
    names = disk.names()
    orphans = [f"{99:020d}{suffix}" for suffix in (".index", ".timeindex", ".txnindex")]
    for name in (*orphans, f"{3:020d}.log.deleted", f"{3:020d}.log.cleaned", "leader-epoch-checkpoint.tmp"):
        (disk.path / name).write_bytes(b"x" * 48)
    disk.open(was_clean=True)
    assert disk.names() == names


def test_a_start_offset_beyond_the_end_drops_everything(disk: LogOnDisk, log: Log) -> None:
    again = disk.open(log_start_offset=100)
    assert facts(again) == (100, 100, (100,), (), b"")
    assert append(again, epoch=9).first_offset == 100


def test_a_start_offset_within_the_log(disk: LogOnDisk, log: Log) -> None:
    log.close()
    again = disk.open(log_start_offset=15, was_clean=True, high_watermark=33)
    assert (again.log_start_offset, again.high_watermark, again.log_end_offset) == (15, 33, 40)
    assert again.epochs.entries == ((1, 15), (2, 20), (3, 30))
    assert disk.open(was_clean=True, high_watermark=77).high_watermark == 40


@pytest.mark.parametrize("content", [b"\0\0\0\0", b"0\n9\n0 0\n", b"0\n2\n1 5\n0 9\n", b"7\n0\n"])
def test_damaged_epochs_are_read_from_the_log_again(disk: LogOnDisk, log: Log, content: bytes) -> None:
    before = facts(log)
    log.close()
    (disk.path / "leader-epoch-checkpoint").write_bytes(content)
    assert facts(disk.open(was_clean=True, recovery_point=40)) == before


def test_an_interrupted_swap_is_finished(disk: LogOnDisk, log: Log) -> None:
    """The first two segments were cleaned into one that keeps half of the records."""
    end = log.segments[2].base_offset
    log.close()
    kept = b"".join(at_offset(plain(timestamp=NOW + n), n) for n in range(0, end, 2))
    swap = disk.path / "00000000000000000000.log.swap"
    swap.write_bytes(kept)
    (disk.path / "00000000000000000000.txnindex").write_bytes(b"of the old segment")
    disk.config = replace(SMALL, compact=True)
    again = disk.open(was_clean=True)
    assert offsets_of(read_from(again, 0)) == [*range(0, end, 2), *range(end, 40)]
    assert log.segments[1].base_offset not in again.segments.bases
    assert again.segments.first.txn_index.entries() == []
    assert not swap.exists()


def test_a_swap_that_had_not_got_far_enough_is_thrown_away(disk: LogOnDisk, log: Log) -> None:
    before = facts(log)
    log.close()
    names = disk.names()
    (disk.path / "00000000000000000000.log.swap").write_bytes(b"whatever")
    (disk.path / "00000000000000000000.index.cleaned").write_bytes(b"")
    assert facts(disk.open(was_clean=True)) == before
    assert disk.names() == names
