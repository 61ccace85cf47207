"""Snapshot files of the producers of a partition: the bytes, and which files there are."""

from struct import Struct
from typing import TYPE_CHECKING

from crc32c import crc32c

from tidelog.broker.log.names import SNAPSHOT, offset_name, offset_of
from tidelog.broker.log.producer_entry import NO_OFFSET, BatchMark, ProducerEntry
from tidelog.kafka.records.header import NO_SEQUENCE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidelog.broker.log.files import Files

_VERSION = 1
_HEAD = Struct(">hI")
_COUNT = Struct(">i")
_ENTRY = Struct(">qhiqiqiq")


class CorruptSnapshotError(Exception):
    """A snapshot that cannot be believed; an older one, or the log itself, takes its place."""


def encode_snapshot(entries: "Iterable[ProducerEntry]") -> bytes:
    """Version, checksum of the rest, count, and the last batch of each producer."""
    rows = [_encode_entry(entry) for entry in entries]
    body = _COUNT.pack(len(rows)) + b"".join(rows)
    return _HEAD.pack(_VERSION, crc32c(body)) + body


def _encode_entry(entry: ProducerEntry) -> bytes:
    last = entry.batches[-1] if entry.batches else BatchMark(NO_SEQUENCE, NO_OFFSET, 0, entry.last_timestamp)
    return _ENTRY.pack(
        entry.producer_id,
        entry.producer_epoch,
        last.last_sequence,
        last.last_offset,
        last.offset_delta,
        entry.last_timestamp,
        entry.coordinator_epoch,
        entry.txn_first_offset,
    )


def decode_snapshot(data: bytes) -> list[ProducerEntry]:
    """Raises CorruptSnapshotError for anything but what encode_snapshot, or Kafka, writes."""
    if len(data) < _HEAD.size + _COUNT.size:
        raise CorruptSnapshotError("too short")
    version, crc = _HEAD.unpack_from(data)
    body = memoryview(data)[_HEAD.size :]
    (count,) = _COUNT.unpack_from(body)
    if version != _VERSION or crc != crc32c(body) or len(body) != _COUNT.size + count * _ENTRY.size:
        raise CorruptSnapshotError(f"version {version}, or a wrong checksum or size")
    return [_decode_entry(row) for row in _ENTRY.iter_unpack(body[_COUNT.size :])]


def _decode_entry(row: tuple[int, ...]) -> ProducerEntry:
    producer_id, epoch, last_sequence, last_offset, delta, timestamp, coordinator_epoch, txn_first_offset = row
    entry = ProducerEntry(producer_id)
    entry.producer_epoch = epoch
    if last_offset >= 0:
        entry.add(BatchMark(last_sequence, last_offset, delta, timestamp))
    entry.last_timestamp = timestamp
    entry.coordinator_epoch = coordinator_epoch
    entry.txn_first_offset = txn_first_offset
    return entry


class SnapshotFiles:
    """The snapshots of one partition, each named by the offset before which all records are in it."""

    def __init__(self, files: "Files", directory: str, offsets: "Iterable[int]") -> None:
        self._files = files
        self._directory = directory
        self._offsets = sorted(offsets)

    @classmethod
    def found_in(cls, files: "Files", directory: str) -> "SnapshotFiles":
        offsets = (offset_of(info.name, SNAPSHOT) for info in files.listing(directory))
        return cls(files, directory, (offset for offset in offsets if offset is not None))

    @property
    def offsets(self) -> tuple[int, ...]:
        return tuple(self._offsets)

    def path(self, offset: int) -> str:
        return f"{self._directory}/{offset_name(offset, SNAPSHOT)}"

    def relocate(self, directory: str) -> None:
        """The directory has another name now."""
        self._directory = directory

    def write(self, offset: int, entries: "Iterable[ProducerEntry]") -> None:
        """The file is made durable by the next flush; its checksum tells if that did not happen."""
        self._files.replace_file(self.path(offset), encode_snapshot(entries), durable=False)
        if offset not in self._offsets:
            self._offsets = sorted((*self._offsets, offset))

    def read_newest(self, end_offset: int) -> tuple[int, list[ProducerEntry]] | None:
        """The newest that can be read and is not beyond an offset. Unreadable ones on the way are removed."""
        for offset in reversed([o for o in self._offsets if o <= end_offset]):
            try:
                return offset, decode_snapshot(self._files.read_file(self.path(offset)) or b"")
            except CorruptSnapshotError:
                self.remove(offset)
        return None

    def remove(self, offset: int) -> None:
        self._offsets.remove(offset)
        self._files.unlink_if_there(self.path(offset))

    def remove_after(self, offset: int) -> None:
        for found in [o for o in self._offsets if o > offset]:
            self.remove(found)

    def keep(self, segment_bases: "Iterable[int]") -> None:
        """One for each segment and the newest of all are kept; they are what a truncation may go back to."""
        wanted = {*segment_bases, *self._offsets[-1:]}
        for found in [o for o in self._offsets if o not in wanted]:
            self.remove(found)
