"""The outermost layer of every gRPC handler: turns what it raises into a status, and ends streams at a shutdown."""

from __future__ import annotations

import asyncio
import inspect
import os
from typing import TYPE_CHECKING, Any, NoReturn

import grpc
import grpc.aio

from tidelog.kafka.errors import KafkaError
from tidelog.runtime import logs
from tidelog.runtime.grpc_edge.failures import CODE_KEY, CallFailed, details_of, status_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

_logger = logs.get("grpc")

_MAKERS: dict[tuple[bool, bool], Callable[..., Any]] = {
    (False, False): grpc.unary_unary_rpc_method_handler,
    (False, True): grpc.unary_stream_rpc_method_handler,
    (True, False): grpc.stream_unary_rpc_method_handler,
    (True, True): grpc.stream_stream_rpc_method_handler,
}


class ErrorInterceptor(grpc.aio.ServerInterceptor):
    """Wraps each method's handler once, when the method is first called."""

    def __init__(self) -> None:
        self._wrapped: dict[str, Any] = {}
        self._streams: set[asyncio.Task[Any]] = set()
        self._closing = False

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        method = handler_call_details.method
        wrapped = self._wrapped.get(method)
        if wrapped is None:
            handler = await continuation(handler_call_details)
            if handler is None:
                return None
            wrapped = self._wrapped[method] = self._wrap(method, handler)
        return wrapped

    def end_streams(self) -> None:
        """Answer every open stream with UNAVAILABLE, which otherwise would last through the whole grace period."""
        self._closing = True
        for task in tuple(self._streams):
            task.cancel()

    def _wrap(self, method: str, handler: Any) -> Any:
        streams = bool(handler.response_streaming)
        kind = (bool(handler.request_streaming), streams)
        inner = (handler.unary_unary, handler.unary_stream, handler.stream_unary, handler.stream_stream)[
            2 * kind[0] + kind[1]
        ]
        if inspect.isasyncgenfunction(inner):
            outer: Any = self._generator(method, inner)
        elif inspect.iscoroutinefunction(inner):
            outer = self._stream_writer(method, inner) if streams else self._unary(method, inner)
        else:
            # Our handlers are async; a plain function is what the generated servicer has where nobody overrode it.
            outer = _unimplemented
        return _MAKERS[kind](outer, handler.request_deserializer, handler.response_serializer)

    def _unary(self, method: str, inner: Callable[[Any, Any], Awaitable[Any]]) -> Any:
        async def call(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
            try:
                return await inner(request, context)
            except Exception as error:  # noqa: BLE001  the edge of the process
                await _refuse(method, context, error)

        return call

    def _stream_writer(self, method: str, inner: Callable[[Any, Any], Awaitable[Any]]) -> Any:
        async def call(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> None:
            task = self._enter()
            try:
                await inner(request, context)
            except asyncio.CancelledError:
                await self._end(task, context)
            except Exception as error:  # noqa: BLE001  the edge of the process
                await _refuse(method, context, error)
            finally:
                self._streams.discard(task)

        return call

    def _generator(self, method: str, inner: Callable[[Any, Any], AsyncIterator[Any]]) -> Any:
        async def call(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> AsyncIterator[Any]:
            task = self._enter()
            try:
                async for item in inner(request, context):
                    yield item
            except asyncio.CancelledError:
                await self._end(task, context)
            except Exception as error:  # noqa: BLE001  the edge of the process
                await _refuse(method, context, error)
            finally:
                self._streams.discard(task)

        return call

    def _enter(self) -> asyncio.Task[Any]:
        task = asyncio.current_task()
        assert task is not None
        self._streams.add(task)
        if self._closing:
            task.cancel()
        return task

    async def _end(self, task: asyncio.Task[Any], context: grpc.aio.ServicerContext[Any, Any]) -> NoReturn:
        """Our own cancellation becomes a status; the peer's goes on its way."""
        if not self._closing or context.done():
            raise asyncio.CancelledError
        task.uncancel()
        await context.abort(grpc.StatusCode.UNAVAILABLE, "the process is shutting down")


async def _unimplemented(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> NoReturn:  # noqa: ARG001
    await context.abort(grpc.StatusCode.UNIMPLEMENTED, "this process does not serve that method")


async def _refuse(method: str, context: grpc.aio.ServicerContext[Any, Any], error: Exception) -> NoReturn:
    match error:
        case grpc.aio.AbortError():
            raise error
        case KafkaError():
            metadata = ((CODE_KEY, str(int(error.code))),)
            await context.abort(status_of(error), details_of(error.message), metadata)
        case CallFailed():
            # A process further on failed this call, and the caller may want to try again; it is no fault of this one.
            await context.abort(error.status, details_of(str(error)))
        case _:
            incident = os.urandom(4).hex()
            _logger.failure("call failed", error, method=method, incident=incident)
            await context.abort(grpc.StatusCode.INTERNAL, f"unexpected error; see incident {incident} in the log")
