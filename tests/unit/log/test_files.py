"""What the file layer does beyond the calls of the system that it passes on."""

import ctypes
import errno
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from tidelog.broker.log.files import Files


class CountingFiles(Files):
    """Counts the syncs."""

    def __init__(self) -> None:
        self.syncs = 0
        self.sync = self._sync

    def _sync(self, fd: int) -> None:
        self.syncs += 1
        os.fdatasync(fd)


def test_writing_back_is_no_sync(tmp_path: Path) -> None:
    files = CountingFiles()
    with files.opened(str(tmp_path / "file"), create=True) as fd:
        files.write_whole(fd, bytes(100_000), 0)
        files.write_back(fd, 0, 100_000)
    assert files.syncs == 0


def test_a_failure_to_write_back_is_an_error() -> None:
    files = CountingFiles()
    with pytest.raises(OSError, match="Bad file descriptor") as caught:
        files.write_back(-1, 0, 4096)
    assert caught.value.errno == errno.EBADF


def _not_there(*_: object) -> int:
    ctypes.set_errno(errno.ENOSYS)
    return -1


@pytest.mark.parametrize("library", [SimpleNamespace(), SimpleNamespace(sync_file_range=_not_there)])
def test_a_system_that_cannot_write_back_syncs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: SimpleNamespace
) -> None:
    files = CountingFiles()
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: library)
    with files.opened(str(tmp_path / "file"), create=True) as fd:
        files.write_whole(fd, b"x", 0)
        files.write_back(fd, 0, 1)
    assert files.syncs == 1
