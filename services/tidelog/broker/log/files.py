"""Every file operation of the log in one place, so that a test can make any of them fail, tear or be forgotten.

The operations of the hot path are the functions of `os` themselves: they cost nothing more for being here.
"""

import ctypes
import os
from collections.abc import Callable
from contextlib import contextmanager
from mmap import ACCESS_DEFAULT, ACCESS_READ, mmap
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidelog.kafka.records.header import Buffer


_FALLOC_FL_KEEP_SIZE = 1


class FileInfo(NamedTuple):
    """One entry of a directory."""

    name: str
    size: int
    modified_ms: int
    is_dir: bool


class Files:
    """The real file system."""

    pread: Callable[[int, int, int], bytes] = staticmethod(os.pread)
    pwrite: "Callable[[int, Buffer, int], int]" = staticmethod(os.pwrite)
    preadv: "Callable[[int, list[memoryview], int], int]" = staticmethod(os.preadv)
    sync: Callable[[int], None] = staticmethod(os.fdatasync)
    truncate: Callable[[int, int], None] = staticmethod(os.ftruncate)
    close: Callable[[int], None] = staticmethod(os.close)
    unlink: Callable[[str], None] = staticmethod(os.unlink)
    rename: Callable[[str, str], None] = staticmethod(os.replace)
    rmdir: Callable[[str], None] = staticmethod(os.rmdir)

    def open(self, path: str, *, create: bool = False, readonly: bool = False) -> int:
        flags = os.O_RDONLY if readonly else os.O_RDWR
        return os.open(path, flags | os.O_CLOEXEC | (os.O_CREAT if create else 0), 0o644)

    def is_cached(self, fd: int, position: int) -> bool:
        """Whether a byte of a file can be read without waiting. File systems that cannot tell count as fast."""
        try:
            return os.preadv(fd, [bytearray(1)], position, os.RWF_NOWAIT) == 1
        except BlockingIOError:
            return False
        except OSError:
            return True

    def will_need(self, fd: int, position: int, size: int) -> None:
        """Ask for a part of a file to be brought into memory, without waiting for it."""
        os.posix_fadvise(fd, position, size, os.POSIX_FADV_WILLNEED)

    def preallocate(self, fd: int, position: int, size: int) -> None:
        """Give real disk space to a part of a file; OSError if there is none."""
        os.posix_fallocate(fd, position, size)

    def allocate_ahead(self, fd: int, position: int, size: int) -> None:
        """Give disk space to a part of a file that keeps its length. A file system that cannot do that is none the worse."""
        fallocate = getattr(ctypes.CDLL(None, use_errno=True), "fallocate", None)
        if fallocate is not None:
            fallocate(fd, _FALLOC_FL_KEEP_SIZE, ctypes.c_int64(position), ctypes.c_int64(size))

    def map(self, fd: int, size: int, *, writable: bool) -> mmap:
        return mmap(fd, size, access=ACCESS_DEFAULT if writable else ACCESS_READ)

    def mkdir(self, path: str) -> None:
        os.makedirs(path, mode=0o755, exist_ok=True)  # noqa: PTH103 - paths are plain text in this package

    def sync_dir(self, path: str) -> None:
        """Make created, renamed and removed names of a directory durable."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def sync_filesystem(self, path: str) -> bool:
        """Make everything durable on the file system that holds a directory; False if the system cannot do that."""
        syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
        if syncfs is None:
            return False
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if syncfs(fd):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
        finally:
            os.close(fd)
        return True

    def size(self, path: str) -> int | None:
        """The size of a file, or None if there is none."""
        try:
            return os.stat(path).st_size  # noqa: PTH116
        except FileNotFoundError:
            return None

    def set_modified(self, path: str, modified_ms: int) -> None:
        os.utime(path, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))

    def listing(self, path: str) -> list[FileInfo]:
        """What is in a directory, in no order. A file that vanishes meanwhile is left out."""
        found = []
        with os.scandir(path) as entries:
            for entry in entries:
                try:
                    status = entry.stat()
                except FileNotFoundError:
                    continue
                found.append(FileInfo(entry.name, status.st_size, status.st_mtime_ns // 1_000_000, entry.is_dir()))
        return found

    @contextmanager
    def opened(self, path: str, *, create: bool = False, readonly: bool = False) -> "Iterator[int]":
        fd = self.open(path, create=create, readonly=readonly)
        try:
            yield fd
        finally:
            self.close(fd)

    def read_file(self, path: str) -> bytes | None:
        """All of a small file, or None if there is none."""
        size = self.size(path)
        if size is None:
            return None
        with self.opened(path, readonly=True) as fd:
            return self.pread(fd, size, 0)

    def write_whole(self, fd: int, data: "Buffer", position: int) -> None:
        """Write until nothing is left: a disk that fills up accepts a part first and refuses the rest."""
        view = memoryview(data)
        while view:
            written = self.pwrite(fd, view, position)
            view, position = view[written:], position + written

    def replace_file(self, path: str, data: bytes, *, durable: bool = True) -> None:
        """Put a file in the place of another one: a reader finds the old or the new content and never a part."""
        temporary = path + ".tmp"
        with self.opened(temporary, create=True) as fd:
            self.truncate(fd, 0)
            self.write_whole(fd, data, 0)
            if durable:
                self.sync(fd)
        self.rename(temporary, path)
        if durable:
            self.sync_dir(path.rpartition("/")[0])

    def create_file(self, path: str, data: bytes = b"") -> None:
        """Write a file whose former content, if any, is worth nothing. A stop may leave a part of the new one."""
        with self.opened(path, create=True) as fd:
            if data:
                self.truncate(fd, 0)
                self.write_whole(fd, data, 0)

    def sync_file(self, path: str) -> bool:
        """Make the content of a file durable; False if the file is gone."""
        try:
            with self.opened(path, readonly=True) as fd:
                self.sync(fd)
        except FileNotFoundError:
            return False
        return True

    def unlink_if_there(self, path: str) -> bool:
        try:
            self.unlink(path)
        except FileNotFoundError:
            return False
        return True

    def remove_tree(self, path: str) -> None:
        """Remove a directory of files and everything in it."""
        for entry in self.listing(path):
            if entry.is_dir:
                self.remove_tree(f"{path}/{entry.name}")
            else:
                self.unlink_if_there(f"{path}/{entry.name}")
        self.rmdir(path)
