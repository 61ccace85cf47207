"""Reads the answer to a Fetch by hand: record batches are copied once, from the frame to where they wait to be taken.

The codec would copy them three times, and in this answer copying is nearly all there is to do. Topics go by name, that is in
versions 4 to 12.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass

from tidelog.client.records import TopicPartition
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.header import HEADER_SIZE, INT16, INT32, INT64, LENGTH_OVERHEAD
from tidelog.kafka.wire.primitives import MalformedMessage, after_tags, read_uvarint

_LEADER_EPOCH_AT = 12
_LAST_OFFSET_DELTA_AT = 23
_FLEXIBLE = 12
_PARTITION_START = {4: struct.Struct(">ihqq"), 5: struct.Struct(">ihqqq")}
_PAIR = struct.Struct(">qq")
_LEADER = struct.Struct(">ii")
_CURRENT_LEADER_TAG = 1

_NOTHING = memoryview(b"")

# Copies the record batches out of the frame, which is gone after the answer is read.
Keep = Callable[[memoryview], memoryview]


@dataclass(frozen=True, slots=True)
class FetchedPartition:
    """What came for one partition. `next_offset` follows the last whole batch, and is None if there is none.

    `last_epoch` is the leader epoch of that batch. `leader` and `leader_epoch` are a hint that comes with a refusal.
    """

    code: KafkaCode
    records: memoryview = _NOTHING
    next_offset: int | None = None
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    aborted: tuple[tuple[int, int], ...] = ()
    preferred_replica: int = -1
    leader: int = -1
    leader_epoch: int = -1
    last_epoch: int = -1


@dataclass(frozen=True, slots=True)
class FetchAnswer:
    """A whole answer; in a session it names only the partitions of which there is something new."""

    session_id: int
    partitions: dict[TopicPartition, FetchedPartition]


def read_fetch_response(frame: memoryview, at: int, version: int, keep: Keep) -> FetchAnswer:
    """The answer whose body starts at `at`. Raises the error of the answer as a whole."""
    try:
        return _Reading(frame, at, version, keep).body()
    except (IndexError, struct.error):
        raise MalformedMessage(f"FetchResponse v{version} ends too early") from None


class _Reading:
    """One pass over one answer."""

    def __init__(self, frame: memoryview, at: int, version: int, keep: Keep) -> None:
        self._frame = frame
        self._at = at
        self._version = version
        self._is_flexible = version >= _FLEXIBLE
        self._start = _PARTITION_START[min(version, 5)]
        self._keep = keep

    def body(self) -> FetchAnswer:
        self._at += 4
        session_id = 0
        if self._version >= 7:
            code = self._int(INT16)
            session_id = self._int(INT32)
            if code:
                raise KafkaError(KafkaCode(code))
        found: dict[TopicPartition, FetchedPartition] = {}
        for _ in range(self._count()):
            topic = bytes(self._bytes(self._length(INT16))).decode()
            for _ in range(self._count()):
                number, partition = self._partition()
                found[TopicPartition(topic, number)] = partition
            self._skip_tags()
        return FetchAnswer(session_id, found)

    def _partition(self) -> tuple[int, FetchedPartition]:
        number, code, high_watermark, last_stable, *log_start = self._start.unpack_from(self._frame, self._at)
        self._at += self._start.size
        aborted = tuple(self._aborted() for _ in range(self._count()))
        preferred = self._int(INT32) if self._version >= 11 else -1
        records = self._bytes(self._length(INT32))
        leader, leader_epoch = self._leader()
        if code:
            return number, FetchedPartition(KafkaCode(code), leader=leader, leader_epoch=leader_epoch)
        kept = self._keep(records) if len(records) else _NOTHING
        next_offset, last_epoch = end_of(kept)
        return number, FetchedPartition(
            KafkaCode.NONE,
            kept,
            next_offset,
            high_watermark,
            last_stable,
            log_start[0] if log_start else -1,
            aborted,
            preferred,
            last_epoch=last_epoch,
        )

    def _aborted(self) -> tuple[int, int]:
        producer_id, first_offset = _PAIR.unpack_from(self._frame, self._at)
        self._at += _PAIR.size
        self._skip_tags()
        return first_offset, producer_id

    def _leader(self) -> tuple[int, int]:
        """The hint in the partition's tags, if there is one."""
        if not self._is_flexible:
            return -1, -1
        found = (-1, -1)
        count, at = read_uvarint(self._frame, self._at)
        for _ in range(count):
            tag, at = read_uvarint(self._frame, at)
            size, at = read_uvarint(self._frame, at)
            if tag == _CURRENT_LEADER_TAG:
                found = _LEADER.unpack_from(self._frame, at)
            at += size
        self._at = at
        return found

    # ---- pieces

    def _int(self, field: struct.Struct) -> int:
        value: int = field.unpack_from(self._frame, self._at)[0]
        self._at += field.size
        return value

    def _length(self, classic: struct.Struct) -> int:
        """Of a text, an array or bytes; null is as empty."""
        if not self._is_flexible:
            return max(0, self._int(classic))
        length, self._at = read_uvarint(self._frame, self._at)
        return max(0, length - 1)

    def _count(self) -> int:
        return self._length(INT32)

    def _bytes(self, length: int) -> memoryview:
        end = self._at + length
        if end > len(self._frame):
            raise IndexError
        found = self._frame[self._at : end]
        self._at = end
        return found

    def _skip_tags(self) -> None:
        if self._is_flexible:
            self._at = after_tags(self._frame, self._at)


def end_of(records: memoryview | bytes) -> tuple[int | None, int]:
    """The offset after the last whole batch, found by going from length to length, and the batch's leader epoch."""
    at, end, last = 0, len(records), -1
    while end - at >= HEADER_SIZE:
        size: int = INT32.unpack_from(records, at + 8)[0] + LENGTH_OVERHEAD
        if size < HEADER_SIZE or size > end - at:
            # Old message formats are shorter than a header; the reader tells what is wrong with them.
            break
        last, at = at, at + size
    if last < 0:
        return None, -1
    next_offset: int = (
        INT64.unpack_from(records, last)[0] + INT32.unpack_from(records, last + _LAST_OFFSET_DELTA_AT)[0] + 1
    )
    return next_offset, INT32.unpack_from(records, last + _LEADER_EPOCH_AT)[0]
