"""The group or transactional id that a request is about, read from its frame without decoding the rest."""

import struct
from functools import lru_cache
from struct import Struct

from tidelog.kafka.coordination.sharding import shard_of
from tidelog.kafka.wire.primitives import MalformedMessage, misfit, read_uvarint

_INT16 = Struct(">h")
_SHARDS_KEPT = 16_384
_ONE_GROUP = 2


def first_key(frame: memoryview, at: int, *, flexible: bool) -> bytes:
    """The string with which the body begins. Raises MalformedMessage, also where it is null."""
    start, end = _string_at(frame, at, flexible=flexible)
    return bytes(frame[start:end])


def second_key(frame: memoryview, at: int, *, flexible: bool) -> bytes:
    """The string after the first."""
    _, end = _string_at(frame, at, flexible=flexible)
    return first_key(frame, end, flexible=flexible)


def only_group(frame: memoryview, at: int) -> bytes | None:
    """The group of an OffsetFetch from v8 on; None if there are several, or none."""
    try:
        count, at = read_uvarint(frame, at)
    except IndexError:
        raise MalformedMessage("OffsetFetchRequest ends too early") from None
    return first_key(frame, at, flexible=True) if count == _ONE_GROUP else None


@lru_cache(_SHARDS_KEPT)
def shard_of_key(key: bytes, partition_count: int) -> int:
    """The same as `shard_of`, for a key as it is on the wire; clients ask for the same few again and again."""
    return shard_of(str(key, "utf-8", "replace"), partition_count)


def _string_at(frame: memoryview, at: int, *, flexible: bool) -> tuple[int, int]:
    try:
        if flexible:
            length, start = read_uvarint(frame, at)
            length -= 1
        else:
            (length,) = _INT16.unpack_from(frame, at)
            start = at + 2
    except (IndexError, struct.error):
        raise MalformedMessage("a request that ends before its key") from None
    end = start + length
    if length < 0 or end > len(frame):
        raise misfit("a key", length)
    return start, end
