"""Murmur2 as Kafka's Java client computes it, so that a key goes to the same partition from every client."""

import struct
from functools import lru_cache

_SEED = 0x9747B28C
_M = 0x5BD1E995
_WORD = 0xFFFFFFFF
# Keys repeat. A hit costs a tenth of computing the hash, and this many keys of ordinary size stay below 10 MB.
_REMEMBERED = 65_536


def murmur2(data: bytes) -> int:
    """The hash as an unsigned 32-bit number."""
    length = len(data)
    value = (_SEED ^ length) & _WORD
    whole = length & ~3
    for word in struct.unpack_from(f"<{length >> 2}I", data):
        word = word * _M & _WORD
        word = (word ^ word >> 24) * _M & _WORD
        value = value * _M & _WORD ^ word
    if length > whole:
        value = (value ^ int.from_bytes(data[whole:], "little")) * _M & _WORD
    value = (value ^ value >> 13) * _M & _WORD
    return value ^ value >> 15


@lru_cache(_REMEMBERED)
def partition_of_key(key: bytes, partitions: int) -> int:
    """Where Kafka's default partitioner puts a key; the sign bit is dropped, not negated."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
