"""Reads from a consumer's assignment which partitions it was given.

The assignment is the clients' own business, like the subscription; what cannot be read is shown as nothing.
"""

from struct import Struct, error

from tidelog.group_coordinator.core.groups.offsets import Partition

_HEAD = Struct(">hi")  # version, number of topics
_LENGTH = Struct(">h")
_COUNT = Struct(">i")


def assigned_partitions(assignment: bytes) -> tuple[Partition, ...]:
    """The partitions of a ConsumerProtocolAssignment."""
    try:
        return tuple(_partitions(assignment))
    except (error, ValueError):
        return ()


def _partitions(data: bytes) -> list[Partition]:
    version, topics = _HEAD.unpack_from(data)
    # A lying count is found out before anything is made of it.
    if version < 0 or topics * (_LENGTH.size + _COUNT.size) > len(data):
        raise ValueError("not an assignment")
    found: list[Partition] = []
    at = _HEAD.size
    for _ in range(topics):
        (size,) = _LENGTH.unpack_from(data, at)
        if size < 0:
            raise ValueError("a topic without a name")
        topic = data[at + _LENGTH.size : at + _LENGTH.size + size].decode("utf-8")
        at += _LENGTH.size + size
        (count,) = _COUNT.unpack_from(data, at)
        at += _COUNT.size
        if not 0 <= count * _COUNT.size <= len(data) - at:
            raise ValueError("the partitions do not fit")
        found += [Partition(topic, _COUNT.unpack_from(data, at + i * _COUNT.size)[0]) for i in range(count)]
        at += count * _COUNT.size
    return found
