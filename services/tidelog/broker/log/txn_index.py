"""The aborted transactions whose marker lies in a segment. The file exists only if there is one."""

from struct import Struct
from typing import NamedTuple

from tidelog.broker.log.files import Files

TXN_ENTRY = Struct(">hqqqq")
_VERSION = 0


class AbortedTxn(NamedTuple):
    """A transaction that was aborted: its first offset, that of its marker, and the last stable offset after that."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TxnIndex:
    """Entries in the order of their markers, so that last offsets grow. They are few, and read all at once."""

    __slots__ = ("_entries", "_files", "path")

    def __init__(self, files: Files, path: str, size: int) -> None:
        self.path = path
        self._files = files
        self._entries: list[AbortedTxn] | None = None if size else []

    def entries(self) -> list[AbortedTxn]:
        if self._entries is None:
            self._entries = decode_aborted(self._files.read_file(self.path) or b"")
        return self._entries

    def append(self, aborted: AbortedTxn) -> None:
        entries = self.entries()
        with self._files.opened(self.path, create=True) as fd:
            self._files.write_whole(fd, TXN_ENTRY.pack(_VERSION, *aborted), len(entries) * TXN_ENTRY.size)
        entries.append(aborted)

    def truncate(self, offset: int) -> None:
        """Drop the entries whose marker is at this offset or later."""
        kept = [entry for entry in self.entries() if entry.last_offset < offset]
        if len(kept) < len(self.entries()):
            with self._files.opened(self.path) as fd:
                self._files.truncate(fd, len(kept) * TXN_ENTRY.size)
            self._entries = kept

    def clear(self) -> None:
        """Start again without an entry; whatever the file held is gone."""
        self._files.unlink_if_there(self.path)
        self._entries = []

    def is_sane(self, base_offset: int) -> bool:
        try:
            return all(entry.last_offset >= base_offset for entry in self.entries())
        except ValueError:
            return False


def decode_aborted(data: bytes) -> list[AbortedTxn]:
    """The entries of a file; ValueError if it is not made of them."""
    if len(data) % TXN_ENTRY.size:
        raise ValueError("a transaction index ends within an entry")
    rows = list(TXN_ENTRY.iter_unpack(data))
    if any(version != _VERSION for version, *_ in rows):
        raise ValueError("a transaction index has an entry of an unknown version")
    return [AbortedTxn(*fields) for _, *fields in rows]
