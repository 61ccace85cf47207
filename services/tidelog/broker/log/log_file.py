"""The open file of a segment, and parts of it that can be sent without being read."""

from typing import NamedTuple

from tidelog.broker.log.files import Files

_READ_AHEAD_BYTES = 256 * 1024


class LogFile:
    """An open descriptor that is closed when neither its segment nor a part that is still to be sent needs it."""

    __slots__ = ("fd", "files", "path")

    def __init__(self, files: Files, path: str, *, create: bool = False, readonly: bool = False) -> None:
        self.files = files
        self.fd = -1
        self.path = path
        self.fd = files.open(path, create=create, readonly=readonly)

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

    def is_cached(self) -> bool:
        """Whether sending it will probably not wait for the disk: its first and last bytes are in memory."""
        ends = (self.position, self.position + self.size - 1)
        return all(self.file.files.is_cached(self.file.fd, at) for at in ends)

    def read_into_cache(self) -> None:
        """For a thread: read all of it once, so that nobody else has to wait for the disk."""
        buffer = memoryview(bytearray(_READ_AHEAD_BYTES))
        for at in range(self.position, self.position + self.size, _READ_AHEAD_BYTES):
            self.file.files.preadv(self.file.fd, [buffer], at)

    def read(self) -> bytes:
        """The bytes themselves, for those who cannot send from the file."""
        return self.file.files.pread(self.file.fd, self.size, self.position)
