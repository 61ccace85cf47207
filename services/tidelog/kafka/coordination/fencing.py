"""How the coordinators of a shard are told apart in the shard's log, so that only the newest one can write.

A coordinator that takes over a shard first appends a fence marker, acks=all. Every append of a coordinator carries its
fence, and the partition's leader refuses one that is lower than the highest it knows: from the markers in its log, from
what the controller told it of the shard's epoch, or from appends it has seen (for a coordinator that starts over in the
same epoch, and whose former connection may still hold something).

The marker of __consumer_offsets is a control batch that ends a transaction which does not exist, of a producer id that is
the shard's own, with the shard's epoch as coordinator epoch: the producer state that every log keeps holds it for good. In
__transaction_state, where Kafka has nothing but plain batches, it is a record with a key of a version that Kafka's
coordinators skip.
"""

from struct import Struct

from tidelog.kafka.cluster import CONSUMER_OFFSETS, TRANSACTION_STATE
from tidelog.kafka.errors import KafkaError
from tidelog.kafka.records.control import EndTransactionMarker, MarkerType, encode_marker
from tidelog.kafka.records.header import HEADER_SIZE, Buffer, read_header
from tidelog.kafka.records.record import Record, encode_batch, read_records

NO_FENCE = -1
# Producer ids are handed out from 0 upwards, so the upper half is never reached.
_FIRST_PRODUCER_ID = 1 << 62
_IDS_PER_TOPIC = 1 << 32
_TOPICS = (CONSUMER_OFFSETS, TRANSACTION_STATE)
SHARD_PRODUCER_IDS = range(_FIRST_PRODUCER_ID, _FIRST_PRODUCER_ID + len(_TOPICS) * _IDS_PER_TOPIC)

_ATTEMPTS_MAX = 1 << 32
_PRODUCER_EPOCH_MAX = 32_767
# A version of the key that no coordinator of Kafka has; one key for all markers, so that compaction keeps the last.
_MARKER_KEY = Struct(">hh").pack(32_767, 0)
_MARKER_VALUE = Struct(">hi")


def shard_producer_id(topic: str, partition: int) -> int:
    """The producer id of a shard's fence markers."""
    return _FIRST_PRODUCER_ID + _TOPICS.index(topic) * _IDS_PER_TOPIC + partition


def fence_of(shard_epoch: int, attempt: int = 0) -> int:
    """What appends carry: of one epoch, a later attempt to take over the shard outranks an earlier one."""
    assert 0 <= attempt < _ATTEMPTS_MAX
    return shard_epoch * _ATTEMPTS_MAX + attempt


def epoch_of(fence: int) -> int:
    return fence // _ATTEMPTS_MAX


def marker_producer_epoch(shard_epoch: int) -> int:
    """The shard's epoch, as far as a producer epoch can hold it; the marker's coordinator epoch tells it whole."""
    return min(shard_epoch, _PRODUCER_EPOCH_MAX)


def fence_marker(topic: str, partition: int, fence: int, now_ms: int) -> bytearray:
    """The batch with which a coordinator takes over."""
    epoch = epoch_of(fence)
    if topic == TRANSACTION_STATE:
        return encode_batch([Record(_MARKER_KEY, _MARKER_VALUE.pack(0, epoch), now_ms)])
    return encode_marker(
        EndTransactionMarker(MarkerType.ABORT, epoch),
        producer_id=shard_producer_id(topic, partition),
        producer_epoch=marker_producer_epoch(epoch),
        timestamp=now_ms,
    )


def is_fence_marker(batch: Buffer, topic: str, partition: int) -> bool:
    """Whether it looks like one; whether it is a sound batch is checked when it is appended."""
    if len(batch) < HEADER_SIZE:
        return False
    header = read_header(batch)
    if topic != TRANSACTION_STATE:
        return header.is_control and header.producer_id == shard_producer_id(topic, partition)
    try:
        return header.records_count == 1 and next(read_records(batch)).key == _MARKER_KEY
    except (KafkaError, StopIteration):
        return False
