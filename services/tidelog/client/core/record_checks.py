"""Whether what a user hands to `send` is a record at all, each fault with the name of its argument."""

from collections.abc import Sequence
from typing import Any

from tidelog.client.errors import WrongArgumentError
from tidelog.client.records import Header


def check_record(topic: Any, key: Any, value: Any, timestamp: Any, headers: Sequence[Header], partition: Any) -> None:
    """Raise WrongArgumentError for the first argument that is none."""
    if not isinstance(topic, str) or not topic:
        raise WrongArgumentError(f"topic: {topic!r} is not the name of a topic")
    if partition is not None and (not isinstance(partition, int) or partition < 0):
        raise WrongArgumentError(f"partition: {partition!r} is not a partition's number")
    for name, data in (("key", key), ("value", value)):
        if data is not None and not isinstance(data, bytes | bytearray | memoryview):
            raise WrongArgumentError(
                f"{name}: bytes are wanted, not {type(data).__name__}; give the producer a {name}_serializer"
            )
    if not isinstance(timestamp, int) or timestamp < 0:
        raise WrongArgumentError(f"timestamp: {timestamp!r} is not a time in milliseconds")
    for header in headers:
        if not _is_header(header):
            raise WrongArgumentError(f"headers: {header!r} is not a pair of a text and bytes")


def _is_header(header: Any) -> bool:
    if not isinstance(header, tuple) or len(header) != 2:
        return False
    key, value = header
    return isinstance(key, str) and (value is None or isinstance(value, bytes | bytearray))


def fault_of_record(
    topic: Any, key: Any, value: Any, timestamp: Any, headers: Sequence[Header], partition: Any, why: Exception
) -> Exception:
    """What is wrong with a record that could not be written; if it is in order, the fault is somebody else's."""
    try:
        check_record(topic, key, value, timestamp, headers, partition)
    except WrongArgumentError as error:
        return error
    return why
