"""Fetched bytes as whole record batches: checked, opened, and without what a reader may not see."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.compression import inflate, known_codec
from tidelog.kafka.records.control import MarkerType, read_marker
from tidelog.kafka.records.header import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    HEADER_SIZE,
    INT16,
    BatchHeader,
    Buffer,
    checksum,
    read_header,
    whole_batches,
)
from tidelog.kafka.records.record import walk_records

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_READER_REFUSALS = (RuntimeError, ValueError, AssertionError, IndexError, OverflowError)

# What the readers give: objects with offset, timestamp, key, value and headers.
Records = Sequence["Any"]


class OpenBatch(NamedTuple):
    """The records of one batch, whose clock gave them their timestamps, and how many bytes were fetched for them."""

    records: Records
    timestamp_type: int
    size: int


def open_batches(
    data: Buffer, start: int, end: int, aborted: Iterable[tuple[int, int]] | None, *, check_crcs: bool = True
) -> Iterator[OpenBatch]:
    """Records with offsets from `start` up to `end`. `aborted` is (first offset, producer id) of what was taken back."""
    view = memoryview(data)
    visible = _Visible(aborted)
    for at, header in whole_batches(view):
        if header.base_offset >= end:
            return
        batch = view[at : at + header.size]
        if not visible.shows(batch, header) or header.next_offset <= start:
            continue
        if check_crcs and checksum(batch) != header.crc:
            raise KafkaError(
                KafkaCode.CORRUPT_MESSAGE, f"the batch at offset {header.base_offset} has a wrong checksum"
            )
        records = _records(batch, header)
        if header.base_offset < start or header.next_offset > end:
            records = [each for each in records if start <= each.offset < end]
        if records:
            yield OpenBatch(records, int(header.timestamp_type), header.size)


class _Visible:
    """Which batches a reader sees: no markers, and nothing of aborted transactions if it was told of them."""

    def __init__(self, aborted: Iterable[tuple[int, int]] | None) -> None:
        self._aborted = sorted(aborted or (), reverse=True)
        self._producers: set[int] = set()

    def shows(self, batch: memoryview, header: BatchHeader) -> bool:
        while self._aborted and self._aborted[-1][0] <= header.last_offset:
            self._producers.add(self._aborted.pop()[1])
        if header.is_control:
            marker = read_marker(batch)
            if marker is not None and marker.marker_type is MarkerType.ABORT:
                self._producers.discard(header.producer_id)
            return False
        return not (header.is_transactional and header.producer_id in self._producers)


def _records(batch: memoryview, header: BatchHeader) -> Records:
    opened: Buffer = _inflated(batch, header) if header.codec else batch
    try:
        return list(_compiled_reader()(opened))
    except _READER_REFUSALS:
        # The strict reader takes header keys that are not UTF-8, and says what is wrong with everything else.
        return list(walk_records(read_header(opened), memoryview(opened)[HEADER_SIZE:]))


def _inflated(batch: memoryview, header: BatchHeader) -> bytearray:
    opened = inflate(batch[HEADER_SIZE:], known_codec(header.codec), room_before=HEADER_SIZE)
    opened[:HEADER_SIZE] = batch[:HEADER_SIZE]
    INT16.pack_into(opened, ATTRIBUTES_AT, header.attributes & ~CODEC_MASK)
    return opened


@cache
def _compiled_reader() -> "Callable[[Buffer], Any]":
    from aiokafka.record.default_records import DefaultRecordBatch

    reader: Callable[[Buffer], Any] = DefaultRecordBatch
    return reader
