"""When a log is made durable, what is synced, and the thread that does it."""

import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from queue import Queue
from threading import Event, get_ident

import pytest

from tests.support.logs import NOW, SMALL, LogOnDisk, append
from tidelog.broker.log.files import Files
from tidelog.broker.log.flush import flush_is_due, flush_now, start_flush
from tidelog.broker.log.flusher import Flusher
from tidelog.broker.log.log import Log
from tidelog.broker.log.trash import Removal

Post = Callable[[Callable[[], None]], None]


@pytest.fixture
def disk(tmp_path: Path) -> LogOnDisk:
    return LogOnDisk(tmp_path / "t-0")


@pytest.fixture
def log(disk: LogOnDisk) -> Log:
    return disk.open(was_clean=True)


def test_it_is_due_by_messages_by_time_and_after_a_roll(log: Log) -> None:
    assert not flush_is_due(log, NOW + 10**9)
    append(log)
    assert not flush_is_due(log, NOW + 10**9)
    log.config = replace(SMALL, flush_ms=1000)
    assert not flush_is_due(log, NOW + 999)
    assert flush_is_due(log, NOW + 1000)
    log.config = replace(SMALL, flush_messages=3)
    append(log)
    assert not flush_is_due(log, NOW)
    append(log)
    assert flush_is_due(log, NOW)
    log.config = SMALL
    log.roll(NOW)
    assert flush_is_due(log, NOW)
    flush_now(log, NOW)
    assert not flush_is_due(log, NOW)
    assert log.recovery_point == 3


def test_everything_below_the_recovery_point_is_synced(disk: LogOnDisk, log: Log) -> None:
    for _ in range(30):
        append(log)
    synced = {Path(path).name for path in start_flush(log).paths}
    assert synced == disk.names()
    flush_now(log, NOW)
    append(log)
    active = f"{log.segments.active.base_offset:020d}"
    assert {Path(path).name for path in start_flush(log).paths} == {
        f"{active}.log", f"{active}.index", f"{active}.timeindex", "leader-epoch-checkpoint"}  # fmt: skip


def test_a_flush_of_a_segment_that_was_deleted_meanwhile(disk: LogOnDisk, log: Log) -> None:
    append(log)
    job = start_flush(log)
    for path in job.paths:
        Path(path).unlink()
    job.run(disk.files)


class Owner:
    """The thread that owns the logs: it runs what other threads post."""

    def __init__(self) -> None:
        self.inbox: Queue[Callable[[], None]] = Queue()

    def run_one(self) -> None:
        self.inbox.get(timeout=10)()


def test_a_thread_flushes_and_the_owner_learns_of_it(log: Log) -> None:
    owner, done = Owner(), list[OSError | None]()
    flusher = Flusher(log.files, owner.inbox.put)
    append(log)
    assert flusher.flush(log, NOW + 5, done.append)
    append(log)
    assert log.recovery_point == 0
    owner.run_one()
    assert (log.recovery_point, log.last_flush_ms, done) == (1, NOW + 5, [None])
    flusher.close()


def test_one_flush_of_a_log_at_a_time(log: Log) -> None:
    owner, may_go, threads = Owner(), Event(), list[int]()

    class SlowFiles(Files):
        def sync_dir(self, path: str) -> None:
            threads.append(get_ident())
            may_go.wait(10)

    flusher = Flusher(SlowFiles(), owner.inbox.put)
    append(log)
    assert flusher.flush(log, NOW)
    assert not flusher.flush(log, NOW)
    append(log)
    assert log.log_end_offset == 2, "appends go on meanwhile"
    may_go.set()
    owner.run_one()
    assert flusher.flush(log, NOW)
    owner.run_one()
    assert log.recovery_point == 2
    assert get_ident() not in threads
    flusher.close()


def test_a_failed_sync_takes_the_directory_offline(disk: LogOnDisk, log: Log) -> None:
    class DeadFiles(Files):
        def sync_dir(self, path: str) -> None:
            raise OSError(errno.EIO, "Input/output error")

    owner, done = Owner(), list[OSError | None]()
    flusher = Flusher(DeadFiles(), owner.inbox.put)
    append(log)
    flusher.flush(log, NOW, done.append)
    owner.run_one()
    assert log.is_offline
    assert len(disk.errors) == len(done) == 1
    assert log.recovery_point == 0
    assert not flusher.flush(log, NOW)
    flusher.close()


def test_a_log_that_is_deleted_while_it_is_synced_takes_nothing_with_it(disk: LogOnDisk, log: Log) -> None:
    class GoneFiles(Files):
        def sync_dir(self, path: str) -> None:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)

    owner, done = Owner(), list[OSError | None]()
    flusher = Flusher(GoneFiles(), owner.inbox.put)
    append(log)
    flusher.flush(log, NOW, done.append)
    log.is_offline = True
    owner.run_one()
    assert (disk.errors, len(done)) == ([], 1)
    flusher.close()


def test_removals_run_in_the_thread(tmp_path: Path) -> None:
    owner, errors = Owner(), list[OSError]()
    (tmp_path / "x").write_text("x")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "y").write_text("y")
    flusher = Flusher(Files(), owner.inbox.put)
    flusher.remove(Removal(NOW, files=(f"{tmp_path}/x",), directories=(f"{tmp_path}/d",)), errors.append)
    flusher.remove(Removal(NOW, directories=(f"{tmp_path}/none",)), errors.append)
    flusher.remove(Removal(NOW, files=(f"{tmp_path}",)), errors.append)
    flusher.close()
    assert list(tmp_path.iterdir()) == []
    owner.run_one()
    assert len(errors) == 1
