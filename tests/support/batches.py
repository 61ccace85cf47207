"""Record batches for tests, right ones and wrong ones: every header field can be given another value."""

from collections.abc import Callable

from tidelog.kafka.records.compression import Codec
from tidelog.kafka.records.header import CRC_AT, HEADER_SIZE, LENGTH_AT, UINT32, Buffer, read_header, seal, write_header
from tidelog.kafka.records.record import Record, assemble, encode_batch
from tidelog.kafka.records.varint import encode_varint


def sized(data: bytes | None) -> bytes:
    """A field of a record: its length, then its bytes."""
    return encode_varint(-1) if data is None else encode_varint(len(data)) + data


def batch(
    *records: Record,
    codec: Codec = Codec.NONE,
    attributes: int = 0,
    producer: tuple[int, int] = (-1, -1),
    sequence: int = -1,
    base_offset: int = 0,
    leader_epoch: int = -1,
    magic: int = 2,
    count: int | None = None,
    last_offset_delta: int | None = None,
    max_timestamp: int | None = None,
    payload: bytes | None = None,
    length: int | None = None,
    crc: int | None = None,
) -> bytes:
    """One batch. The payload takes the place of the (compressed) records; the checksum is right unless it is given."""
    made = encode_batch(
        records,
        base_offset=base_offset,
        codec=codec,
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=sequence,
        leader_epoch=leader_epoch,
    )
    header = read_header(made)
    header = header._replace(
        magic=magic,
        attributes=header.attributes | attributes,
        records_count=header.records_count if count is None else count,
        last_offset_delta=header.last_offset_delta if last_offset_delta is None else last_offset_delta,
        max_timestamp=header.max_timestamp if max_timestamp is None else max_timestamp,
    )
    made = assemble(header, bytes(made[HEADER_SIZE:]) if payload is None else payload)
    if length is not None:
        made[LENGTH_AT : LENGTH_AT + 4] = length.to_bytes(4, "big", signed=True)
    if crc is not None:
        UINT32.pack_into(made, CRC_AT, crc)
    return bytes(made)


def plain(value: bytes = b"v", count: int = 1, timestamp: int = 1_700_000_000_000) -> bytearray:
    """A writable batch of some equal records."""
    return bytearray(batch(*[Record(None, value, timestamp)] * count))


def at_offset(data: Buffer, base_offset: int, leader_epoch: int = 0) -> bytearray:
    """The batch as a leader stored it."""
    made = bytearray(data)
    write_header(made, read_header(made)._replace(base_offset=base_offset, partition_leader_epoch=leader_epoch))
    return made


def changed(data: bytes, change: Callable[[bytearray], None]) -> bytes:
    """The batch after a change, with the right checksum again."""
    made = bytearray(data)
    change(made)
    seal(made)
    return bytes(made)
