"""Produce frames by hand: requests are read where they lie, and the usual answer is packed in one go.

Nothing of a request is copied but the names of its topics: the records stay in the frame, told by where they start and
end. Names stay bytes, as they are in the answer. An answer that is out of the ordinary goes through the schema.
"""

from __future__ import annotations

import struct
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from tidelog.kafka.wire.headers import encode_response
from tidelog.kafka.wire.messages.current_leader import LeaderIdAndEpoch
from tidelog.kafka.wire.messages.produce import (
    COORDINATOR_FENCE_TAG,
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from tidelog.kafka.wire.primitives import MalformedMessage, after_tags, misfit, read_uvarint, uvarint_rest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidelog.kafka.wire.messages.current_leader import NodeEndpoint

FLEXIBLE_FROM = 9
# Names up to here have a length of one byte in the flexible form, which is all that there can be but for nonsense.
_SHORT_NAME_MAX = 126

_INT16 = Struct(">h")
_INT32 = Struct(">i")
_INT64 = Struct(">q")
_ACKS_AND_TIMEOUT = Struct(">hi")
_INDEX_AND_SIZE = Struct(">ii")
# Of a flexible request without transactional id: acks, timeout, number of topics, length of the first name; and what
# follows the name: number of partitions, index, and how the length of the records starts.
_FLEXIBLE_FRONT = Struct(">BhiBB")
_FLEXIBLE_PARTITION = Struct(">BiB")
_NO_TAGS = b"\0\0\0"

# Topic, partition, and where its records start and end in the frame. A tuple, since one is made for every partition.
AskedPartition = tuple[bytes, int, int, int]


class ProduceAsked(NamedTuple):
    """What a request asks for. Records that are null are told as empty ones."""

    transactional_id: bytes | None
    acks: int
    timeout_ms: int
    partitions: list[AskedPartition]
    # The fences of coordinators, by the place of their partition; None where a client asks.
    fences: dict[int, int] | None = None


class Produced(NamedTuple):
    """The answer for one partition."""

    topic: bytes
    partition: int
    error_code: int = 0
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    # Index and reason of each record that was refused.
    record_errors: Sequence[tuple[int, str]] = ()
    error_message: str | None = None
    # Who leads instead: broker and leader epoch.
    current_leader: tuple[int, int] | None = None


# ---- requests


def read_produce(frame: memoryview, at: int, version: int) -> ProduceAsked:
    """The request whose body starts at `at`, in versions from 3 on. Raises MalformedMessage."""
    try:
        return _read_flexible(frame, at) if version >= FLEXIBLE_FROM else _read_classic(frame, at)
    except (IndexError, struct.error):
        raise MalformedMessage(f"ProduceRequest v{version} ends too early") from None


def _read_classic(frame: memoryview, at: int) -> ProduceAsked:
    end = len(frame)
    (size,) = _INT16.unpack_from(frame, at)
    id_at = at + 2
    at = id_at + max(size, 0)
    if size < -1 or at > end:
        raise misfit("transactional_id", size)
    transactional_id = bytes(frame[id_at:at]) if size >= 0 else None
    acks, timeout_ms = _ACKS_AND_TIMEOUT.unpack_from(frame, at)
    topics, at = _read_count(frame, at + 6)
    partitions: list[AskedPartition] = []
    for _ in range(topics):
        (length,) = _INT16.unpack_from(frame, at)
        start = at + 2
        at = start + length
        if length < 0 or at > end:
            raise misfit("name", length)
        topic = bytes(frame[start:at])
        count, at = _read_count(frame, at)
        for _ in range(count):
            index, length = _INDEX_AND_SIZE.unpack_from(frame, at)
            start = at + 8
            at = start + length if length >= 0 else start
            if length < -1 or at > end:
                raise misfit("records", length)
            partitions.append((topic, index, start, at))
    return ProduceAsked(transactional_id, acks, timeout_ms, partitions)


def _read_count(frame: memoryview, at: int) -> tuple[int, int]:
    (count,) = _INT32.unpack_from(frame, at)
    if count < 0:
        raise misfit("an array", count)
    return count, at + 4


def _read_one(frame: memoryview, at: int) -> ProduceAsked | None:
    """The usual flexible request: no transaction, one topic, one partition, no tags. None if it is another one."""
    transactional, acks, timeout_ms, topics, length = _FLEXIBLE_FRONT.unpack_from(frame, at)
    if transactional or topics != 2 or not 1 < length <= _SHORT_NAME_MAX:
        return None
    name_at = at + _FLEXIBLE_FRONT.size
    at = name_at + length - 1
    if at + _FLEXIBLE_PARTITION.size > len(frame):
        return None
    partitions, index, size = _FLEXIBLE_PARTITION.unpack_from(frame, at)
    start = at + _FLEXIBLE_PARTITION.size
    if size >= 0x80:
        size, start = uvarint_rest(frame, start, size)
    stop = start + size - 1
    if partitions != 2 or not size or frame[stop : stop + 3] != _NO_TAGS:
        return None
    return ProduceAsked(None, acks, timeout_ms, [(bytes(frame[name_at:at]), index, start, stop)])


def _read_flexible(frame: memoryview, at: int) -> ProduceAsked:
    usual = _read_one(frame, at) if len(frame) - at > _FLEXIBLE_FRONT.size else None
    if usual is not None:
        return usual
    end = len(frame)
    length, id_at = read_uvarint(frame, at)
    at = id_at + max(length - 1, 0)
    if at > end:
        raise misfit("transactional_id", length - 1)
    transactional_id = bytes(frame[id_at:at]) if length else None
    acks, timeout_ms = _ACKS_AND_TIMEOUT.unpack_from(frame, at)
    topics, at = _read_compact_count(frame, at + 6)
    partitions: list[AskedPartition] = []
    fences: dict[int, int] | None = None
    for _ in range(topics):
        length, start = read_uvarint(frame, at)
        at = start + length - 1
        if not length or at > end:
            raise misfit("name", length - 1)
        topic = bytes(frame[start:at])
        count, at = _read_compact_count(frame, at)
        for _ in range(count):
            (index,) = _INT32.unpack_from(frame, at)
            length, start = read_uvarint(frame, at + 4)
            stop = start + length - 1 if length else start
            if stop > end:
                raise misfit("records", length - 1)
            if frame[stop]:
                fences = {} if fences is None else fences
                at = _read_partition_tags(frame, stop, len(partitions), fences)
            else:
                at = stop + 1
            partitions.append((topic, index, start, stop))
        at = after_tags(frame, at)
    after_tags(frame, at)
    return ProduceAsked(transactional_id, acks, timeout_ms, partitions, fences or None)


def _read_compact_count(frame: memoryview, at: int) -> tuple[int, int]:
    count, at = read_uvarint(frame, at)
    if not count:
        raise misfit("an array", -1)
    return count - 1, at


def _read_partition_tags(frame: memoryview, at: int, place: int, fences: dict[int, int]) -> int:
    """Where the tags end. The fence of a coordinator is all that is known here."""
    count, at = read_uvarint(frame, at)
    for _ in range(count):
        tag, at = read_uvarint(frame, at)
        size, at = read_uvarint(frame, at)
        if tag == COORDINATOR_FENCE_TAG:
            if size != _INT64.size:
                raise misfit("coordinator_fence", size)
            (fences[place],) = _INT64.unpack_from(frame, at)
        at += size
        if at > len(frame):
            raise misfit("a tagged field", size)
    return at


# ---- answers


def encode_produced(
    version: int,
    correlation_id: int,
    answers: Sequence[Produced],
    throttle_time_ms: int = 0,
    endpoints: Sequence[NodeEndpoint] = (),
) -> bytes:
    """The whole frame of an answer, in versions from 3 on."""
    if len(answers) == 1:
        topic, index, error_code, offset, time_ms, start, record_errors, message, leader = answers[0]
        if not record_errors and message is None and leader is None and len(topic) <= _SHORT_NAME_MAX:
            return _encode_one(
                version, correlation_id, topic, index, error_code, offset, time_ms, start, throttle_time_ms
            )
    return encode_response(_response(answers, throttle_time_ms, endpoints), version, correlation_id)


def _encode_one(
    version: int,
    correlation_id: int,
    topic: bytes,
    index: int,
    error_code: int,
    base_offset: int,
    log_append_time_ms: int,
    log_start_offset: int,
    throttle_time_ms: int,
) -> bytes:
    length = len(topic)
    packing = _PACKINGS.get((version, length)) or _packing(version, length)
    if version >= FLEXIBLE_FROM:
        # Counts and lengths are one more than what they count; no record errors, no message, no tags.
        return packing.pack(
            packing.size - 4, correlation_id, 0, 2, length + 1, topic, 2,
            index, error_code, base_offset, log_append_time_ms, log_start_offset, 1, 0, 0, 0, throttle_time_ms, 0,
        )  # fmt: skip
    front = (packing.size - 4, correlation_id, 1, length, topic, 1, index, error_code, base_offset, log_append_time_ms)
    if version >= 8:
        return packing.pack(*front, log_start_offset, 0, -1, throttle_time_ms)
    if version >= 5:
        return packing.pack(*front, log_start_offset, throttle_time_ms)
    return packing.pack(*front, throttle_time_ms)


# By version and length of the topic's name. A client's topics have few different lengths.
_PACKINGS: dict[tuple[int, int], Struct] = {}


def _packing(version: int, length: int) -> Struct:
    if version >= FLEXIBLE_FROM:
        layout = f">iiBBB{length}sBihqqqBBBBiB"
    elif version >= 8:
        layout = f">iiih{length}siihqqqihi"
    else:
        layout = f">iiih{length}siihqq{'q' if version >= 5 else ''}i"
    made = _PACKINGS[version, length] = Struct(layout)
    return made


def _response(answers: Sequence[Produced], throttle_time_ms: int, endpoints: Sequence[NodeEndpoint]) -> ProduceResponse:
    by_topic: dict[bytes, list[PartitionProduceResponse]] = {}
    for answer in answers:
        by_topic.setdefault(answer.topic, []).append(_partition_response(answer))
    return ProduceResponse(
        responses=[
            TopicProduceResponse(name=str(topic, "utf-8", "replace"), partition_responses=partitions)
            for topic, partitions in by_topic.items()
        ],
        throttle_time_ms=throttle_time_ms,
        node_endpoints=list(endpoints),
    )


def _partition_response(answer: Produced) -> PartitionProduceResponse:
    leader = answer.current_leader
    return PartitionProduceResponse(
        index=answer.partition,
        error_code=answer.error_code,
        base_offset=answer.base_offset,
        log_append_time_ms=answer.log_append_time_ms,
        log_start_offset=answer.log_start_offset,
        record_errors=[
            BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=reason)
            for index, reason in answer.record_errors
        ],
        error_message=answer.error_message,
        current_leader=None if leader is None else LeaderIdAndEpoch(leader_id=leader[0], leader_epoch=leader[1]),
    )
