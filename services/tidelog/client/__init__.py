"""The SDK: producers, consumers and admins for Tidelog, and for any other cluster that speaks Kafka's protocol.

Everything here is for asyncio; `tidelog.client.sync` has the same without `await`, `tidelog.client.listener` functions that
are called with records.
"""

from tidelog.client.admin import (
    Admin,
    ConfigResource,
    ElectionType,
    GroupDescription,
    NewTopic,
)
from tidelog.client.consumer import Consumer
from tidelog.client.core.assignors import Assignor, MemberSubscription
from tidelog.client.errors import (
    BufferFullError,
    ClientError,
    ClosedError,
    CommitFailedError,
    ConfigError,
    DeliveryTimeoutError,
    IllegalStateError,
    KafkaCode,
    KafkaError,
    NoBrokerError,
    NoOffsetError,
    ProducerFencedError,
    RecordTooLargeError,
    RequestTimeoutError,
    TransactionAbortedError,
    UnsupportedVersionError,
    WrongArgumentError,
)
from tidelog.client.producer import Delivery, Producer
from tidelog.client.records import (
    ConsumerGroupMetadata,
    ConsumerRecord,
    Header,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    RecordMetadata,
    TimestampType,
    TopicPartition,
)
from tidelog.client.shell.rebalancing import RebalanceListener

__all__ = [
    "Admin",
    "Assignor",
    "BufferFullError",
    "ClientError",
    "ClosedError",
    "CommitFailedError",
    "ConfigError",
    "ConfigResource",
    "Consumer",
    "ConsumerGroupMetadata",
    "ConsumerRecord",
    "Delivery",
    "DeliveryTimeoutError",
    "ElectionType",
    "GroupDescription",
    "Header",
    "IllegalStateError",
    "KafkaCode",
    "KafkaError",
    "MemberSubscription",
    "NewTopic",
    "NoBrokerError",
    "NoOffsetError",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "Producer",
    "ProducerFencedError",
    "RebalanceListener",
    "RecordMetadata",
    "RecordTooLargeError",
    "RequestTimeoutError",
    "TimestampType",
    "TopicPartition",
    "TransactionAbortedError",
    "UnsupportedVersionError",
    "WrongArgumentError",
]
