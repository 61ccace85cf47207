"""The records of a stored batch in blocks, by aiokafka's compiled reader where it can read them.

It is several times faster than the strict reader, and refuses only what that one may accept (header keys that are not
UTF-8); the strict one then reads the batch from its beginning.
"""

from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Protocol

from tidelog.kafka.records.compression import inflate, known_codec
from tidelog.kafka.records.header import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    HEADER_SIZE,
    INT16,
    LOG_APPEND_TIME,
    BatchHeader,
    Buffer,
    read_header,
)
from tidelog.kafka.records.record import walk_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# A block is what is done between two looks at the clock: less than half a millisecond.
_BLOCK = 256
_READER_REFUSALS = (RuntimeError, ValueError, AssertionError, IndexError, OverflowError)


class OpenedRecord(Protocol):
    """What both readers give."""

    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...


def opened_batch(batch: memoryview, header: BatchHeader) -> Buffer:
    """The batch without compression, so that the bytes of its records can be cut out; timestamps are the records' own."""
    if not header.attributes & (CODEC_MASK | LOG_APPEND_TIME):
        return batch
    opened = inflate(batch[HEADER_SIZE:], known_codec(header.codec), room_before=HEADER_SIZE)
    opened[:HEADER_SIZE] = batch[:HEADER_SIZE]
    INT16.pack_into(opened, ATTRIBUTES_AT, header.attributes & ~(CODEC_MASK | LOG_APPEND_TIME))
    return opened


def record_blocks(opened: Buffer) -> "Iterator[list[OpenedRecord]]":
    """All records, some at a time. INVALID_RECORD if they cannot be read."""
    given = 0
    try:
        # Its iterator may be asked for only once, which chain does.
        source = chain(_compiled_reader()(opened))
        while block := list(islice(source, _BLOCK)):
            given += len(block)
            yield block
    except _READER_REFUSALS:
        strict = walk_records(read_header(opened), memoryview(opened)[HEADER_SIZE:])
        rest: Iterator[OpenedRecord] = islice(strict, given, None)
        while block := list(islice(rest, _BLOCK)):
            yield block


@cache
def _compiled_reader() -> "Callable[[Buffer], Any]":
    from aiokafka.record.default_records import DefaultRecordBatch

    reader: Callable[[Buffer], Any] = DefaultRecordBatch
    return reader
