"""The SDK: producers, consumers and admins for Tidelog, and for any other cluster that speaks Kafka's protocol.

Everything here is for asyncio; `tidelog.client.sync` has the same without `await`, `tidelog.client.listener` functions that
are called with records.

Names are imported when they are first used: who only administers does not wait for what producing and consuming need.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
        LogTruncationError,
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
    "LogTruncationError",
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

_PLACES = {
    "admin": "Admin ConfigResource ElectionType GroupDescription NewTopic",
    "consumer": "Consumer",
    "core.assignors": "Assignor MemberSubscription",
    "errors": (
        "BufferFullError ClientError ClosedError CommitFailedError ConfigError DeliveryTimeoutError IllegalStateError "
        "KafkaCode KafkaError LogTruncationError NoBrokerError NoOffsetError ProducerFencedError RecordTooLargeError "
        "RequestTimeoutError TransactionAbortedError UnsupportedVersionError WrongArgumentError"
    ),
    "producer": "Delivery Producer",
    "records": (
        "ConsumerGroupMetadata ConsumerRecord Header OffsetAndMetadata OffsetAndTimestamp RecordMetadata TimestampType "
        "TopicPartition"
    ),
    "shell.rebalancing": "RebalanceListener",
}
_MODULE_OF = {name: f"tidelog.client.{module}" for module, names in _PLACES.items() for name in names.split()}

# Type checkers must not see it: to them, every name would exist then.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        module = _MODULE_OF.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(importlib.import_module(module), name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
