"""Fetch requests read by hand, a topic at a time.

The fields of a partition depend on the version, but not their length: one Struct reads them whole. Topics are told by the
bytes that the wire has for them: the name up to version 12, the 16 bytes of the id from 13 on.
"""

from __future__ import annotations

import struct
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

from tidelog.broker.core.fetch_session import FetchedPartition
from tidelog.kafka.wire.primitives import MalformedMessage, after_tags, misfit, read_uvarint

if TYPE_CHECKING:
    from tidelog.broker.core.fetch_session import PartitionKey

FLEXIBLE_FROM = 12
TOPIC_IDS_FROM = 13
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


def _front(version: int) -> Struct:
    """Replica id, waiting time, least and most bytes, isolation level, session id and epoch."""
    return Struct(">" + ("" if version >= 15 else "i") + "iiib" + ("ii" if version >= 7 else ""))


_FRONTS = {version: _front(version) for version in range(4, 17)}
_PARTITION_4 = Struct(">iqi")
_PARTITION_5 = Struct(">iqqi")
_PARTITION_9 = Struct(">iiqqi")
_PARTITION_12 = Struct(">iiqiqiB")
# A whole request about one partition, in which a follower says who it is, and what follows the partition's own fields in it:
# no tags, no further topic, nothing forgotten, no rack, and one tag of number 1 and 13 bytes.
_OF_ONE = Struct(">iiibiiB16sBiiqiqiBBBBBBBiqB")
_AFTER_ONE = (0, 0, 1, 1, 1, 1, 13)


def read_fetch(frame: memoryview, at: int, version: int) -> FetchAsked:
    """The request whose body starts at `at`, in versions from 4 on. Raises MalformedMessage."""
    try:
        return _read(frame, at, version)
    except (IndexError, struct.error, UnicodeDecodeError):
        raise MalformedMessage(f"FetchRequest v{version} ends too early or has a bad rack") from None


def _read(frame: memoryview, at: int, version: int) -> FetchAsked:
    if version >= 15 and len(frame) - at == _OF_ONE.size:
        asked = _read_of_one(_OF_ONE.unpack_from(frame, at))
        if asked is not None:
            return asked
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


def _read_of_one(fields: tuple[Any, ...]) -> FetchAsked | None:
    """What followers send all the time; None if it only has the same length."""
    (wait_ms, low, high, isolation, session, session_epoch, topics, topic, partitions) = fields[:9]
    index, epoch, offset, last_epoch, start, size = fields[9:15]
    if topics != 2 or partitions != 2 or fields[15:22] != _AFTER_ONE or fields[24]:
        return None
    partition = FetchedPartition((topic, index), offset, size, epoch, last_epoch, start)
    return FetchAsked(fields[22], wait_ms, low, high, isolation, session, session_epoch, [partition], [], "")


def _read_topics(frame: memoryview, at: int, version: int) -> tuple[list[FetchedPartition], int]:
    flexible = version >= FLEXIBLE_FROM
    topics, at = _read_count(frame, at, flexible=flexible)
    asked: list[FetchedPartition] = []
    for _ in range(topics):
        topic, at = _read_topic(frame, at, version)
        count, at = _read_count(frame, at, flexible=flexible)
        if flexible:
            at = after_tags(frame, _read_tagged_partitions(frame, at, count, topic, asked))
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
        at = after_tags(frame, at + _PARTITION_12.size - 1)
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
            at = after_tags(frame, at)
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
