"""Reads from a consumer's JoinGroup metadata which topics it follows.

The metadata is the client's own business and may be anything. What cannot be read stands for "unknown", under which
every topic counts as followed; it never fails a rebalance.
"""

from collections.abc import Iterable
from struct import Struct, error

CONSUMER_PROTOCOL_TYPE = "consumer"

_HEAD = Struct(">hi")  # version, number of topics; later versions only add fields after the topics
_LENGTH = Struct(">h")


def followed_topics(metadata: bytes) -> frozenset[str] | None:
    """The topics of a ConsumerProtocolSubscription, or None if it is not one."""
    try:
        version, count = _HEAD.unpack_from(metadata)
        # A lying count is found out before anything is made of it.
        if version < 0 or not 0 <= count * _LENGTH.size <= len(metadata):
            return None
        return frozenset(_texts(metadata, _HEAD.size, count))
    except (error, ValueError):
        return None


def topics_of_all(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """All topics that any of these follows, or None if one cannot be read."""
    found: set[str] = set()
    for metadata in subscriptions:
        topics = followed_topics(metadata)
        if topics is None:
            return None
        found |= topics
    return frozenset(found)


def _texts(data: bytes, at: int, count: int) -> Iterable[str]:
    for _ in range(count):
        (size,) = _LENGTH.unpack_from(data, at)
        start, at = at + _LENGTH.size, at + _LENGTH.size + size
        if size < 0 or at > len(data):
            raise ValueError("a topic's name does not fit")
        yield data[start:at].decode("utf-8")
