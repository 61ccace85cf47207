"""Fetch as a follower speaks it: requests written and answers read by hand, in one version.

The leader's side is hot_fetch_request.py and hot_fetch_answer.py. Version 15 tells topics by their ids and has the
follower name itself in a tag. Nothing is copied: the records of an answer stay where they lie in its frame.
"""

from __future__ import annotations

import struct
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from tidelog.kafka.wire.primitives import MalformedMessage, after_tags, misfit, read_uvarint, uvarint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidelog.broker.core.fetch_session import FetchedPartition, PartitionKey
    from tidelog.broker.core.fetch_session_client import FetchRequestPlan

VERSION = 15
_FETCH_KEY = 1
_UUID_BYTES = 16

# Length, API key, version, correlation id, client id's length.
_HEADER = Struct(">ihhih")
# The header's tags; waiting time, least and most bytes, isolation level, session id and epoch.
_FRONT = Struct(">Biiibii")
# Number, leader epoch, fetch offset, last fetched epoch, log start offset, most bytes, no tags.
_PARTITION = Struct(">iiqiqiB")
_INT32 = Struct(">i")
# An empty rack; one tag, of number 1 and 13 bytes: replica id, broker epoch, no tags of its own.
_END = Struct(">BBBBiqB")
_REPLICA_TAG, _REPLICA_BYTES = 1, 13

# Correlation id, tags, throttle time, error code, session id.
_ANSWER_FRONT = Struct(">iBihi")
# Number, error code, high watermark, last stable offset, log start offset.
_OFFSETS = Struct(">ihqqq")
_ABORTED_BYTES = 16
_DIVERGING_TAG = 0
_DIVERGING = Struct(">iq")


class FollowerIdentity(NamedTuple):
    """What a follower says of itself and of what it can take, the same in every request."""

    client_id: bytes
    broker_id: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int


class PartitionRecords(NamedTuple):
    """What the leader answered for one partition; its records lie between two places of the frame."""

    key: PartitionKey
    error_code: int
    high_watermark: int
    log_start_offset: int
    # The epoch and its end offset after which the leader's log is another one than ours.
    diverging_epoch: tuple[int, int] | None
    start: int
    end: int


class FollowerAnswer(NamedTuple):
    error_code: int
    session_id: int
    partitions: list[PartitionRecords]


def encode_follower_fetch(
    identity: FollowerIdentity, broker_epoch: int, correlation_id: int, plan: FetchRequestPlan
) -> bytes:
    """A whole frame."""
    client_id, broker_id, max_wait_ms, min_bytes, max_bytes = identity
    out = bytearray(_HEADER.pack(0, _FETCH_KEY, VERSION, correlation_id, len(client_id)))
    out += client_id
    out += _FRONT.pack(0, max_wait_ms, min_bytes, max_bytes, 0, plan.session_id, plan.epoch)
    _add_partitions(out, plan.partitions)
    _add_forgotten(out, plan.forgotten)
    out += _END.pack(1, 1, _REPLICA_TAG, _REPLICA_BYTES, broker_id, broker_epoch, 0)
    _INT32.pack_into(out, 0, len(out) - 4)
    return bytes(out)


def _add_partitions(out: bytearray, partitions: Iterable[FetchedPartition]) -> None:
    topics: dict[bytes, list[FetchedPartition]] = {}
    for partition in partitions:
        topics.setdefault(partition.key[0], []).append(partition)
    out += uvarint(len(topics) + 1)
    for topic_id, asked in topics.items():
        out += topic_id
        out += uvarint(len(asked) + 1)
        for one in asked:
            out += _PARTITION.pack(
                one.key[1],
                one.leader_epoch,
                one.fetch_offset,
                one.last_fetched_epoch,
                one.log_start_offset,
                one.max_bytes,
                0,
            )
        out.append(0)


def _add_forgotten(out: bytearray, forgotten: Iterable[PartitionKey]) -> None:
    topics: dict[bytes, list[int]] = {}
    for topic_id, index in forgotten:
        topics.setdefault(topic_id, []).append(index)
    out += uvarint(len(topics) + 1)
    for topic_id, indexes in topics.items():
        out += topic_id
        out += uvarint(len(indexes) + 1)
        out += struct.pack(f">{len(indexes)}i", *indexes)
        out.append(0)


def read_follower_answer(frame: memoryview) -> FollowerAnswer:
    """The answer in a frame, whose length is not part of it. Raises MalformedMessage."""
    try:
        return _read(frame)
    except (IndexError, struct.error):
        raise MalformedMessage("FetchResponse ends too early") from None


def _read(frame: memoryview) -> FollowerAnswer:
    _, tags, _, error_code, session_id = _ANSWER_FRONT.unpack_from(frame)
    if tags:
        raise MalformedMessage("a response header with tags that nobody knows")
    topics, at = _read_count(frame, _ANSWER_FRONT.size)
    found: list[PartitionRecords] = []
    for _ in range(topics):
        topic_id = bytes(frame[at : at + _UUID_BYTES])
        partitions, at = _read_count(frame, at + _UUID_BYTES)
        for _ in range(partitions):
            partition, at = _read_partition(frame, at, topic_id)
            found.append(partition)
        at = after_tags(frame, at)
    return FollowerAnswer(error_code, session_id, found)


def _read_partition(frame: memoryview, at: int, topic_id: bytes) -> tuple[PartitionRecords, int]:
    index, error_code, high_watermark, _, log_start_offset = _OFFSETS.unpack_from(frame, at)
    at = _after_aborted(frame, at + _OFFSETS.size)
    # The preferred read replica is nothing for a follower.
    size, start = read_uvarint(frame, at + 4)
    end = start + max(size - 1, 0)
    if end > len(frame):
        raise misfit("records", size - 1)
    tags, at = read_uvarint(frame, end)
    diverging = None
    if tags:
        diverging, at = _read_tags(frame, at, tags)
    return PartitionRecords((topic_id, index), error_code, high_watermark, log_start_offset, diverging, start, end), at


def _after_aborted(frame: memoryview, at: int) -> int:
    """Only those who read committed records are told of transactions, but the list may be there."""
    count, at = read_uvarint(frame, at)
    for _ in range(count - 1):
        at = after_tags(frame, at + _ABORTED_BYTES)
    return at


def _read_tags(frame: memoryview, at: int, count: int) -> tuple[tuple[int, int] | None, int]:
    diverging: tuple[int, int] | None = None
    for _ in range(count):
        tag, at = read_uvarint(frame, at)
        size, at = read_uvarint(frame, at)
        if at + size > len(frame):
            raise misfit("a tagged field", size)
        if tag == _DIVERGING_TAG:
            diverging = _DIVERGING.unpack_from(frame, at)
        at += size
    return diverging, at


def _read_count(frame: memoryview, at: int) -> tuple[int, int]:
    count, at = read_uvarint(frame, at)
    return max(count - 1, 0), at
