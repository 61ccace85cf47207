"""A look at every record of a produced batch: is each well-formed, and what do keys and timestamps say.

A leader does this for every batch. Many records that are laid out alike are looked at together (alike.py); all others go
through aiokafka's compiled reader, which is imported at the first batch. It is a reader for consumers and strict enough,
but it also refuses what Kafka accepts (header keys that are not UTF-8); so its refusal only makes the slow reader look,
and that one decides. It reads a record's attributes, a byte that every client leaves 0, as a variable-length integer: a
producer that sets its highest bit fools it, and with it nobody but its own readers.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from operator import attrgetter
from typing import Any, NamedTuple

from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.alike import RECORDS_MIN, are_well_formed
from tidelog.kafka.records.compression import inflate, known_codec
from tidelog.kafka.records.header import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    HEADER_SIZE,
    INT16,
    LOG_APPEND_TIME,
    NO_TIMESTAMP,
    BatchHeader,
    Buffer,
    read_header,
)
from tidelog.kafka.records.record import StoredRecord, walk_records

# Bounds the memory of a survey: a batch of 128 MiB may hold twenty million records.
_CHUNK = 256
_READER_REFUSALS = (RuntimeError, ValueError, AssertionError, IndexError, OverflowError)

_timestamp = attrgetter("timestamp")
_offset = attrgetter("offset")
_key = attrgetter("key")


class RecordError(NamedTuple):
    """Why one record was refused; the index counts the records of the batch."""

    batch_index: int
    message: str


class InvalidRecordsError(KafkaError):
    """A refusal that can name the records at fault."""

    def __init__(self, code: KafkaCode, message: str, record_errors: tuple[RecordError, ...]) -> None:
        super().__init__(code, message)
        self.record_errors = record_errors


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the records of a batch must have beyond being well-formed."""

    keys: bool = False
    oldest_timestamp: int | None = None
    newest_timestamp: int | None = None
    consecutive_offsets: bool = False

    @property
    def is_trivial(self) -> bool:
        return not (self.keys or self.consecutive_offsets) and self.oldest_timestamp is self.newest_timestamp is None


ANY_RECORDS = Expectation()


def survey(batch: Buffer, header: BatchHeader, expected: Expectation = ANY_RECORDS) -> int:
    """The largest timestamp of the records. INVALID_RECORD or INVALID_TIMESTAMP if one is not as expected."""
    opened = _opened(batch, header)
    if expected.is_trivial:
        return largest_timestamp(opened)
    return _survey_each(opened, expected)


def _opened(batch: Buffer, header: BatchHeader) -> Buffer:
    """The batch without compression and with the timestamps that its records carry themselves."""
    if not header.attributes & (CODEC_MASK | LOG_APPEND_TIME):
        return batch
    opened = inflate(memoryview(batch)[HEADER_SIZE:], known_codec(header.codec), room_before=HEADER_SIZE)
    opened[:HEADER_SIZE] = batch[:HEADER_SIZE]
    INT16.pack_into(opened, ATTRIBUTES_AT, header.attributes & ~(CODEC_MASK | LOG_APPEND_TIME))
    return opened


@cache
def _compiled_reader() -> Callable[[Buffer], Any]:
    from aiokafka.record.default_records import DefaultRecordBatch

    reader: Callable[[Buffer], Any] = DefaultRecordBatch
    return reader


def has_right_timestamp(batch: memoryview, header: BatchHeader) -> bool:
    """Whether the header of a batch without compression tells the largest timestamp, after a look at each record."""
    count, largest = header.records_count, header.max_timestamp
    if count >= RECORDS_MIN and are_well_formed(batch[HEADER_SIZE:], count, largest - header.base_timestamp):
        return True
    return largest_timestamp(batch) == largest


def largest_timestamp(batch: Buffer) -> int:
    """Of a batch without compression, after a look at each of its records."""
    try:
        return int(max(map(_timestamp, _compiled_reader()(batch))))
    except _READER_REFUSALS:
        return max(record.timestamp for record in _strictly(batch))


def _strictly(batch: Buffer) -> Iterator[StoredRecord]:
    header = read_header(batch)
    return walk_records(header, memoryview(batch)[HEADER_SIZE:])


def _survey_each(batch: Buffer, expected: Expectation) -> int:
    try:
        largest, faults = _look_at_each(_compiled_reader()(batch), expected)
    except _READER_REFUSALS:
        largest, faults = _look_at_each(_strictly(batch), expected)
    if faults:
        raise _refusal(faults)
    return largest


_Fault = tuple[KafkaCode, RecordError]


def _look_at_each(records: Any, expected: Expectation) -> tuple[int, list[_Fault]]:
    # aiokafka's reader may be asked for an iterator only once, which chain does.
    source = chain(records)
    largest, index, faults = NO_TIMESTAMP, 0, list[_Fault]()
    while block := list(islice(source, _CHUNK)):
        timestamps = list(map(_timestamp, block))
        largest = max(largest, *timestamps)
        if not _is_plainly_right(block, index, timestamps, expected):
            faults += filter(None, (_fault_of(record, n, expected) for n, record in enumerate(block, index)))
        index += len(block)
    return largest, faults


def _is_plainly_right(block: list[Any], index: int, timestamps: list[int], expected: Expectation) -> bool:
    """Whole-block tests, an order of magnitude faster than to ask of each record what its fault may be."""
    if expected.consecutive_offsets and list(map(_offset, block)) != list(range(index, index + len(block))):
        return False
    if expected.keys and None in map(_key, block):
        return False
    if expected.oldest_timestamp is not None and min(timestamps) < expected.oldest_timestamp:
        return False
    return expected.newest_timestamp is None or max(timestamps) <= expected.newest_timestamp


def _fault_of(record: Any, index: int, expected: Expectation) -> _Fault | None:
    if expected.keys and record.key is None:
        return KafkaCode.INVALID_RECORD, RecordError(index, "A record of a compacted topic must have a key.")
    if expected.consecutive_offsets and record.offset != index:
        return KafkaCode.INVALID_RECORD, RecordError(index, f"Its offset delta is {record.offset}, not {index}.")
    timestamp = record.timestamp
    if timestamp == NO_TIMESTAMP:
        return None
    if expected.oldest_timestamp is not None and timestamp < expected.oldest_timestamp:
        return _out_of_window(index, timestamp)
    if expected.newest_timestamp is not None and timestamp > expected.newest_timestamp:
        return _out_of_window(index, timestamp)
    return None


def _out_of_window(index: int, timestamp: int) -> _Fault:
    return KafkaCode.INVALID_TIMESTAMP, RecordError(index, f"Timestamp {timestamp} is outside of the allowed window.")


def _refusal(faults: list[_Fault]) -> InvalidRecordsError:
    codes = {code for code, _ in faults}
    code = KafkaCode.INVALID_TIMESTAMP if KafkaCode.INVALID_TIMESTAMP in codes else KafkaCode.INVALID_RECORD
    errors = tuple(error for _, error in faults)
    first = errors[0]
    return InvalidRecordsError(
        code, f"{len(errors)} records were refused; the first, {first.batch_index}: {first.message}", errors
    )
