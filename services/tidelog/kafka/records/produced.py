"""What a leader refuses of a produced batch, each with its own error, and what it changes before it stores one."""

from dataclasses import dataclass, field
from typing import NamedTuple

from crc32c import crc32c

from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.compression import Codec, deflate, known_codec
from tidelog.kafka.records.header import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    CONTROL,
    CRC_START,
    DELETE_HORIZON,
    HEADER_SIZE,
    INT16,
    INT64,
    LENGTH_OVERHEAD,
    LOG_APPEND_TIME,
    MAGIC,
    MAGIC_AT,
    MAX_TIMESTAMP_AT,
    NO_TIMESTAMP,
    BatchHeader,
    Buffer,
    TimestampType,
    read_header,
    seal,
)
from tidelog.kafka.records.record import assemble, inflated
from tidelog.kafka.records.survey import (
    ANY_RECORDS,
    Expectation,
    InvalidRecordsError,
    RecordError,
    has_right_timestamp,
    survey,
)

UNLIMITED_MS = 2**63 - 1
_LARGEST_TIMESTAMP = 2**63 - 1
_UNUSUAL = CODEC_MASK | LOG_APPEND_TIME | CONTROL | DELETE_HORIZON
_NOT_ONE_BATCH = "A partition of a produce request must have exactly one record batch."


@dataclass(frozen=True, slots=True)
class ProduceRules:
    """What a topic asks of the batches that are produced to it. A codec of None keeps the producer's."""

    max_message_bytes: int = 1048588
    timestamp_type: TimestampType = TimestampType.CREATE_TIME
    timestamp_before_max_ms: int = UNLIMITED_MS
    timestamp_after_max_ms: int = UNLIMITED_MS
    codec: Codec | None = None
    keys_required: bool = False
    # Both are derived here, once: they are asked for at every batch.
    has_window: bool = field(init=False)
    is_plain: bool = field(init=False)

    def __post_init__(self) -> None:
        is_create_time = self.timestamp_type is TimestampType.CREATE_TIME
        limits = (self.timestamp_before_max_ms, self.timestamp_after_max_ms)
        object.__setattr__(self, "has_window", is_create_time and min(limits) < UNLIMITED_MS)
        is_plain = is_create_time and not self.has_window and not self.keys_required and self.codec is None
        object.__setattr__(self, "is_plain", is_plain)


class ProducedBatch(NamedTuple):
    """A batch that may be appended: writable, and right but for base offset and leader epoch."""

    data: memoryview
    header: BatchHeader
    log_append_time_ms: int


def check_produced(
    data: Buffer, rules: ProduceRules, now_ms: int, *, zstd_allowed: bool = True, from_coordinator: bool = False
) -> ProducedBatch:
    """Check one produced batch, records included, and apply the topic's codec and timestamp type.

    Coordinators also write markers, and offsets of a transaction under its producer's id but without a sequence.
    Raises KafkaError if anything is wrong. A writable buffer is changed in place where only the header has to change.
    """
    view = memoryview(data)
    header = _checked_frame(view)
    is_plain = rules.is_plain and _is_plain(header, rules.max_message_bytes) and not view.readonly
    if is_plain and has_right_timestamp(view, header):
        # Almost every batch goes this way: nothing is to be changed.
        return ProducedBatch(view, header, NO_TIMESTAMP)
    _check_header(header, rules, zstd_allowed=zstd_allowed, from_coordinator=from_coordinator)
    largest = _check_records(view, header, rules, now_ms)
    if view.readonly:
        view = memoryview(bytearray(view))
    if rules.codec is not None and rules.codec != header.codec and not header.attributes & CONTROL:
        view, header = _recompressed(view, rules.codec)
    if rules.timestamp_type is TimestampType.LOG_APPEND_TIME:
        return _stamped(view, header.attributes | LOG_APPEND_TIME, now_ms)._replace(log_append_time_ms=now_ms)
    if largest != header.max_timestamp or header.attributes & LOG_APPEND_TIME:
        return _stamped(view, header.attributes & ~LOG_APPEND_TIME, largest)
    return ProducedBatch(view, header, NO_TIMESTAMP)


def _checked_frame(view: memoryview) -> BatchHeader:
    """The header of the one batch that the data must be, with a right length and checksum."""
    size = len(view)
    if size < HEADER_SIZE or view[MAGIC_AT] != MAGIC:
        raise _wrong_magic(view)
    header = read_header(view)
    end = header.batch_length + LENGTH_OVERHEAD
    if end < HEADER_SIZE:
        raise KafkaError(KafkaCode.CORRUPT_MESSAGE, f"A batch length of {header.batch_length} is too small.")
    if end > size:
        raise KafkaError(KafkaCode.INVALID_RECORD, f"The record batch is cut short: {size} of {end} bytes.")
    if crc32c(view[CRC_START:end]) != header.crc:
        raise KafkaError(KafkaCode.CORRUPT_MESSAGE, "The checksum of the record batch is wrong.")
    if end < size:
        raise KafkaError(KafkaCode.INVALID_RECORD, _NOT_ONE_BATCH)
    return header


def _wrong_magic(view: memoryview) -> KafkaError:
    """Or too little to have one, or to be a batch."""
    if len(view) <= MAGIC_AT:
        return KafkaError(KafkaCode.INVALID_RECORD, _NOT_ONE_BATCH)
    magic = view[MAGIC_AT]
    if magic == MAGIC:
        return KafkaError(KafkaCode.INVALID_RECORD, "The record batch is cut short.")
    code = KafkaCode.INVALID_RECORD if magic < MAGIC else KafkaCode.CORRUPT_MESSAGE
    return KafkaError(code, f"Record batches must have magic 2, not {magic}.")


def _is_plain(header: BatchHeader, max_message_bytes: int) -> bool:
    """No compression, no unusual attribute, no fault: all that _check_header looks for, in one expression."""
    base_offset, length, _, _, _, attributes, last_delta, _, _, producer_id, _, base_sequence, count = header
    return (
        attributes & _UNUSUAL == 0
        and base_offset == 0
        and count == last_delta + 1 > 0
        and length + LENGTH_OVERHEAD <= max_message_bytes
        and (producer_id < 0 or base_sequence >= 0)
    )


def _check_header(header: BatchHeader, rules: ProduceRules, *, zstd_allowed: bool, from_coordinator: bool) -> None:
    if header.codec == Codec.ZSTD and not zstd_allowed:
        raise KafkaError(KafkaCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs version 7 of the produce request.")
    if header.size > rules.max_message_bytes:
        raise KafkaError(
            KafkaCode.MESSAGE_TOO_LARGE, f"The batch has {header.size} bytes and {rules.max_message_bytes} are allowed."
        )
    reason = _fault_of(header, from_coordinator=from_coordinator)
    if reason:
        raise KafkaError(KafkaCode.INVALID_RECORD, reason)


def _fault_of(header: BatchHeader, *, from_coordinator: bool) -> str:
    if header.base_offset != 0:
        return f"The base offset of a produced batch must be 0, not {header.base_offset}."
    if header.attributes & CONTROL and not from_coordinator:
        return "Clients may not write control batches."
    if header.attributes & DELETE_HORIZON:
        return "Only compaction sets a delete horizon."
    if header.records_count <= 0 or header.records_count != header.last_offset_delta + 1:
        return f"The batch counts {header.records_count} records up to offset delta {header.last_offset_delta}."
    if header.has_producer_id and header.base_sequence < 0 and not from_coordinator:
        return f"A batch with a producer id must have a sequence, not {header.base_sequence}."
    return ""


def _check_records(view: memoryview, header: BatchHeader, rules: ProduceRules, now_ms: int) -> int:
    """The largest timestamp of the records, after all of them were looked at."""
    if header.attributes & LOG_APPEND_TIME:
        _refuse_append_time(header, rules)
    if not (header.attributes & CODEC_MASK or rules.keys_required or rules.has_window):
        return survey(view, header, ANY_RECORDS)
    expected = Expectation(
        keys=rules.keys_required and not header.attributes & CONTROL,
        oldest_timestamp=now_ms - rules.timestamp_before_max_ms if rules.has_window else None,
        newest_timestamp=min(now_ms + rules.timestamp_after_max_ms, _LARGEST_TIMESTAMP) if rules.has_window else None,
        consecutive_offsets=bool(header.attributes & CODEC_MASK),
    )
    return survey(view, header, expected)


def _refuse_append_time(header: BatchHeader, rules: ProduceRules) -> None:
    """A producer that claims LogAppendTime is refused by such a topic, and elsewhere if it gives no time at all."""
    if rules.timestamp_type is TimestampType.LOG_APPEND_TIME or header.max_timestamp == NO_TIMESTAMP:
        message = "Producers may not set the timestamp type LogAppendTime."
        errors = tuple(RecordError(index, message) for index in range(min(header.records_count, 1000)))
        raise InvalidRecordsError(KafkaCode.INVALID_TIMESTAMP, message, errors)


def _recompressed(view: memoryview, codec: Codec) -> tuple[memoryview, BatchHeader]:
    """The records are kept byte for byte and only compressed otherwise: their deltas stay right."""
    header, records = inflated(view)
    header = header._replace(attributes=header.attributes & ~CODEC_MASK | codec)
    batch = assemble(header, deflate(records, codec))
    return memoryview(batch), read_header(batch)


def _stamped(view: memoryview, attributes: int, max_timestamp: int) -> ProducedBatch:
    INT16.pack_into(view, ATTRIBUTES_AT, attributes)
    INT64.pack_into(view, MAX_TIMESTAMP_AT, max_timestamp)
    seal(view)
    return ProducedBatch(view, read_header(view), NO_TIMESTAMP)


def codec_of_topic(compression_type: str) -> Codec | None:
    """The value of compression.type: a codec's name, "uncompressed", or "producer" for whatever comes."""
    if compression_type == "producer":
        return None
    if compression_type == "uncompressed":
        return Codec.NONE
    return known_codec(Codec[compression_type.upper()])
