"""Fetch answers written by hand: bytes, with ranges of files between them.

The fields of a partition depend on the version, but not their length: one Struct writes them whole. Topics are told by
the bytes that the wire has for them, as in hot_fetch_request.py.
"""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from tidelog.broker.wire.hot_fetch_request import FLEXIBLE_FROM, NO_REPLICA, TOPIC_IDS_FROM
from tidelog.kafka.wire.primitives import uvarint
from tidelog.net.outbox import FileRange

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from tidelog.kafka.wire.messages.current_leader import NodeEndpoint
    from tidelog.net.outbox import Part

    class StoredRange(Protocol):
        """Records where they lie in a file."""

        @property
        def fd(self) -> int: ...
        @property
        def position(self) -> int: ...
        @property
        def size(self) -> int: ...
        def read(self) -> bytes: ...

    class AbortedTransaction(Protocol):
        @property
        def producer_id(self) -> int: ...
        @property
        def first_offset(self) -> int: ...

    Topics = Sequence[tuple[bytes, Sequence["PartitionAnswer"]]]

# One read and one write of both header and records cost less than a write, a sendfile and a write, up to about here.
_INLINE_BYTES_MAX = 16 * 1024

_INT16 = Struct(">h")
_INT32 = Struct(">i")
_PLAIN_4 = Struct(">ihqqii")
_PLAIN_5 = Struct(">ihqqqii")
_PLAIN_11 = Struct(">ihqqqiii")
_OFFSETS_4 = Struct(">ihqq")
_OFFSETS_5 = Struct(">ihqqq")
_ABORTED = Struct(">qq")
_FLEXIBLE_PLAIN = Struct(">ihqqqBi")
_ANSWER_FRONT = Struct(">iiihi")
_OLD_ANSWER_FRONT = Struct(">iii")
_FLEXIBLE_ANSWER_FRONT = Struct(">iiBihi")
# A whole answer about one partition up to its records, and what follows them: no tags of the partition, topic and answer.
_FRONT_OF_ONE = Struct(">iiBihiB16sBihqqqBi")
_END_OF_ONE = bytes(3)
_DIVERGING_TAG, _LEADER_TAG = 0, 1
# An epoch and an offset, or a broker and an epoch, and no tags of their own.
_DIVERGING = Struct(">iqB")
_LEADER = Struct(">iiB")
_ENDPOINT_PORT = Struct(">i")


class PartitionAnswer(NamedTuple):
    """The answer for one partition. The defaults are those of an error: it tells no offsets."""

    topic: bytes
    partition: int
    error_code: int = 0
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    records: StoredRange | None = None
    # None for those who read uncommitted.
    aborted: Sequence[AbortedTransaction] | None = None
    preferred_read_replica: int = NO_REPLICA
    # Epoch and end offset where the reader's log and this one part.
    diverging_epoch: tuple[int, int] | None = None
    # Broker and leader epoch, for one who asked the wrong broker.
    current_leader: tuple[int, int] | None = None


class FetchAnswer(NamedTuple):
    """One answer; neighbours of one topic stand together in it."""

    partitions: Sequence[PartitionAnswer]
    session_id: int = 0
    error_code: int = 0
    throttle_time_ms: int = 0
    endpoints: Sequence[NodeEndpoint] = ()


class _Parts:
    """Collects an answer: bytes grow in one buffer until a range comes, which stands between two of them."""

    __slots__ = ("buffer", "parts", "sent_from_files")

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.parts: list[Part] = []
        self.sent_from_files = 0

    def add_records(self, records: StoredRange | None) -> None:
        if records is None:
            return
        if records.size <= _INLINE_BYTES_MAX:
            self.buffer += records.read()
            return
        self._close_buffer()
        self.parts.append(FileRange(records.fd, records.position, records.size, records))
        self.sent_from_files += records.size

    def finish(self) -> list[Part]:
        """The whole frame; its length, which was left open, is written now."""
        self._close_buffer()
        size = sum(len(part) for part in self.parts if not isinstance(part, FileRange)) + self.sent_from_files
        first = self.parts[0]
        assert isinstance(first, memoryview), "a frame starts with its header"
        _INT32.pack_into(first, 0, size - 4)
        return self.parts

    def _close_buffer(self) -> None:
        if self.buffer:
            self.parts.append(memoryview(self.buffer))
            self.buffer = bytearray()


def encode_fetched(version: int, correlation_id: int, answer: FetchAnswer) -> list[Part]:
    """The whole frame of an answer, in versions from 4 on: bytes, and the ranges of files between them."""
    if version >= TOPIC_IDS_FROM and len(answer.partitions) == 1 and not answer.endpoints:
        (only,) = answer.partitions
        if only.aborted is None and only.diverging_epoch is None and only.current_leader is None:
            return _encode_one(correlation_id, answer, only)
    parts = _Parts()
    topics = _by_topic(answer.partitions)
    if version >= FLEXIBLE_FROM:
        _encode_flexible(version, correlation_id, answer, topics, parts)
    else:
        _encode_classic(version, correlation_id, answer, topics, parts)
    return parts.finish()


def _encode_one(correlation_id: int, answer: FetchAnswer, only: PartitionAnswer) -> list[Part]:
    """The answer to most fetches: of one partition, and without anything special."""
    topic, index, error_code, high, stable, start, records, _, preferred, _, _ = only
    size = 0 if records is None else records.size
    records_size = uvarint(size + 1)
    front = _FRONT_OF_ONE.pack(
        _FRONT_OF_ONE.size - 4 + len(records_size) + size + len(_END_OF_ONE),
        correlation_id,
        0,
        answer.throttle_time_ms,
        answer.error_code,
        answer.session_id,
        2,
        topic,
        2,
        index,
        error_code,
        high,
        stable,
        start,
        0,
        preferred,
    )
    if records is None:
        return [front + records_size + _END_OF_ONE]
    if size <= _INLINE_BYTES_MAX:
        return [front + records_size + records.read() + _END_OF_ONE]
    return [front + records_size, FileRange(records.fd, records.position, size, records), _END_OF_ONE]


def _by_topic(partitions: Sequence[PartitionAnswer]) -> Topics:
    if len(partitions) == 1:
        return [(partitions[0].topic, partitions)]
    return [(topic, list(group)) for topic, group in groupby(partitions, attrgetter("topic"))]


def _encode_classic(
    version: int,
    correlation_id: int,
    answer: FetchAnswer,
    topics: Topics,
    parts: _Parts,
) -> None:
    if version >= 7:
        parts.buffer += _ANSWER_FRONT.pack(
            0, correlation_id, answer.throttle_time_ms, answer.error_code, answer.session_id
        )
    else:
        parts.buffer += _OLD_ANSWER_FRONT.pack(0, correlation_id, answer.throttle_time_ms)
    parts.buffer += _INT32.pack(len(topics))
    for topic, partitions in topics:
        parts.buffer += _INT16.pack(len(topic))
        parts.buffer += topic
        parts.buffer += _INT32.pack(len(partitions))
        for partition in partitions:
            parts.buffer += _classic_partition(version, partition)
            parts.add_records(partition.records)


def _classic_partition(version: int, partition: PartitionAnswer) -> bytes:
    _, index, error_code, high, stable, start, records, aborted, preferred, _, _ = partition
    size = 0 if records is None else records.size
    if aborted is not None:
        offsets = (
            _OFFSETS_5.pack(index, error_code, high, stable, start)
            if version >= 5
            else _OFFSETS_4.pack(index, error_code, high, stable)
        )
        listed = b"".join(_ABORTED.pack(one.producer_id, one.first_offset) for one in aborted)
        last = _INT32.pack(preferred) if version >= 11 else b""
        return offsets + _INT32.pack(len(aborted)) + listed + last + _INT32.pack(size)
    if version >= 11:
        return _PLAIN_11.pack(index, error_code, high, stable, start, -1, preferred, size)
    if version >= 5:
        return _PLAIN_5.pack(index, error_code, high, stable, start, -1, size)
    return _PLAIN_4.pack(index, error_code, high, stable, -1, size)


def _encode_flexible(
    version: int,
    correlation_id: int,
    answer: FetchAnswer,
    topics: Topics,
    parts: _Parts,
) -> None:
    parts.buffer += _FLEXIBLE_ANSWER_FRONT.pack(
        0, correlation_id, 0, answer.throttle_time_ms, answer.error_code, answer.session_id
    )
    parts.buffer += uvarint(len(topics) + 1)
    for topic, partitions in topics:
        if version < TOPIC_IDS_FROM:
            parts.buffer += uvarint(len(topic) + 1)
        parts.buffer += topic
        parts.buffer += uvarint(len(partitions) + 1)
        for partition in partitions:
            _encode_flexible_partition(partition, parts)
        parts.buffer.append(0)
    if answer.endpoints and version >= 16:
        _add_tags(parts.buffer, [(0, _endpoints(answer.endpoints))])
    else:
        parts.buffer.append(0)


def _encode_flexible_partition(partition: PartitionAnswer, parts: _Parts) -> None:
    _, index, error_code, high, stable, start, records, aborted, preferred, diverging, leader = partition
    if aborted is None:
        parts.buffer += _FLEXIBLE_PLAIN.pack(index, error_code, high, stable, start, 0, preferred)
    else:
        parts.buffer += _OFFSETS_5.pack(index, error_code, high, stable, start)
        parts.buffer += uvarint(len(aborted) + 1)
        for one in aborted:
            parts.buffer += _ABORTED.pack(one.producer_id, one.first_offset)
            parts.buffer.append(0)
        parts.buffer += _INT32.pack(preferred)
    parts.buffer += uvarint(1 if records is None else records.size + 1)
    parts.add_records(records)
    if diverging is None and leader is None:
        parts.buffer.append(0)
        return
    tags = []
    if diverging is not None:
        tags.append((_DIVERGING_TAG, _DIVERGING.pack(*diverging, 0)))
    if leader is not None:
        tags.append((_LEADER_TAG, _LEADER.pack(*leader, 0)))
    _add_tags(parts.buffer, tags)


def _add_tags(buffer: bytearray, tags: list[tuple[int, bytes]]) -> None:
    buffer.append(len(tags))
    for tag, value in tags:
        buffer.append(tag)
        buffer += uvarint(len(value))
        buffer += value


def _endpoints(endpoints: Sequence[NodeEndpoint]) -> bytes:
    out = bytearray(uvarint(len(endpoints) + 1))
    for endpoint in endpoints:
        out += _INT32.pack(endpoint.node_id)
        out += _compact(endpoint.host)
        out += _ENDPOINT_PORT.pack(endpoint.port)
        out += b"\0" if endpoint.rack is None else _compact(endpoint.rack)
        out.append(0)
    return bytes(out)


def _compact(text: str) -> bytes:
    encoded = text.encode()
    return uvarint(len(encoded) + 1) + encoded
