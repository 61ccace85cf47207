"""What `@listener` was told, checked: which records, for which group, how many at a time, what becomes of results."""

import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidelog.client.errors import WrongArgumentError
from tidelog.client.records import ConsumerRecord, TopicPartition

REPLY_TOPIC_HEADER = "kafka_replyTopic"
CORRELATION_HEADER = "kafka_correlationId"

# What can be iterated over and is one record all the same.
_WHOLE = (str, bytes, bytearray, memoryview, Mapping)

# Called with what the listener was called with and what it raised; if it returns, that is dealt with.
ErrorHandler = Callable[[Any, Exception], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerSpec:
    """One annotated function."""

    id: str
    function: Callable[..., Any]
    topics: tuple[str, ...] = ()
    topic_pattern: str | None = None
    # With the offset to start from; None goes on from the committed one.
    topic_partitions: tuple[tuple[TopicPartition, int | None], ...] = ()
    group_id: str | None = None
    concurrency: int = 1
    auto_startup: bool = True
    client_id_prefix: str | None = None
    error_handler: ErrorHandler | None = None
    container_group: str | None = None
    split_iterables: bool = True
    is_batch: bool = False
    send_to: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given = [bool(self.topics), self.topic_pattern is not None, bool(self.topic_partitions)]
        if sum(given) != 1:
            raise WrongArgumentError("topics, topic_pattern, topic_partitions: exactly one of them is wanted")
        if self.concurrency < 1:
            raise WrongArgumentError(f"concurrency: {self.concurrency} is not a number of consumers")
        if self.group_id is None and not self.topic_partitions:
            raise WrongArgumentError("group_id: it is wanted, or an id that is the group's, too (id_is_group)")

    def share(self, number: int) -> list[tuple[TopicPartition, int | None]]:
        """The partitions of one of the consumers, where the function names partitions itself."""
        return list(self.topic_partitions[number :: self.concurrency])


def names(topics: str | Iterable[str] | None) -> tuple[str, ...]:
    """One name or several."""
    if topics is None:
        return ()
    return (topics,) if isinstance(topics, str) else tuple(topics)


def partitions_with_offsets(
    given: Mapping[TopicPartition, int | None] | Iterable[TopicPartition] | None,
) -> tuple[tuple[TopicPartition, int | None], ...]:
    """Partitions, each with the offset to start from if one was given."""
    if given is None:
        return ()
    if isinstance(given, Mapping):
        return tuple((TopicPartition(*each), offset) for each, offset in given.items())
    return tuple((TopicPartition(*each), None) for each in given)


def wants_batches(function: Callable[..., Any]) -> bool:
    """Whether the function's first parameter is annotated as a list or another sequence of records."""
    try:
        hints = typing.get_type_hints(function)
    except (NameError, TypeError):
        return False
    first = next((hint for name, hint in hints.items() if name != "return"), None)
    origin = typing.get_origin(first) or first
    return (
        isinstance(origin, type)
        and issubclass(origin, Sequence)
        and not issubclass(origin, ConsumerRecord | str | bytes)
    )


def replies(result: Any, *, split_iterables: bool) -> list[Any]:
    """The records that a result stands for: none, one, or one for each element of a list."""
    if result is None:
        return []
    if split_iterables and isinstance(result, Iterable) and not isinstance(result, _WHOLE):
        return list(result)
    return [result]


def header(record: ConsumerRecord, name: str) -> bytes | None:
    """The last header of a name."""
    return next((value for key, value in reversed(record.headers) if key == name), None)


def reply_topic(send_to: str | None, record: ConsumerRecord | None) -> str | None:
    """Where a reply goes: where the function always sends to, else where the record asks for."""
    if send_to is not None or record is None:
        return send_to
    asked = header(record, REPLY_TOPIC_HEADER)
    return None if asked is None else asked.decode()
