"""A file layer that remembers every change, and the states in which a crash may leave the disk.

Changes of names take effect in their order; those before the last sync of a directory are durable, of the later ones any
first part may have reached the disk. Changes of content are durable once their file was synced; of the later ones any may
be lost, and the last one may be torn.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from mmap import ACCESS_DEFAULT, mmap
from pathlib import Path
from typing import Any

from tidelog.broker.log.files import Files


@dataclass(frozen=True)
class Change:
    """One entry of the journal. Content: write, resize, sync. Names: create, rename, unlink, mkdir, rmdir, sync_dir."""

    kind: str
    inode: int = -1
    position: int = 0
    data: bytes = b""
    path: str = ""
    to: str = ""

    @property
    def is_content(self) -> bool:
        return self.kind in ("write", "resize")

    @property
    def is_name(self) -> bool:
        return self.kind in ("create", "rename", "unlink", "mkdir", "rmdir")


class _JournalMap(mmap):
    """Tells the journal what was written through it, at the latest when it is closed."""

    collect: Callable[[], None]

    def close(self) -> None:
        self.collect()
        super().close()


class JournalFiles(Files):
    """The real file system under one root, with a journal of everything that happened there."""

    def __init__(self) -> None:
        self.journal: list[Change] = []
        self._names: dict[str, int] = {}
        self._inodes: dict[int, int] = {}
        self._maps: dict[_JournalMap, tuple[int, bytes]] = {}
        self._last_inode = 0
        for name in ("pwrite", "sync", "truncate", "close", "unlink", "rename", "rmdir"):
            setattr(self, name, getattr(self, f"_{name}"))

    def _log(self, kind: str, **fields: Any) -> None:
        self._collect()
        self.journal.append(Change(kind, **fields))

    def _collect(self) -> None:
        for mapped, (inode, before) in list(self._maps.items()):
            if mapped.closed:
                del self._maps[mapped]
                continue
            now = bytes(mapped)
            if now != before:
                at = next(n for n, (a, b) in enumerate(zip(before, now, strict=True)) if a != b)
                end = len(now) - next(n for n, (a, b) in enumerate(zip(before[::-1], now[::-1], strict=True)) if a != b)
                self.journal.append(Change("write", inode, at, now[at:end]))
                self._maps[mapped] = (inode, now)

    def open(self, path: str, *, create: bool = False, readonly: bool = False) -> int:
        is_new = create and path not in self._names
        fd = super().open(path, create=create, readonly=readonly)
        if is_new:
            self._last_inode += 1
            self._names[path] = self._last_inode
            self._log("create", inode=self._last_inode, path=path)
        self._inodes[fd] = self._names[path]
        return fd

    def map(self, fd: int, size: int, *, writable: bool) -> mmap:
        if not writable:
            return super().map(fd, size, writable=False)
        made = _JournalMap(fd, size, access=ACCESS_DEFAULT)
        made.collect = self._collect
        self._maps[made] = (self._inodes[fd], bytes(made))
        return made

    def preallocate(self, fd: int, position: int, size: int) -> None:
        self._collect()
        super().preallocate(fd, position, size)

    def _pwrite(self, fd: int, data: Any, position: int) -> int:
        self._log("write", inode=self._inodes[fd], position=position, data=bytes(data))
        return os.pwrite(fd, data, position)

    def _sync(self, fd: int) -> None:
        self._log("sync", inode=self._inodes[fd])

    def _truncate(self, fd: int, size: int) -> None:
        self._log("resize", inode=self._inodes[fd], position=size)
        os.ftruncate(fd, size)

    def _close(self, fd: int) -> None:
        self._collect()
        os.close(fd)

    def _unlink(self, path: str) -> None:
        Path(path).unlink()
        del self._names[path]
        self._log("unlink", path=path)

    def _rename(self, path: str, to: str) -> None:
        Path(path).replace(to)
        for name in [n for n in self._names if n == path or n.startswith(path + "/")]:
            self._names[to + name[len(path) :]] = self._names.pop(name)
        self._log("rename", path=path, to=to)

    def _rmdir(self, path: str) -> None:
        Path(path).rmdir()
        self._log("rmdir", path=path)

    def mkdir(self, path: str) -> None:
        if not Path(path).exists():
            self._log("mkdir", path=path)
        super().mkdir(path)

    def sync_dir(self, path: str) -> None:
        self._log("sync_dir", path=path)


@dataclass
class Disk:
    """Names and contents at one moment."""

    names: dict[str, int] = field(default_factory=dict)
    directories: set[str] = field(default_factory=set)
    contents: dict[int, bytearray] = field(default_factory=dict)

    def apply_name(self, change: Change) -> None:
        match change.kind:
            case "create":
                self.names[change.path] = change.inode
            case "unlink":
                self.names.pop(change.path, None)
            case "mkdir":
                self.directories.add(change.path)
            case "rmdir":
                self.directories.discard(change.path)
            case "rename":
                for name in [n for n in self.names if n == change.path or n.startswith(change.path + "/")]:
                    self.names[change.to + name[len(change.path) :]] = self.names.pop(name)
                if change.path in self.directories:
                    self.directories.remove(change.path)
                    self.directories.add(change.to)

    def apply_content(self, change: Change) -> None:
        content = self.contents.setdefault(change.inode, bytearray())
        if change.kind == "resize":
            del content[change.position :]
            content.extend(bytes(change.position - len(content)))
            return
        end = change.position + len(change.data)
        content.extend(bytes(max(end - len(content), 0)))
        content[change.position : end] = change.data

    def write_to(self, root: Path, old_root: str) -> None:
        """Make real files of it."""
        for directory in sorted(self.directories):
            (root / directory.removeprefix(old_root).lstrip("/")).mkdir(parents=True, exist_ok=True)
        for name, inode in self.names.items():
            path = root / name.removeprefix(old_root).lstrip("/")
            if path.parent.exists():
                path.write_bytes(self.contents.get(inode, b""))

    def key(self) -> tuple[object, ...]:
        files = tuple(sorted((name, bytes(self.contents.get(inode, b""))) for name, inode in self.names.items()))
        return files, tuple(sorted(self.directories))


def crash_states(journal: list[Change]) -> Iterator[Disk]:
    """What may be on the disk if the machine stops after the last entry of the journal."""
    names = [change for change in journal if change.is_name or change.kind == "sync_dir"]
    durable_names = max((n for n, c in enumerate(names, 1) if c.kind == "sync_dir"), default=0)
    synced: dict[int, int] = {c.inode: n for n, c in enumerate(journal) if c.kind == "sync"}
    contents = [(n, change) for n, change in enumerate(journal) if change.is_content]
    pending = [n for n, change in contents if n > synced.get(change.inode, -1)]
    of_inode: dict[int, list[int]] = {}
    for n in pending:
        of_inode.setdefault(journal[n].inode, []).append(n)

    def state(name_count: int, lost: set[int], torn: tuple[int, int] | None = None) -> Disk:
        disk = Disk()
        for change in names[:name_count]:
            disk.apply_name(change)
        for n, change in contents:
            if torn is not None and n == torn[0]:
                disk.apply_content(Change("write", change.inode, change.position, change.data[: torn[1]]))
            elif n not in lost:
                disk.apply_content(change)
        return disk

    everything = set(pending)
    for name_count in sorted({durable_names, (durable_names + len(names)) // 2, len(names)}):
        yield state(name_count, set())
        yield state(name_count, everything)
    for numbers in of_inode.values():
        yield state(len(names), set(numbers))
        yield state(len(names), everything - set(numbers))
        yield state(len(names), {numbers[0]})
    if pending and journal[pending[-1]].kind == "write":
        for cut in {1, len(journal[pending[-1]].data) // 2, len(journal[pending[-1]].data) - 1}:
            yield state(len(names), set(), (pending[-1], cut))
