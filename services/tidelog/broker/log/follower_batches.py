"""Batches that a follower got from its leader: checked, and cut into what is written at once."""

from typing import NamedTuple

from crc32c import crc32c

from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.header import (
    CRC_START,
    HEADER_SIZE,
    MAGIC,
    SMALLEST_LENGTH,
    BatchHeader,
    Buffer,
    read_header,
)


class UnexpectedOffsetError(KafkaError):
    """Batches from the leader that do not continue the log."""

    def __init__(self, first_offset: int, expected: int) -> None:
        super().__init__(
            KafkaCode.OFFSET_OUT_OF_RANGE, f"The leader sent offset {first_offset} where {expected} or later is next."
        )
        self.first_offset = first_offset


class FollowerBatch(NamedTuple):
    """A batch and where it lies in the data."""

    start: int
    end: int
    header: BatchHeader


def checked_batches(data: Buffer, log_end_offset: int) -> list[FollowerBatch]:
    """All whole batches. A part of one at the end is left out: the leader may cut its answer anywhere."""
    view, start, next_offset = memoryview(data), 0, log_end_offset
    found = []
    while len(view) - start >= HEADER_SIZE:
        header = read_header(view, start)
        if header.magic != MAGIC or header.batch_length < SMALLEST_LENGTH or header.last_offset_delta < 0:
            raise KafkaError(KafkaCode.CORRUPT_MESSAGE, f"The leader sent a malformed batch at {header.base_offset}.")
        end = start + header.size
        if end > len(view):
            break
        if crc32c(view[start + CRC_START : end]) != header.crc:
            raise KafkaError(
                KafkaCode.CORRUPT_MESSAGE, f"The leader's batch at {header.base_offset} has a wrong checksum."
            )
        if header.base_offset < next_offset:
            raise UnexpectedOffsetError(header.base_offset, next_offset)
        found.append(FollowerBatch(start, end, header))
        start, next_offset = end, header.next_offset
    return found


def pieces(batches: list[FollowerBatch], segment_bytes: int) -> list[list[FollowerBatch]]:
    """All at once as a rule. If that is more than a segment takes, each batch by itself: a follower refuses no size."""
    if batches[-1].end - batches[0].start <= segment_bytes:
        return [batches]
    return [[batch] for batch in batches]
