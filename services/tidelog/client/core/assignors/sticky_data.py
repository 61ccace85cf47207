"""What members of the sticky assignor tell about their last assignment, byte for byte as Kafka's Java client."""

import struct
from collections.abc import Iterable

from tidelog.client.records import TopicPartition

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")


def write_sticky_data(partitions: Iterable[TopicPartition], generation: int) -> bytes | None:
    """Topics with their partitions, then the generation; nothing at all if there was no assignment yet."""
    by_topic: dict[str, list[int]] = {}
    for each in partitions:
        by_topic.setdefault(each.topic, []).append(each.partition)
    if generation < 0:
        return None
    parts = [_INT32.pack(len(by_topic))]
    for topic, numbers in by_topic.items():
        name = topic.encode()
        parts += (_INT16.pack(len(name)), name, _INT32.pack(len(numbers)), *map(_INT32.pack, numbers))
    return b"".join((*parts, _INT32.pack(generation)))


def read_sticky_data(data: bytes) -> tuple[tuple[TopicPartition, ...], int]:
    """The partitions and the generation; nothing for what cannot be read, since stickiness is only a wish."""
    try:
        return _read(data)
    except (struct.error, UnicodeDecodeError):
        return (), -1


def _read(data: bytes) -> tuple[tuple[TopicPartition, ...], int]:
    (topics,), at = _INT32.unpack_from(data), 4
    found: list[TopicPartition] = []
    for _ in range(topics):
        (length,) = _INT16.unpack_from(data, at)
        topic = data[at + 2 : at + 2 + length].decode()
        at += 2 + length
        (count,) = _INT32.unpack_from(data, at)
        numbers = struct.unpack_from(f">{max(count, 0)}i", data, at + 4)
        found += (TopicPartition(topic, number) for number in numbers)
        at += 4 + 4 * len(numbers)
    # Version 0 had no generation.
    generation = _INT32.unpack_from(data, at)[0] if at + 4 <= len(data) else -1
    return tuple(found), generation
