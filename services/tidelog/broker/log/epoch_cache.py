"""Which leader epoch wrote which part of the log: the start offset of every epoch that has one."""

from bisect import bisect_right
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from tidelog.broker.log.checkpoints import CorruptCheckpointError, decode_checkpoint, encode_checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidelog.broker.log.files import Files

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1
_NO_END = 2**63 - 1
_epoch = attrgetter("epoch")


class EpochEntry(NamedTuple):
    """An epoch and the offset of its first record."""

    epoch: int
    start_offset: int


class EpochEnd(NamedTuple):
    """The answer to "where does this epoch end": the epoch that was found, and the offset after its last record."""

    epoch: int
    end_offset: int


UNDEFINED_END = EpochEnd(UNDEFINED_EPOCH, UNDEFINED_OFFSET)


class EpochCache:
    """Entries in growing order of both fields, and the file that holds them.

    The file is replaced at every change, but not synced then: what it says of the unflushed part of the log is found
    again by recovery, and the rest is made durable before the recovery point moves (see flush.py).
    """

    def __init__(self, files: "Files", path: str, entries: list[EpochEntry]) -> None:
        self._files = files
        self.path = path
        self._entries = entries

    @classmethod
    def load(cls, files: "Files", path: str) -> "EpochCache":
        """Read the file; a missing one is created empty. CorruptCheckpointError if its content makes no sense."""
        data = files.read_file(path)
        if data is None:
            files.create_file(path)
        rows = decode_checkpoint(data, 2) if data else []
        entries = [EpochEntry(int(epoch), int(offset)) for epoch, offset in rows]
        if any(a.epoch >= b.epoch or a.start_offset > b.start_offset for a, b in pairwise(entries)):
            raise CorruptCheckpointError(f"the epochs in {path} are not in order")
        return cls(files, path, entries)

    @property
    def entries(self) -> tuple[EpochEntry, ...]:
        return tuple(self._entries)

    @property
    def latest_epoch(self) -> int:
        return self._entries[-1].epoch if self._entries else UNDEFINED_EPOCH

    def assign(self, epoch: int, start_offset: int) -> None:
        """The log is of this epoch from this offset on. What contradicts that, of leaders that wrote nothing, goes."""
        entries = self._entries
        if epoch < 0 or (entries and entries[-1].epoch == epoch and entries[-1].start_offset <= start_offset):
            return
        kept = [entry for entry in entries if entry.epoch < epoch and entry.start_offset < start_offset]
        self._replace([*kept, EpochEntry(epoch, start_offset)])

    def truncate_end(self, end_offset: int) -> None:
        """Drop the epochs that start at the end of the log or after it."""
        self._replace([entry for entry in self._entries if entry.start_offset < end_offset])

    def truncate_start(self, start_offset: int) -> None:
        """The log begins here: epochs that lie before are dropped, the one that holds the offset begins there."""
        before = [entry for entry in self._entries if entry.start_offset <= start_offset]
        if before:
            after = self._entries[len(before) :]
            self._replace([EpochEntry(before[-1].epoch, start_offset), *after])

    def take_over(self, entries: "Iterable[EpochEntry]") -> None:
        """Those of another log of the same records."""
        self._replace(list(entries))

    def clear(self) -> None:
        self._replace([])

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEnd:
        """Where an epoch ends, as a leader tells a follower that compares its log."""
        entries = self._entries
        if epoch == UNDEFINED_EPOCH or not entries or epoch > entries[-1].epoch:
            return UNDEFINED_END
        if epoch == entries[-1].epoch:
            return EpochEnd(epoch, log_end_offset)
        after = bisect_right(entries, epoch, key=_epoch)
        if after == 0:
            return EpochEnd(epoch, entries[0].start_offset)
        return EpochEnd(entries[after - 1].epoch, entries[after].start_offset)

    def epoch_at(self, offset: int) -> EpochEnd:
        """The epoch of the record at an offset, -1 if none is known, and the offset where the next one begins."""
        at = bisect_right(self._entries, offset, key=attrgetter("start_offset"))
        end = self._entries[at].start_offset if at < len(self._entries) else _NO_END
        return EpochEnd(self._entries[at - 1].epoch if at else UNDEFINED_EPOCH, end)

    def _replace(self, entries: list[EpochEntry]) -> None:
        if entries == self._entries:
            return
        if self._entries:
            self._files.replace_file(self.path, encode_checkpoint(entries), durable=False)
        else:
            # Nothing can be lost of an empty file, and every new partition gets its first epoch at once.
            self._files.create_file(self.path, encode_checkpoint(entries))
        self._entries = entries
