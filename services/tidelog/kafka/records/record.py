"""Single records: the strict reader of their bytes, and the writer of records and whole batches."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.compression import Codec, deflate, inflate, known_codec
from tidelog.kafka.records.header import (
    CODEC_MASK,
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    LOG_APPEND_TIME,
    MAGIC,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    BatchHeader,
    Buffer,
    read_header,
    seal,
    write_header,
)
from tidelog.kafka.records.varint import decode_varint, encode_varint

_VARLONG_BYTES_MAX = 10
NO_PRODUCER_EPOCH = -1
NO_LEADER_EPOCH = -1

Header = tuple[bytes, bytes | None]


class Record(NamedTuple):
    """One record as it is given to be written. Header keys are kept as bytes: the log does not judge their encoding."""

    key: bytes | None = None
    value: bytes | None = None
    timestamp: int = NO_TIMESTAMP
    headers: Sequence[Header] = ()


class StoredRecord(NamedTuple):
    """One record as it was read: its offset, and where its bytes lie in the uncompressed records."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    start: int
    end: int


def inflated(batch: Buffer) -> tuple[BatchHeader, Buffer]:
    """The header of a batch and its records without compression."""
    header = read_header(batch)
    payload = memoryview(batch)[HEADER_SIZE : header.size]
    if not header.codec:
        return header, payload
    return header, inflate(payload, known_codec(header.codec))


def read_records(batch: Buffer) -> Iterator[StoredRecord]:
    """Every record of one batch. INVALID_RECORD at the first malformed one, or if there are not as many as it says."""
    header, data = inflated(batch)
    return walk_records(header, data)


def walk_records(header: BatchHeader, data: Buffer) -> Iterator[StoredRecord]:
    """As read_records, over records that are already without compression."""
    append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME else None
    at = 0
    for _ in range(header.records_count):
        try:
            record = _read_record(header, data, at, append_time)
        except (IndexError, ValueError) as error:
            raise KafkaError(KafkaCode.INVALID_RECORD, f"a record is malformed: {error}") from None
        at = record.end
        yield record
    if at != len(data):
        raise KafkaError(KafkaCode.INVALID_RECORD, f"{len(data) - at} bytes follow the last record")


def _read_record(header: BatchHeader, data: Buffer, start: int, append_time: int | None) -> StoredRecord:
    size, at = decode_varint(data, start)
    end = at + size
    if size < 0 or end > len(data):
        raise ValueError(f"its size is {size} where {len(data) - at} bytes are left")
    at += 1  # attributes of a record are unused
    timestamp_delta, at = decode_varint(data, at, _VARLONG_BYTES_MAX)
    offset_delta, at = decode_varint(data, at)
    key, at = _read_bytes(data, at, end)
    value, at = _read_bytes(data, at, end)
    headers, at = _read_headers(data, at, end)
    if at != end:
        raise ValueError(f"its content ends {end - at} bytes before its size says")
    timestamp = header.base_timestamp + timestamp_delta if append_time is None else append_time
    return StoredRecord(header.base_offset + offset_delta, timestamp, key, value, headers, start, end)


def _read_bytes(data: Buffer, at: int, end: int) -> tuple[bytes | None, int]:
    size, at = decode_varint(data, at)
    if size < 0:
        return None, at
    if size > end - at:
        raise ValueError(f"a field of {size} bytes where {end - at} are left")
    return bytes(data[at : at + size]), at + size


def _read_headers(data: Buffer, at: int, end: int) -> tuple[tuple[Header, ...], int]:
    count, at = decode_varint(data, at)
    if not 0 <= count <= end - at:
        raise ValueError(f"{count} headers where {end - at} bytes are left")
    headers = []
    for _ in range(count):
        key, at = _read_bytes(data, at, end)
        if key is None:
            raise ValueError("a header has no key")
        value, at = _read_bytes(data, at, end)
        headers.append((key, value))
    return tuple(headers), at


def encode_record(record: Record, offset_delta: int, timestamp_delta: int) -> bytes:
    body = b"".join(
        (
            b"\0",
            encode_varint(timestamp_delta),
            encode_varint(offset_delta),
            _sized(record.key),
            _sized(record.value),
            encode_varint(len(record.headers)),
            *(_sized(part) for header in record.headers for part in header),
        )
    )
    return encode_varint(len(body)) + body


def _sized(data: bytes | None) -> bytes:
    return encode_varint(-1) if data is None else encode_varint(len(data)) + data


def encode_batch(
    records: Sequence[Record],
    *,
    base_offset: int = 0,
    codec: Codec = Codec.NONE,
    attributes: int = 0,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytearray:
    """One batch that holds these records at consecutive offsets."""
    base_timestamp = records[0].timestamp if records else NO_TIMESTAMP
    encoded = [encode_record(record, n, record.timestamp - base_timestamp) for n, record in enumerate(records)]
    header = BatchHeader(
        base_offset=base_offset,
        batch_length=0,
        partition_leader_epoch=leader_epoch,
        magic=MAGIC,
        crc=0,
        attributes=attributes & ~CODEC_MASK | codec,
        last_offset_delta=len(records) - 1,
        base_timestamp=base_timestamp,
        max_timestamp=max((record.timestamp for record in records), default=NO_TIMESTAMP),
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        records_count=len(records),
    )
    return assemble(header, deflate(b"".join(encoded), codec))


def assemble(header: BatchHeader, payload: Buffer) -> bytearray:
    """A batch of this header and these (compressed) records; its length and checksum are set."""
    batch = bytearray(HEADER_SIZE) + payload
    write_header(batch, header._replace(batch_length=len(batch) - LENGTH_OVERHEAD))
    seal(batch)
    return batch
