"""How errors cross the wire: a KafkaError as a gRPC status with its code beside it, everything else as itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc

from tidelog.kafka.errors import PROPERTIES, KafkaCode, KafkaError

if TYPE_CHECKING:
    from grpc.aio import AioRpcError

# Trailing metadata that names the Kafka error code in decimal.
CODE_KEY = "kafka-error-code"

# Status texts travel in an HTTP/2 header, whose size peers limit to 8 KB or so.
_DETAILS_CHARACTERS_MAX = 1000


class CallFailed(Exception):  # noqa: N818  named after what happened, like the two below
    """A call brought neither an answer nor a refusal by Kafka's rules."""

    def __init__(self, address: str, status: grpc.StatusCode, details: str) -> None:
        super().__init__(address, status, details)
        self.address = address
        self.status = status
        self.details = details

    def __str__(self) -> str:
        return f"{self.address}: {self.status.name}: {self.details}"


class Unreachable(CallFailed):
    """There is no connection to the peer, or it broke during the call; the call may or may not have been executed."""


class DeadlineExceeded(CallFailed):
    """No answer came in time; the call may or may not have been executed."""


def status_of(error: KafkaError) -> grpc.StatusCode:
    assert error.code is not KafkaCode.NONE, "success is not an error"
    return grpc.StatusCode[PROPERTIES[error.code].grpc_status]


def details_of(message: str) -> str:
    return message[:_DETAILS_CHARACTERS_MAX]


def from_grpc(address: str, error: AioRpcError) -> KafkaError | CallFailed:
    """What a failed call means to the caller."""
    details = error.details() or ""
    code = _kafka_code(error)
    if code is not None:
        return KafkaError(code, details)
    return _KINDS.get(error.code(), CallFailed)(address, error.code(), details)


# A peer that shuts down cancels what its grace period did not finish.
_KINDS: dict[grpc.StatusCode, type[CallFailed]] = {
    grpc.StatusCode.UNAVAILABLE: Unreachable,
    grpc.StatusCode.CANCELLED: Unreachable,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
}


def _kafka_code(error: AioRpcError) -> KafkaCode | None:
    text = (error.trailing_metadata() or {}).get(CODE_KEY)
    if text is None:
        return None
    try:
        return KafkaCode(int(text))
    except ValueError:
        # A newer peer's code, or nonsense: an error all the same.
        return KafkaCode.UNKNOWN_SERVER_ERROR
