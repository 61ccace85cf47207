"""The 61-byte header of a version 2 record batch: its layout, its bits, and the arithmetic on them."""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from tidelog.kafka.records.timestamp_type import TimestampType as TimestampType

Buffer = bytes | bytearray | memoryview

HEADER = Struct(">qiibIhiqqqhii")
HEADER_SIZE = HEADER.size  # 61
MAGIC = 2

# The batch length counts what follows it: base offset and length itself are these 12 bytes.
LENGTH_OVERHEAD = 12
SMALLEST_LENGTH = HEADER_SIZE - LENGTH_OVERHEAD

# Positions of the fields that are written alone. What lies before CRC_START is outside the checksum.
LENGTH_AT = 8
MAGIC_AT = 16
CRC_AT = 17
CRC_START = 21
ATTRIBUTES_AT = 21
# All bits that mean something are in the lower of the two bytes.
ATTRIBUTES_LOW_AT = 22
MAX_TIMESTAMP_AT = 35

CODEC_MASK = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40

NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_SEQUENCE = -1
SEQUENCE_MAX = 2**31 - 1

# What a leader writes anew: base offset, length and leader epoch, all of it outside of the checksum.
FRONT = Struct(">qii")
INT64 = Struct(">q")
INT32 = Struct(">i")
UINT32 = Struct(">I")
INT16 = Struct(">h")


class BatchHeader(NamedTuple):
    """The fields of a header in the order in which they are stored."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return self.batch_length + LENGTH_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def timestamp_type(self) -> TimestampType:
        return TimestampType.LOG_APPEND_TIME if self.attributes & LOG_APPEND_TIME else TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)

    @property
    def delete_horizon_ms(self) -> int | None:
        """When tombstones of this batch may go; the field then stands where the base timestamp was."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON else None

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID

    @property
    def last_sequence(self) -> int:
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return advance_sequence(self.base_sequence, self.last_offset_delta)


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The header at a position that is known to have 61 bytes."""
    # What `_make` does, without its check of the length: the layout has as many fields.
    return tuple.__new__(BatchHeader, HEADER.unpack_from(buffer, position))


def write_header(buffer: bytearray | memoryview, header: BatchHeader, position: int = 0) -> None:
    HEADER.pack_into(buffer, position, *header)


def advance_sequence(sequence: int, by: int) -> int:
    """Sequences wrap from 2147483647 to 0."""
    if sequence > SEQUENCE_MAX - by:
        return by - (SEQUENCE_MAX - sequence) - 1
    return sequence + by


def checksum(batch: Buffer, start: int = 0, end: int | None = None) -> int:
    """CRC-32C of the bytes of a batch that its checksum covers."""
    return crc32c(memoryview(batch)[start + CRC_START : end])


def seal(batch: bytearray | memoryview) -> None:
    """Write the right checksum into a batch whose attributes, timestamps or records were changed."""
    UINT32.pack_into(batch, CRC_AT, checksum(batch))


def whole_batches(data: Buffer, start: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """Position and header of each batch that is wholly in the data. Nothing but the lengths is checked."""
    end = len(data)
    while end - start >= HEADER_SIZE:
        header = read_header(data, start)
        if header.batch_length < SMALLEST_LENGTH or end - start < header.size:
            return
        yield start, header
        start += header.size
