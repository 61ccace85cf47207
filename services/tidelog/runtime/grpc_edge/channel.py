"""A connection to a peer's gRPC server: every call has a deadline, and every error is one of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, TypeVar

import grpc
import grpc.aio

from tidelog.runtime.grpc_edge import options
from tidelog.runtime.grpc_edge.failures import from_grpc

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from types import TracebackType

    from grpc.aio import UnaryStreamMultiCallable, UnaryUnaryMultiCallable

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")

_BROKEN = (grpc.ChannelConnectivity.TRANSIENT_FAILURE, grpc.ChannelConnectivity.SHUTDOWN)


def connect(address: str) -> Channel:
    """A channel to `host:port`; it connects on the first call, and again by itself after the connection broke."""
    return Channel(address)


class Channel:
    """Make a stub with `BrokerStub(channel.grpc)`, call it with `await channel.call(stub.Method, request, 1000)`."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.grpc = grpc.aio.insecure_channel(address, options=options.CLIENT)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Calls in flight are cancelled."""
        await self.grpc.close()

    async def call(
        self,
        method: UnaryUnaryMultiCallable[RequestT, ResponseT],
        request: RequestT,
        timeout_ms: float,
        *,
        wait_for_ready: bool = False,
    ) -> ResponseT:
        """One call. Raises KafkaError when the peer refused, Unreachable, DeadlineExceeded or CallFailed otherwise.

        With `wait_for_ready` a peer that cannot be reached yet is waited for, within the deadline.
        """
        try:
            return await method(request, timeout=timeout_ms / 1000.0, wait_for_ready=wait_for_ready)
        except grpc.aio.AioRpcError as error:
            raise from_grpc(self.address, error) from None

    async def stream(
        self,
        method: UnaryStreamMultiCallable[RequestT, ResponseT],
        request: RequestT,
        timeout_ms: float | None = None,
    ) -> AsyncGenerator[ResponseT, None]:
        """The answers of a server stream; leaving the loop cancels it. Errors are those of `call`.

        A stream without a deadline is one that stays open; the channel's keepalive notices when its peer is gone.
        """
        call = method(request, timeout=None if timeout_ms is None else timeout_ms / 1000.0)
        try:
            async for response in call:
                yield response
        except grpc.aio.AioRpcError as error:
            raise from_grpc(self.address, error) from None
        finally:
            call.cancel()

    async def broken(self) -> None:
        """Connect if need be, and return once the connection is lost or cannot be had."""
        was_ready = False
        state = self.grpc.get_state(try_to_connect=True)
        while state not in _BROKEN and not (was_ready and state is not grpc.ChannelConnectivity.READY):
            was_ready = was_ready or state is grpc.ChannelConnectivity.READY
            await self.grpc.wait_for_state_change(state)
            state = self.grpc.get_state(try_to_connect=not was_ready)
