"""The values that go in and out of the SDK: partitions, records, offsets."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from tidelog.kafka.records.timestamp_type import TimestampType

__all__ = [
    "ConsumerGroupMetadata",
    "ConsumerRecord",
    "Header",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "RecordMetadata",
    "TimestampType",
    "TopicPartition",
]

Header = tuple[str, bytes | None]


class TopicPartition(NamedTuple):
    """One partition of one topic. A tuple, because the SDK looks things up by it all the time and tuples hash fast."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class RecordMetadata(NamedTuple):
    """Where a record was written. Without acknowledgements (`acks=0`) the offset is not known and is -1."""

    topic: str
    partition: int
    offset: int
    # Milliseconds since 1970, by the clock of whoever the topic trusts with it.
    timestamp: int


class ConsumerRecord(NamedTuple):
    """One record as a consumer gets it. Key and value are bytes unless the consumer has deserializers."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: TimestampType
    key: Any
    value: Any
    headers: Sequence[Header]
    leader_epoch: int


class OffsetAndMetadata(NamedTuple):
    """A committed offset: that of the next record to read, with a note of the application."""

    offset: int
    metadata: str = ""
    leader_epoch: int = -1


class OffsetAndTimestamp(NamedTuple):
    """The first record at or after a time that was asked for."""

    offset: int
    timestamp: int
    leader_epoch: int = -1


class ConsumerGroupMetadata(NamedTuple):
    """Who a consumer is in its group; `Producer.send_offsets_to_transaction` hands it to the coordinator."""

    group_id: str
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
