"""A file system that fails: at any call, by running full, in the middle of a write."""

import errno
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.batches import plain
from tests.support.logs import NOW, SMALL, LogOnDisk, append, offsets_of, read_from, stored
from tidelog.broker.log.config import LogConfig
from tidelog.broker.log.files import Files
from tidelog.broker.log.flush import flush_now
from tidelog.broker.log.log import Log
from tidelog.broker.log.retention import delete_old_segments
from tidelog.broker.log.truncation import truncate_to
from tidelog.kafka.errors import KafkaCode, KafkaError

CHANGING = ("open", "pwrite", "sync", "truncate", "unlink", "rename", "preallocate", "sync_dir")


class FaultyFiles(Files):
    """The n-th changing call fails, and all after it if the disk is gone for good."""

    def __init__(self, number: int, code: int, *, forever: bool = False, partial: bool = False) -> None:
        self.countdown = number
        self._code = code
        self._forever = forever
        self._partial = partial
        for name in CHANGING:
            setattr(self, name, self._guarded(name, getattr(self, name)))

    def _guarded(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*args: Any, **options: Any) -> Any:
            self.countdown -= 1
            if self.countdown == 0 or (self._forever and self.countdown < 0):
                if name == "pwrite" and self._partial:
                    os.pwrite(args[0], bytes(args[1])[: len(args[1]) // 2], args[2])
                raise OSError(self._code, os.strerror(self._code))
            return call(*args, **options)

        return guarded


def work(log: Log, acknowledged: list[int]) -> None:
    for n in range(30):
        acknowledged.append(append(log, plain(b"%d" % n, timestamp=NOW + n), epoch=n // 10).last_offset)
        if n % 10 == 5:
            flush_now(log, NOW)
        if n == 17:
            del acknowledged[15:]
            truncate_to(log, 15, NOW, lambda: None)
        if n == 22:
            log.update_high_watermark(15)
            log.config = replace(SMALL, retention_bytes=800)
            delete_old_segments(log, NOW)


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize("forever", [True, False])
def test_whichever_call_fails_the_log_stops_and_has_what_it_acknowledged(
    tmp_path: Path, code: int, forever: bool
) -> None:
    number = 0
    while True:
        number += 1
        disk = LogOnDisk(tmp_path / str(number))
        log = disk.open(was_clean=True)
        faulty = FaultyFiles(number, code, forever=forever, partial=number % 2 == 0)
        inject(log, faulty)
        acknowledged: list[int] = []
        try:
            work(log, acknowledged)
        except KafkaError as error:
            assert error.code is KafkaCode.KAFKA_STORAGE_ERROR  # noqa: PT017
        if faulty.countdown > 0:
            break
        check_after_failure(disk, log, acknowledged)
    assert number > 100


def inject(log: Log, faulty: FaultyFiles) -> None:
    log.files = faulty
    log.epochs._files = log.snapshots._files = faulty
    for segment in log.segments:
        segment._pwrite = faulty.pwrite
        segment._files = segment.offset_index._files = segment.time_index._files = segment.txn_index._files = faulty


def check_after_failure(disk: LogOnDisk, log: Log, acknowledged: list[int]) -> None:
    assert log.is_offline
    assert len(disk.errors) == 1
    with pytest.raises(KafkaError) as caught:
        append(log)
    assert caught.value.code is KafkaCode.KAFKA_STORAGE_ERROR
    again = disk.open(log_start_offset=log.log_start_offset)
    found = offsets_of(stored(again))
    assert found == list(range(found[0] if found else 0, again.log_end_offset))
    assert set(acknowledged) - set(range(log.log_start_offset)) <= set(found)
    assert offsets_of(read_from(again, again.log_start_offset)) == [o for o in found if o >= again.log_start_offset]


def test_a_write_that_fails_halfway_leaves_nothing_behind(tmp_path: Path) -> None:
    disk = LogOnDisk(tmp_path / "t-0")
    log = disk.open(was_clean=True)
    append(log)
    size = log.size
    faulty = FaultyFiles(1, errno.ENOSPC, partial=True)
    inject(log, faulty)
    with pytest.raises(KafkaError) as caught:
        append(log)
    assert caught.value.code is KafkaCode.KAFKA_STORAGE_ERROR
    assert (log.size, log.log_end_offset) == (size, 1)
    assert (disk.path / "00000000000000000000.log").stat().st_size == size


def test_short_writes_are_continued(tmp_path: Path) -> None:
    disk = LogOnDisk(tmp_path / "t-0")
    disk.files.pwrite = lambda fd, data, position: os.pwrite(fd, bytes(data)[:7], position)
    log = disk.open(was_clean=True)
    for _ in range(20):
        append(log)
    disk.files = Files()
    assert offsets_of(stored(disk.open())) == list(range(20))


@contextmanager
def file_size_limit(limit: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_real_file_that_cannot_grow(tmp_path: Path) -> None:
    """The kernel accepts the part that fits and refuses the rest."""
    disk = LogOnDisk(tmp_path / "t-0", LogConfig(segment_index_bytes=1200))
    log = disk.open(was_clean=True)
    with file_size_limit(5000):
        while log.size < 4600:
            append(log, plain(bytes(200)))
        with pytest.raises(KafkaError) as caught:
            append(log, plain(bytes(400)))
        assert caught.value.code is KafkaCode.KAFKA_STORAGE_ERROR
    assert log.log_end_offset > 10
    assert (disk.path / "00000000000000000000.log").stat().st_size == log.size
    assert offsets_of(stored(disk.open())) == list(range(log.log_end_offset))
