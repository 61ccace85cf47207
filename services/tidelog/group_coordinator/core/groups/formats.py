"""The records of __consumer_offsets, byte for byte as Kafka writes them: a version in 16 bits, then the fields.

offset key  v0, v1 (written)   group value  v0-v2, v3 (written), v4 flexible
group key   v2                 offset value v0-v2, v3 (written), v4 flexible; v1 where the client named a retention time
"""

from struct import Struct as Packed
from typing import TypeVar

from tidelog.kafka.wire.fields import array, byte_string, int32, int64, string
from tidelog.kafka.wire.primitives import MalformedMessage
from tidelog.kafka.wire.schema import Api, Message, Struct

_VERSION = Packed(">h")
# These are messages on disk, which have no number on the wire.
_NO_KEY = -1
_OFFSET_KEY_VERSION = 1
_GROUP_KEY_VERSION = 2
_VALUE_VERSION = 3
_VALUE_VERSION_WITH_EXPIRY = 1


class OffsetKey(Message, api=Api(_NO_KEY, "OffsetCommitKey", versions="0-1")):
    group: str = string()
    topic: str = string()
    partition: int = int32()


class OffsetValue(Message, api=Api(_NO_KEY, "OffsetCommitValue", versions="0-4", flexible="4+")):
    offset: int = int64()
    leader_epoch: int = int32("3+", default=-1)
    metadata: str = string()
    commit_timestamp: int = int64()
    expire_timestamp: int = int64("1", default=-1)


class GroupKey(Message, api=Api(_NO_KEY, "GroupMetadataKey", versions="2")):
    group: str = string()


class GroupValueMember(Struct):
    member_id: str = string()
    group_instance_id: str | None = string("3+", nullable="3+", default=None)
    client_id: str = string()
    client_host: str = string()
    rebalance_timeout: int = int32("1+", default=-1)
    session_timeout: int = int32()
    subscription: bytes = byte_string()
    assignment: bytes = byte_string()


class GroupValue(Message, api=Api(_NO_KEY, "GroupMetadataValue", versions="0-4", flexible="4+")):
    protocol_type: str = string()
    generation: int = int32()
    protocol: str | None = string(nullable="0+")
    leader: str | None = string(nullable="0+")
    current_state_timestamp: int = int64("2+", default=-1)
    members: list[GroupValueMember] = array(GroupValueMember)


M = TypeVar("M", bound=Message)


def _encode(message: Message, version: int) -> bytes:
    out = bytearray(_VERSION.pack(version))
    message.encode_into(version, out)
    return bytes(out)


def _version_of(data: bytes) -> int:
    if len(data) < _VERSION.size:
        raise MalformedMessage("a record of __consumer_offsets is too short to have a version")
    version: int = _VERSION.unpack_from(data)[0]
    return version


def _decode(kind: type[M], data: bytes) -> M:
    version = _version_of(data)
    if version not in kind.api.versions:
        raise MalformedMessage(f"{kind.api.name} has no version {version}")
    return kind.decode(version, data, _VERSION.size)


def offset_key(group_id: str, topic: str, partition: int) -> bytes:
    return _encode(OffsetKey(group=group_id, topic=topic, partition=partition), _OFFSET_KEY_VERSION)


def group_key(group_id: str) -> bytes:
    return _encode(GroupKey(group=group_id), _GROUP_KEY_VERSION)


def encode_offset_value(value: OffsetValue) -> bytes:
    return _encode(value, _VALUE_VERSION if value.expire_timestamp < 0 else _VALUE_VERSION_WITH_EXPIRY)


def encode_group_value(value: GroupValue) -> bytes:
    return _encode(value, _VALUE_VERSION)


def decode_key(key: bytes) -> OffsetKey | GroupKey | None:
    """What a record is about, or None for a version that only newer coordinators know."""
    version = _version_of(key)
    if version <= _OFFSET_KEY_VERSION:
        return _decode(OffsetKey, key)
    return _decode(GroupKey, key) if version == _GROUP_KEY_VERSION else None


def decode_offset_value(value: bytes) -> OffsetValue:
    return _decode(OffsetValue, value)


def decode_group_value(value: bytes) -> GroupValue:
    return _decode(GroupValue, value)
