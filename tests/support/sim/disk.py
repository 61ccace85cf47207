"""A machine's disk: real files in a temporary directory, and what of them is lost when the power fails."""

import os
from pathlib import Path
from random import Random
from typing import Any

from tidelog.broker.log.files import Files

_LOG = ".log"


class Disk:
    """Knows how much of each log file is durable, and the durable content of files that were replaced without a sync."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.synced: dict[str, int] = {}
        self.durable: dict[str, bytes | None] = {}
        root.mkdir(parents=True)

    def lose_power(self, random: Random) -> None:
        """Of every log file any part that was not synced may be gone, from some position on."""
        for path in sorted(self.root.rglob(f"*{_LOG}")):
            size, synced = path.stat().st_size, self.synced.get(str(path), 0)
            if size > synced:
                os.truncate(path, random.randint(synced, size))
        for name, content in self.durable.items():
            path = Path(name)
            if content is not None and path.exists() and random.random() < 0.5:
                path.write_bytes(content)
        self.durable.clear()


class SimFiles(Files):
    """The files of one process: dead with it. Nothing waits for a real disk."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._paths: dict[int, str] = {}
        self.is_dead = False
        for name in ("pwrite", "sync", "truncate", "close", "unlink", "rename", "rmdir"):
            setattr(self, name, getattr(self, f"_{name}"))

    def open(self, path: str, *, create: bool = False, readonly: bool = False) -> int:
        self._check()
        fd = super().open(path, create=create, readonly=readonly)
        self._paths[fd] = path
        return fd

    def preallocate(self, fd: int, position: int, size: int) -> None:
        self._check()
        os.truncate(fd, max(os.fstat(fd).st_size, position + size))

    def mkdir(self, path: str) -> None:
        self._check()
        super().mkdir(path)

    def sync_dir(self, path: str) -> None:
        self._check()

    def sync_filesystem(self, path: str) -> bool:
        return False

    def replace_file(self, path: str, data: bytes, *, durable: bool = True) -> None:
        self._check()
        if durable:
            self._disk.durable.pop(path, None)
        elif path not in self._disk.durable:
            self._disk.durable[path] = self.read_file(path)
        super().replace_file(path, data, durable=durable)

    def _check(self) -> None:
        if self.is_dead:
            raise OSError("the process is gone")

    def _pwrite(self, fd: int, data: Any, position: int) -> int:
        self._check()
        return os.pwrite(fd, data, position)

    def _sync(self, fd: int) -> None:
        self._check()
        path = self._paths[fd]
        self._disk.synced[path] = os.fstat(fd).st_size
        self._disk.durable.pop(path, None)

    def _truncate(self, fd: int, size: int) -> None:
        self._check()
        os.ftruncate(fd, size)

    def _close(self, fd: int) -> None:
        os.close(fd)

    def _unlink(self, path: str) -> None:
        self._check()
        Path(path).unlink()
        self._disk.synced.pop(path, None)

    def _rename(self, path: str, to: str) -> None:
        self._check()
        Path(path).replace(to)

    def _rmdir(self, path: str) -> None:
        self._check()
        Path(path).rmdir()
