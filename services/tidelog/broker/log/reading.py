"""Reading a log: file ranges by offset, offsets by timestamp, aborted transactions."""

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from tidelog.broker.log.log_file import FileRange
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.header import NO_TIMESTAMP
from tidelog.kafka.records.record import read_records

if TYPE_CHECKING:
    from tidelog.broker.log.log import Log
    from tidelog.broker.log.segment import Located, Segment
    from tidelog.broker.log.txn_index import AbortedTxn


class Isolation(Enum):
    """How far a reader may see."""

    LOG_END = "a follower"
    HIGH_WATERMARK = "read_uncommitted"
    COMMITTED = "read_committed"


class Fetched(NamedTuple):
    """What a fetch gives: batches as a part of a file, or None, and the offsets at that moment.

    The list of aborted transactions is None unless the isolation is COMMITTED.
    """

    records: FileRange | None
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted: "list[AbortedTxn] | None"


class FoundOffset(NamedTuple):
    """The answer to a search by timestamp."""

    offset: int
    timestamp: int
    leader_epoch: int


def fetch(log: "Log", offset: int, max_bytes: int, isolation: Isolation, *, at_least_one: bool = True) -> Fetched:
    """Batches from the one that holds an offset on. OFFSET_OUT_OF_RANGE if the log does not reach there.

    At most `max_bytes`, which may cut the last batch, but the first one whole if `at_least_one`; without that nothing
    rather than a part of the first. The range never spans segments.
    """
    log.check_online()
    if not log.log_start_offset <= offset <= log.log_end_offset:
        raise KafkaError(
            KafkaCode.OFFSET_OUT_OF_RANGE,
            f"Offset {offset} is not within {log.log_start_offset} to {log.log_end_offset}.",
        )
    stable = log.last_stable_offset
    limit = _limit(log, isolation)
    records: FileRange | None = None
    aborted: list[AbortedTxn] | None = [] if isolation is Isolation.COMMITTED else None
    if offset < limit:
        with log.io():
            records, end_offset = _read(log, offset, limit, max_bytes, at_least_one=at_least_one)
            if aborted is not None and records is not None:
                aborted = aborted_transactions(log, offset, end_offset)
    return Fetched(records, log.high_watermark, stable, log.log_start_offset, aborted)


def read_tail(log: "Log", offset: int, max_bytes: int) -> FileRange | None:
    """Everything from an offset on, if that was appended lately and is not more than this; None if it must be looked for."""
    active = log.segments.active
    file, position = active.file, active.known_position(offset)
    if file is None or position is None or active.size - position > max_bytes:
        return None
    return FileRange(file, position, active.size - position)


def _limit(log: "Log", isolation: Isolation) -> int:
    if isolation is Isolation.LOG_END:
        return log.log_end_offset
    return log.high_watermark if isolation is Isolation.HIGH_WATERMARK else log.last_stable_offset


def _read(log: "Log", offset: int, limit: int, max_bytes: int, *, at_least_one: bool) -> tuple[FileRange | None, int]:
    """The range, and an offset that is not below the end of what is in it."""
    found = _find(log, offset)
    if found is None:
        return None, limit
    segment, first, segment_end = found
    end_position = segment.size if limit >= segment_end else segment.position_of(limit)
    if end_position <= first.position or (first.size > max_bytes and not at_least_one):
        return None, limit
    return segment.read(first, end_position, max_bytes), min(limit, segment_end)


def _find(log: "Log", offset: int) -> "tuple[Segment, Located, int] | None":
    """The first batch that reaches an offset, its segment, and where that ends. Compaction may leave segments empty."""
    segments = log.segments
    for number in range(segments.number_of(offset), len(segments)):
        segment = segments[number]
        located = segment.locate(offset)
        if located is not None:
            end = segments[number + 1].base_offset if number + 1 < len(segments) else log.log_end_offset
            return segment, located, end
    return None


def aborted_transactions(log: "Log", offset: int, end_offset: int) -> "list[AbortedTxn]":
    """Those that a reader of [offset, end_offset) must know to leave out their records."""
    found = []
    for segment in log.segments.from_offset(offset):
        for entry in segment.txn_index.entries():
            if entry.last_offset >= offset and entry.first_offset < end_offset:
                found.append(entry)
            if entry.last_stable_offset >= end_offset:
                return found
    return found


def find_by_timestamp(log: "Log", timestamp: int) -> FoundOffset | None:
    """The first record, by offset, that is not older than a timestamp."""
    with log.io():
        for segment in log.segments:
            if segment.largest.timestamp >= timestamp:
                found = _find_in_segment(log, segment, timestamp)
                if found is not None:
                    return found
    return None


def _find_in_segment(log: "Log", segment: "Segment", timestamp: int) -> FoundOffset | None:
    # Up to the offset of the entry no record is as new, so the search can begin at the batch that holds it.
    start = max(segment.time_index.lookup(timestamp - 1).offset, log.log_start_offset)
    for position, header in segment.headers(segment.offset_index.lookup(start).position):
        if header.max_timestamp < timestamp:
            continue
        for record in read_records(segment.batch_at(position, header.size)):
            if record.timestamp >= timestamp and record.offset >= log.log_start_offset:
                return FoundOffset(record.offset, record.timestamp, header.partition_leader_epoch)
    return None


def find_max_timestamp(log: "Log") -> FoundOffset | None:
    """The first record that has the largest timestamp of the log."""
    with log.io():
        largest = max(segment.largest.timestamp for segment in log.segments)
    return None if largest == NO_TIMESTAMP else find_by_timestamp(log, largest)
