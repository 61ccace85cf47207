"""The open file of a segment, and parts of it that can be sent without being read."""

from typing import NamedTuple

from tidelog.broker.log.files import Files

_READ_BYTES = 256 * 1024
# What comes after a range is asked for too, up to this much: who reads old records mostly goes on with the next ones.
_READ_AHEAD_BYTES_MAX = 1024 * 1024
# The next fetch looks for its first batch around the end of this one's range.
_LOOKUP_BYTES = 16 * 1024
# Bytes are looked for at this distance. The kernel reads and drops pages in stretches that are seldom shorter.
_PROBE_BYTES = 256 * 1024
# Pages that were written less than half a minute ago are hardly ever dropped: by default they are not even on the disk.
_RECENT_MS = 10_000


class LogFile:
    """An open descriptor that is closed when neither its segment nor a part that is still to be sent needs it."""

    __slots__ = ("_mark", "fd", "files", "mark_due_ms", "path", "recent_from")

    def __init__(self, files: Files, path: str, *, create: bool = False, readonly: bool = False) -> None:
        self.files = files
        self.fd = -1
        self.path = path
        # Where the end of the file was some time ago: what lies behind was written since then and is in memory.
        self.recent_from = 2**63
        self._mark = 0
        self.mark_due_ms = 0
        self.fd = files.open(path, create=create, readonly=readonly)

    def mark_written(self, end: int, now_ms: int) -> None:
        """To be called before a write at the end of the file when `mark_due_ms` has come."""
        is_late = now_ms - self.mark_due_ms > _RECENT_MS
        self.recent_from = end if is_late else self._mark
        self._mark = end
        self.mark_due_ms = now_ms + _RECENT_MS

    def __del__(self) -> None:
        if self.fd >= 0:
            self.files.close(self.fd)


class FileRange(NamedTuple):
    """Batches in a file, of which the last may be cut.

    The range keeps the file open, also if its segment is closed or deleted meanwhile.
    """

    file: LogFile
    position: int
    size: int

    @property
    def fd(self) -> int:
        return self.file.fd

    def is_recent(self, now_ms: int) -> bool:
        """Whether it was written so lately that it is in memory; this asks nobody."""
        file = self.file
        return self.position >= file.recent_from and now_ms < file.mark_due_ms + _RECENT_MS

    def is_cached(self) -> bool:
        """Whether sending it will probably not wait for the disk: bytes here and there are in memory."""
        file, last = self.file, self.position + self.size - 1
        is_cached = file.files.is_cached
        # The last one first: it is the one that a reader who comes along in order finds missing.
        return is_cached(file.fd, last) and all(
            is_cached(file.fd, at) for at in range(self.position, last, _PROBE_BYTES)
        )

    def read_into_cache(self) -> None:
        """For a thread: read all of it once, so that nobody else has to wait for the disk."""
        files, fd, end = self.file.files, self.file.fd, self.position + self.size + _LOOKUP_BYTES
        files.will_need(fd, self.position, self.size + max(min(self.size, _READ_AHEAD_BYTES_MAX), _LOOKUP_BYTES))
        buffer = memoryview(bytearray(_READ_BYTES))
        for at in range(self.position, end, _READ_BYTES):
            files.preadv(fd, [buffer[: end - at]], at)

    def read(self) -> bytes:
        """The bytes themselves, for those who cannot send from the file."""
        return self.file.files.pread(self.file.fd, self.size, self.position)
