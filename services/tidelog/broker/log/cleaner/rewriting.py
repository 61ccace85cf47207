"""Batches that a cleaner changes: fewer records, none at all, or a time from which its tombstones may go.

The bytes of a record are copied as they are: its offset and timestamp count from those of the batch, which stay. Only
a delete horizon takes the place of the batch's base timestamp, and then each record's timestamp is written anew.
"""

from itertools import compress
from typing import TYPE_CHECKING

from tidelog.kafka.records.compression import deflate, known_codec
from tidelog.kafka.records.header import (
    CODEC_MASK,
    DELETE_HORIZON,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    NO_TIMESTAMP,
    BatchHeader,
    Buffer,
)
from tidelog.kafka.records.record import assemble
from tidelog.kafka.records.varint import decode_varint, encode_varint

if TYPE_CHECKING:
    from collections.abc import Sequence

_VARLONG_BYTES_MAX = 10


def empty_batch(header: BatchHeader) -> bytearray:
    """A header alone: it tells offsets, epoch, and the last sequence of its producer."""
    attributes = header.attributes & ~(CODEC_MASK | DELETE_HORIZON)
    return assemble(header._replace(attributes=attributes, base_timestamp=NO_TIMESTAMP, records_count=0), b"")


def rewritten(
    header: BatchHeader,
    opened: Buffer,
    kept: "Sequence[bool]",
    largest_timestamp: int,
    new_horizon_ms: int | None,
) -> bytearray:
    """The batch with those of its records that are kept, in its own codec."""
    payload = memoryview(opened)[HEADER_SIZE:]
    records: list[Buffer] = [payload[start:end] for start, end in compress(_spans(payload, len(kept)), kept)]
    if new_horizon_ms is not None:
        records = [_retimed(record, header.base_timestamp - new_horizon_ms) for record in records]
        header = header._replace(base_timestamp=new_horizon_ms, attributes=header.attributes | DELETE_HORIZON)
    if not header.attributes & LOG_APPEND_TIME:
        header = header._replace(max_timestamp=largest_timestamp)
    header = header._replace(records_count=len(records))
    return assemble(header, deflate(b"".join(records), known_codec(header.codec)))


def _spans(payload: memoryview, count: int) -> list[tuple[int, int]]:
    """Where each record lies. They were read before, so that their lengths are known to be right.

    Lengths of one and two bytes, which nearly all have, are not worth a call.
    """
    spans, start = [], 0
    for _ in range(count):
        low, high = payload[start], payload[start + 1]
        if low < 0x80:
            end = start + 1 + (low >> 1)
        elif high < 0x80:
            end = start + 2 + ((high << 6) | ((low & 0x7F) >> 1))
        else:
            size, body = decode_varint(payload, start)
            end = body + size
        spans.append((start, end))
        start = end
    return spans


def _retimed(record: Buffer, shift_ms: int) -> bytes:
    """The record for a batch whose base timestamp lies that much earlier than it did."""
    _, body = decode_varint(record, 0)
    delta, rest = decode_varint(record, body + 1, _VARLONG_BYTES_MAX)
    changed = bytes(record[body : body + 1]) + encode_varint(delta + shift_ms) + bytes(record[rest:])
    return encode_varint(len(changed)) + changed
