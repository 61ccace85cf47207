"""The bytes that members of a group exchange through its coordinator: what they want, and what they get.

Versions only add fields, so a newer one is read as far as it is known.
"""

import struct
from collections.abc import Iterable

from tidelog.client.core.assignors.assignor import MemberSubscription
from tidelog.client.records import TopicPartition
from tidelog.kafka.errors import KafkaCode, KafkaError

PROTOCOL_TYPE = "consumer"
_SUBSCRIPTION_VERSION = 3
_ASSIGNMENT_VERSION = 0

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def int16(self) -> int:
        return self._fixed(_INT16)

    def int32(self) -> int:
        return self._fixed(_INT32)

    def string(self) -> str | None:
        length = self.int16()
        return None if length < 0 else self._bytes(length).decode()

    def data(self) -> bytes | None:
        length = self.int32()
        return None if length < 0 else self._bytes(length)

    def partitions(self) -> list[TopicPartition]:
        found = []
        for _ in range(self.int32()):
            topic = self.string() or ""
            found += [TopicPartition(topic, self.int32()) for _ in range(self.int32())]
        return found

    def _fixed(self, field: struct.Struct) -> int:
        value: int = field.unpack_from(self._data, self._at)[0]
        self._at += field.size
        return value

    def _bytes(self, length: int) -> bytes:
        if self._at + length > len(self._data):
            raise struct.error("too short")
        self._at += length
        return self._data[self._at - length : self._at]


def write_subscription(subscription: MemberSubscription) -> bytes:
    return b"".join(
        (
            _INT16.pack(_SUBSCRIPTION_VERSION),
            _INT32.pack(len(subscription.topics)),
            *(_string(topic) for topic in sorted(subscription.topics)),
            _nullable(subscription.user_data),
            _partitions(subscription.owned),
            _INT32.pack(subscription.generation),
            _INT16.pack(-1) if subscription.rack is None else _string(subscription.rack),
        )
    )


def read_subscription(data: bytes, group_instance_id: str | None = None) -> MemberSubscription:
    """What a member wants. Raises KafkaError if it cannot be read."""
    reader = _Reader(data)
    try:
        version = reader.int16()
        topics = tuple(reader.string() or "" for _ in range(reader.int32()))
        user_data = reader.data()
        owned = tuple(reader.partitions()) if version >= 1 else ()
        generation = reader.int32() if version >= 2 else -1
        rack = reader.string() if version >= 3 else None
    except (struct.error, UnicodeDecodeError):
        raise KafkaError(KafkaCode.INCONSISTENT_GROUP_PROTOCOL, "a member's subscription cannot be read") from None
    return MemberSubscription(topics, owned, generation, group_instance_id, rack, user_data)


def write_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    return _INT16.pack(_ASSIGNMENT_VERSION) + _partitions(partitions) + _nullable(None)


def read_assignment(data: bytes) -> list[TopicPartition]:
    """The partitions that a member gets; no bytes are no partitions."""
    if not data:
        return []
    reader = _Reader(data)
    try:
        reader.int16()
        return reader.partitions()
    except (struct.error, UnicodeDecodeError):
        raise KafkaError(KafkaCode.INCONSISTENT_GROUP_PROTOCOL, "the assignment cannot be read") from None


def _string(text: str) -> bytes:
    data = text.encode()
    return _INT16.pack(len(data)) + data


def _nullable(data: bytes | None) -> bytes:
    return _INT32.pack(-1) if data is None else _INT32.pack(len(data)) + data


def _partitions(partitions: Iterable[TopicPartition]) -> bytes:
    by_topic: dict[str, list[int]] = {}
    for each in partitions:
        by_topic.setdefault(each.topic, []).append(each.partition)
    parts = [_INT32.pack(len(by_topic))]
    for topic, numbers in by_topic.items():
        parts += (_string(topic), _INT32.pack(len(numbers)), *map(_INT32.pack, numbers))
    return b"".join(parts)
