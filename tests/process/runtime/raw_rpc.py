"""A gRPC service without protobuf: methods that take and give bytes, for tests of the edge itself."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio

from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.runtime.grpc_edge import Unreachable

NAME = "test.Raw"


class Raw:
    """One method for each way a handler can end."""

    def __init__(self) -> None:
        self.release = asyncio.Event()
        self.entered = asyncio.Event()

    async def echo(self, request: bytes, context: Any) -> bytes:
        return request

    async def refuse(self, request: bytes, context: Any) -> bytes:
        raise KafkaError(KafkaCode(int(request)), "no such topic: grün" if request == b"3" else "")

    async def breaks(self, request: bytes, context: Any) -> bytes:
        raise RuntimeError("a secret detail")

    async def forwards(self, request: bytes, context: Any) -> bytes:
        raise Unreachable("other:1", grpc.StatusCode.UNAVAILABLE, "connection refused")

    async def aborts(self, request: bytes, context: Any) -> bytes:
        await context.abort(grpc.StatusCode.ALREADY_EXISTS, "my own words")
        return b""

    def placeholder(self, request: bytes, context: Any) -> bytes:
        raise NotImplementedError

    async def waits(self, request: bytes, context: Any) -> bytes:
        self.entered.set()
        await self.release.wait()
        return b"released"

    async def counts(self, request: bytes, context: Any) -> AsyncIterator[bytes]:
        for number in range(int(request)):
            yield str(number).encode()

    async def counts_then_refuses(self, request: bytes, context: Any) -> AsyncIterator[bytes]:
        yield b"0"
        raise KafkaError(KafkaCode.NOT_CONTROLLER)

    async def counts_then_breaks(self, request: bytes, context: Any) -> AsyncIterator[bytes]:
        yield b"0"
        raise RuntimeError("broken stream")

    async def watches(self, request: bytes, context: Any) -> AsyncIterator[bytes]:
        yield b"first"
        self.entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.release.set()

    def stream_placeholder(self, request: bytes, context: Any) -> None:
        raise NotImplementedError

    async def writes(self, request: bytes, context: Any) -> None:
        await context.write(b"first")
        await context.write(b"second")
        self.entered.set()
        if request == b"wait":
            await asyncio.Event().wait()


_STREAMS = ("counts", "counts_then_refuses", "counts_then_breaks", "watches", "writes", "stream_placeholder")
_CALLS = ("echo", "refuse", "breaks", "forwards", "aborts", "placeholder", "waits")


def add_to_server(servicer: Raw, server: Any) -> None:
    handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
        name: grpc.unary_unary_rpc_method_handler(getattr(servicer, name)) for name in _CALLS
    }
    handlers |= {name: grpc.unary_stream_rpc_method_handler(getattr(servicer, name)) for name in _STREAMS}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(NAME, handlers),))


def call_of(channel: grpc.aio.Channel, name: str) -> Any:
    return channel.unary_unary(f"/{NAME}/{name}")


def stream_of(channel: grpc.aio.Channel, name: str) -> Any:
    return channel.unary_stream(f"/{NAME}/{name}")
