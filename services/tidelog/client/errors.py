"""What the SDK raises besides `KafkaError`, which carries what a broker answered."""

from tidelog.kafka.errors import KafkaCode, KafkaError

__all__ = [
    "BufferFullError",
    "ClientError",
    "ClosedError",
    "CommitFailedError",
    "ConfigError",
    "DeliveryTimeoutError",
    "IllegalStateError",
    "KafkaCode",
    "KafkaError",
    "LogTruncationError",
    "NoBrokerError",
    "NoOffsetError",
    "ProducerFencedError",
    "RecordTooLargeError",
    "RequestTimeoutError",
    "TransactionAbortedError",
    "UnsupportedVersionError",
    "WrongArgumentError",
]


class ClientError(Exception):
    """Every error that the SDK itself finds."""


class ConfigError(ClientError, ValueError):
    """A setting is unknown, has a value that it does not allow, or does not go with another one; all of them at once."""


class WrongArgumentError(ClientError, ValueError):
    """An argument of a call is not what the call takes; the text begins with its name."""


class IllegalStateError(ClientError):
    """The call is right but not now: the client is not started, or in the middle of something else."""


class ClosedError(IllegalStateError):
    """The client was closed."""


class BufferFullError(ClientError):
    """No room within `buffer.memory` for `max.block.ms`."""


class RecordTooLargeError(ClientError, ValueError):
    """A record alone is larger than `max.request.size` or `buffer.memory` allow."""


class DeliveryTimeoutError(ClientError, TimeoutError):
    """A record was not acknowledged within `delivery.timeout.ms`; it may be in the log or not."""


class RequestTimeoutError(ClientError, TimeoutError):
    """A call did not come to its end in its time."""


class NoBrokerError(RequestTimeoutError):
    """No broker of `bootstrap.servers` could be reached in time."""


class UnsupportedVersionError(ClientError):
    """The broker does not offer the API, or no version of it that the SDK speaks."""


class NoOffsetError(ClientError):
    """A partition has no position and `auto.offset.reset` is none."""


class LogTruncationError(NoOffsetError):
    """Records that the application was given are not in the log any more, and `auto.offset.reset` is none.

    They were lost with a leader, by an unclean election for example. `diverges_at` is the first offset from which on the
    log is another one, or None if the leader cannot tell; seek to it, or wherever the application sees fit.
    """

    def __init__(self, topic: str, partition: int, offset: int, diverges_at: int | None) -> None:
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.diverges_at = diverges_at
        where = "an offset that its leader does not know" if diverges_at is None else f"offset {diverges_at}"
        super().__init__(
            f"auto.offset.reset=none: {topic}-{partition} was read up to offset {offset}, and its log was cut off at {where}"
        )


class CommitFailedError(KafkaError):
    """The group has moved on without this member, so its partitions may be read by another one already."""

    def __init__(self, code: KafkaCode, message: str = "") -> None:
        super().__init__(
            code,
            message
            or "The commit was refused because the group has rebalanced: poll more often than max.poll.interval.ms, "
            "or take fewer records at a time with max.poll.records.",
        )


class ProducerFencedError(KafkaError):
    """Another producer with the same `transactional.id` has taken over; this one can only be closed."""


class TransactionAbortedError(ClientError):
    """The record belongs to a transaction that was aborted before the record was sent."""
