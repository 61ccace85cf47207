"""The records of __transaction_state, byte for byte as Kafka writes them.

key    version int16 = 0, transactional id string
value  version int16 = 0, producer id int64, producer epoch int16, timeout ms int32, state int8, partitions nullable array
       of (topic string, partitions array of int32), last update ms int64, start ms int64; null partitions if EMPTY
"""

from collections.abc import Iterable, Mapping
from struct import Struct, error, pack, unpack_from

from tidelog.group_coordinator.core.records import CoordinatorRecord
from tidelog.group_coordinator.core.transactions.metadata import TransactionMetadata
from tidelog.group_coordinator.core.transactions.states import TransactionState
from tidelog.kafka.types import PartitionIndex, ProducerEpoch, ProducerId, TopicName, TopicPartition

_VERSION = 0
_KEY_HEAD = Struct(">hh")
_VALUE_HEAD = Struct(">hqhibi")
_TIMES = Struct(">qq")
# A length is an int16, so a longer id has no key.
TRANSACTIONAL_ID_MAX_BYTES = 32767


class MalformedRecord(Exception):  # noqa: N818  it is what the record is
    """A record of the topic does not hold what its version says."""


def state_record(transactional_id: str, metadata: TransactionMetadata) -> CoordinatorRecord:
    return CoordinatorRecord(_encode_key(transactional_id), _encode_value(metadata))


def tombstone(transactional_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(_encode_key(transactional_id), None)


def decode_key(key: bytes) -> str | None:
    """The transactional id, or None for a key of a version that only newer coordinators know."""
    try:
        version, size = _KEY_HEAD.unpack_from(key)
        name = key[_KEY_HEAD.size : _KEY_HEAD.size + size]
        if version != _VERSION:
            return None
        if size < 0 or len(name) != size:
            raise MalformedRecord(f"a key of {len(key)} bytes announces a transactional id of {size}")
        return name.decode("utf-8")
    except (error, UnicodeDecodeError) as fault:
        raise MalformedRecord(f"a key cannot be read: {fault}") from None


def decode_value(value: bytes) -> TransactionMetadata:
    try:
        version, producer_id, epoch, timeout_ms, state, topic_count = _VALUE_HEAD.unpack_from(value)
        if version != _VERSION:
            raise MalformedRecord(f"a value has the unknown version {version}")
        partitions, at = _decode_partitions(value, topic_count)
        last_update_ms, start_ms = _TIMES.unpack_from(value, at)
        return TransactionMetadata(
            ProducerId(producer_id),
            ProducerEpoch(epoch),
            timeout_ms,
            TransactionState(state),
            partitions,
            last_update_ms,
            start_ms,
        )
    except (error, ValueError) as fault:
        raise MalformedRecord(f"a value cannot be read: {fault}") from None


def by_topic(partitions: Iterable[TopicPartition]) -> Mapping[TopicName, list[int]]:
    """The partitions of each topic, all in order."""
    found: dict[TopicName, list[int]] = {}
    for partition in sorted(partitions):
        found.setdefault(partition.topic, []).append(partition.partition)
    return found


def _encode_key(transactional_id: str) -> bytes:
    name = transactional_id.encode()
    return _KEY_HEAD.pack(_VERSION, len(name)) + name


def _encode_value(metadata: TransactionMetadata) -> bytes:
    topics = by_topic(metadata.partitions)
    count = -1 if metadata.state is TransactionState.EMPTY else len(topics)
    head = _VALUE_HEAD.pack(
        _VERSION, metadata.producer_id, metadata.producer_epoch, metadata.timeout_ms, metadata.state, count
    )
    body = b"".join(_encode_topic(topic, partitions) for topic, partitions in topics.items())
    return head + body + _TIMES.pack(metadata.last_update_ms, metadata.start_ms)


def _encode_topic(topic: str, partitions: list[int]) -> bytes:
    name = topic.encode()
    return pack(f">h{len(name)}si{len(partitions)}i", len(name), name, len(partitions), *partitions)


def _decode_partitions(value: bytes, topic_count: int) -> tuple[frozenset[TopicPartition], int]:
    at = _VALUE_HEAD.size
    partitions: set[TopicPartition] = set()
    # A count of -1 stands for null. Every topic takes bytes, so a wild count ends with the value.
    for _ in range(topic_count):
        (size,) = unpack_from(">h", value, at)
        name, count = unpack_from(f">{size}si", value, at + 2)
        at += 2 + size + 4
        indexes = unpack_from(f">{count}i", value, at)
        at += 4 * count
        topic = TopicName(name.decode("utf-8"))
        partitions.update(TopicPartition(topic, PartitionIndex(index)) for index in indexes)
    return frozenset(partitions), at
