"""Fetch frames by hand: requests are unpacked a topic at a time, and answers are bytes with ranges of files between.

The fields of a partition depend on the version, but not their length: one Struct reads or writes them whole.
Topics are told by the bytes that the wire has for them: the name up to version 12, the 16 bytes of the id from 13 on.
"""

from __future__ import annotations

import struct
from itertools import groupby
from operator import attrgetter
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from tidelog.broker.core.fetch_session import FetchedPartition
from tidelog.kafka.wire.primitives import MalformedMessage, misfit, read_uvarint, skip_tags, uvarint
from tidelog.net.outbox import FileRange

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from tidelog.broker.core.fetch_session import PartitionKey
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

FLEXIBLE_FROM = 12
TOPIC_IDS_FROM = 13
# One read and one write of both header and records cost less than a write, a sendfile and a write, up to about here.
_INLINE_BYTES_MAX = 16 * 1024
_UUID_BYTES = 16
NO_REPLICA = -1

_INT16 = Struct(">h")
_INT32 = Struct(">i")
_REPLICA_STATE = Struct(">iq")


class FetchAsked(NamedTuple):
    replica_id: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int
    session_epoch: int
    partitions: list[FetchedPartition]
    forgotten: list[PartitionKey]
    rack_id: str


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


# ---- requests


def _front(version: int) -> Struct:
    """Replica id, waiting time, least and most bytes, isolation level, session id and epoch."""
    return Struct(">" + ("" if version >= 15 else "i") + "iiib" + ("ii" if version >= 7 else ""))


_FRONTS = {version: _front(version) for version in range(4, 17)}
_PARTITION_4 = Struct(">iqi")
_PARTITION_5 = Struct(">iqqi")
_PARTITION_9 = Struct(">iiqqi")
_PARTITION_12 = Struct(">iiqiqiB")


def read_fetch(frame: memoryview, at: int, version: int) -> FetchAsked:
    """The request whose body starts at `at`, in versions from 4 on. Raises MalformedMessage."""
    try:
        return _read(frame, at, version)
    except (IndexError, struct.error, UnicodeDecodeError):
        raise MalformedMessage(f"FetchRequest v{version} ends too early or has a bad rack") from None


def _read(frame: memoryview, at: int, version: int) -> FetchAsked:
    layout = _FRONTS[version]
    front = layout.unpack_from(frame, at)
    if version >= 15:
        front = (NO_REPLICA, *front)
    if version < 7:
        front = (*front, 0, -1)
    at += layout.size
    flexible = version >= FLEXIBLE_FROM
    partitions, at = _read_topics(frame, at, version)
    forgotten: list[PartitionKey] = []
    rack_id, replica_id = "", front[0]
    if version >= 7:
        forgotten, at = _read_forgotten(frame, at, version)
    if version >= 11:
        rack, at = _read_name(frame, at, flexible=flexible)
        rack_id = rack.decode()
    if flexible:
        replica_id = _read_replica_id(frame, at, replica_id)
    _, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch = front
    return FetchAsked(
        replica_id,
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation_level,
        session_id,
        session_epoch,
        partitions,
        forgotten,
        rack_id,
    )


def _read_topics(frame: memoryview, at: int, version: int) -> tuple[list[FetchedPartition], int]:
    flexible = version >= FLEXIBLE_FROM
    topics, at = _read_count(frame, at, flexible=flexible)
    asked: list[FetchedPartition] = []
    for _ in range(topics):
        topic, at = _read_topic(frame, at, version)
        count, at = _read_count(frame, at, flexible=flexible)
        if flexible:
            at = _after_tags(frame, _read_tagged_partitions(frame, at, count, topic, asked))
        else:
            at = _read_plain_partitions(frame, at, count, topic, asked, version)
    return asked, at


def _read_plain_partitions(
    frame: memoryview, at: int, count: int, topic: bytes, asked: list[FetchedPartition], version: int
) -> int:
    layout = _PARTITION_9 if version >= 9 else _PARTITION_5 if version >= 5 else _PARTITION_4
    stop = at + count * layout.size
    if stop > len(frame):
        raise misfit("partitions", count)
    rows = layout.iter_unpack(frame[at:stop])
    if version >= 9:
        asked += [
            FetchedPartition((topic, i), offset, size, epoch, -1, start) for i, epoch, offset, start, size in rows
        ]
    elif version >= 5:
        asked += [FetchedPartition((topic, i), offset, size, -1, -1, start) for i, offset, start, size in rows]
    else:
        asked += [FetchedPartition((topic, i), offset, size) for i, offset, size in rows]
    return stop


def _read_tagged_partitions(frame: memoryview, at: int, count: int, topic: bytes, asked: list[FetchedPartition]) -> int:
    """Each ends with its tags. Almost always there are none, and then all can be unpacked at once."""
    layout = _PARTITION_12
    stop = at + count * layout.size
    if stop > len(frame):
        raise misfit("partitions", count)
    rows = list(layout.iter_unpack(frame[at:stop]))
    if any(row[6] for row in rows):
        rows, stop = _rows_with_tags(frame, at, count)
    asked += [
        FetchedPartition((topic, i), offset, size, epoch, last, start)
        for i, epoch, offset, last, start, size, _ in rows
    ]
    return stop


def _rows_with_tags(frame: memoryview, at: int, count: int) -> tuple[list[tuple[int, ...]], int]:
    rows = []
    for _ in range(count):
        rows.append(_PARTITION_12.unpack_from(frame, at))
        at = _after_tags(frame, at + _PARTITION_12.size - 1)
    return rows, at


def _read_forgotten(frame: memoryview, at: int, version: int) -> tuple[list[PartitionKey], int]:
    flexible = version >= FLEXIBLE_FROM
    topics, at = _read_count(frame, at, flexible=flexible)
    forgotten: list[PartitionKey] = []
    for _ in range(topics):
        topic, at = _read_topic(frame, at, version)
        count, at = _read_count(frame, at, flexible=flexible)
        if count * 4 > len(frame) - at:
            raise misfit("forgotten partitions", count)
        forgotten += [(topic, index) for index in struct.unpack_from(f">{count}i", frame, at)]
        at += count * 4
        if flexible:
            at = _after_tags(frame, at)
    return forgotten, at


def _read_topic(frame: memoryview, at: int, version: int) -> tuple[bytes, int]:
    if version < TOPIC_IDS_FROM:
        return _read_name(frame, at, flexible=version >= FLEXIBLE_FROM)
    topic = bytes(frame[at : at + _UUID_BYTES])
    if len(topic) < _UUID_BYTES:
        raise misfit("topic_id", len(topic))
    return topic, at + _UUID_BYTES


def _read_name(frame: memoryview, at: int, *, flexible: bool) -> tuple[bytes, int]:
    if flexible:
        length, start = read_uvarint(frame, at)
        length -= 1
    else:
        (length,) = _INT16.unpack_from(frame, at)
        start = at + 2
    if length < 0 or start + length > len(frame):
        raise misfit("a name", length)
    return bytes(frame[start : start + length]), start + length


def _read_count(frame: memoryview, at: int, *, flexible: bool) -> tuple[int, int]:
    if flexible:
        count, at = read_uvarint(frame, at)
        count -= 1
    else:
        (count,) = _INT32.unpack_from(frame, at)
        at += 4
    if count < 0:
        raise misfit("an array", count)
    return count, at


def _after_tags(frame: memoryview, at: int) -> int:
    count, at = read_uvarint(frame, at)
    return skip_tags(frame, at, count) if count else at


def _read_replica_id(frame: memoryview, at: int, replica_id: int) -> int:
    """The tags of the body: from version 15 on a follower says there who it is."""
    count, at = read_uvarint(frame, at)
    for _ in range(count):
        tag, at = read_uvarint(frame, at)
        size, at = read_uvarint(frame, at)
        if at + size > len(frame):
            raise misfit("a tagged field", size)
        if tag == 1:
            replica_id = _REPLICA_STATE.unpack_from(frame, at)[0]
        at += size
    return replica_id


# ---- answers

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
_DIVERGING_TAG, _LEADER_TAG = 0, 1
# An epoch and an offset, or a broker and an epoch, and no tags of their own.
_DIVERGING = Struct(">iqB")
_LEADER = Struct(">iiB")
_ENDPOINT_PORT = Struct(">i")


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
    parts = _Parts()
    topics = _by_topic(answer.partitions)
    if version >= FLEXIBLE_FROM:
        _encode_flexible(version, correlation_id, answer, topics, parts)
    else:
        _encode_classic(version, correlation_id, answer, topics, parts)
    return parts.finish()


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
