"""gRPC between simulated processes: the real servicers and stubs, over the simulated network."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self, cast

import grpc

from tests.support.sim.machine import SimProcess
from tests.support.sim.network import Attempt, End
from tidelog.kafka.errors import KafkaError
from tidelog.runtime.grpc_edge import ProbeResult
from tidelog.runtime.grpc_edge.failures import DeadlineExceeded, Unreachable

if TYPE_CHECKING:
    from tests.support.sim.node_loop import NodeLoop

# A request whose answer was lost is sent again: the receiver gets it twice.
_TWICE = 0.03
_TWICE_MS_MAX = 400.0


def running_process() -> SimProcess:
    return cast("NodeLoop", asyncio.get_running_loop()).process


class _Paths:
    """What the generated stubs ask of a channel: each method is known by its path."""

    def unary_unary(self, path: str, **_: object) -> str:
        return path

    def unary_stream(self, path: str, **_: object) -> str:
        return path


class SimChannel:
    """In the place of runtime.grpc_edge.Channel."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.grpc = _Paths()
        self._process = running_process()
        self._end: End | None = None
        self._opening: asyncio.Future[None] | None = None
        self._attempt: Attempt | None = None
        self._number = 0
        self._pending: dict[int, asyncio.Queue[tuple[str, Any]]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        if self._attempt is not None:
            self._attempt.cancel()
        if self._end is not None:
            self._end.close()
            self._on_close()

    async def call(self, path: str, request: object, timeout_ms: float, *, wait_for_ready: bool = False) -> Any:
        try:
            async with asyncio.timeout(timeout_ms / 1000.0):
                number, answers = await self._ask(path, request)
                try:
                    kind, answer = await answers.get()
                finally:
                    self._pending.pop(number, None)
        except TimeoutError:
            raise DeadlineExceeded(self.address, grpc.StatusCode.DEADLINE_EXCEEDED, "no answer") from None
        if kind == "answer":
            return answer
        raise answer

    async def stream(self, path: str, request: object, timeout_ms: float | None = None) -> AsyncGenerator[Any, None]:
        try:
            async with asyncio.timeout(None if timeout_ms is None else timeout_ms / 1000.0):
                number, answers = await self._ask(path, request)
        except TimeoutError:
            raise DeadlineExceeded(self.address, grpc.StatusCode.DEADLINE_EXCEEDED, "no answer") from None
        try:
            while True:
                async with asyncio.timeout(None if timeout_ms is None else timeout_ms / 1000.0):
                    kind, answer = await answers.get()
                if kind == "end":
                    return
                if kind == "error":
                    raise answer
                yield answer
        except TimeoutError:
            raise DeadlineExceeded(self.address, grpc.StatusCode.DEADLINE_EXCEEDED, "no answer") from None
        finally:
            self._pending.pop(number, None)
            if self._end is not None:
                self._end.send(("cancel", number))

    async def _ask(self, path: str, request: object) -> "tuple[int, asyncio.Queue[tuple[str, Any]]]":
        await self._connected()
        if self._end is None:
            raise self._unreachable("the connection broke")
        self._number += 1
        answers: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        self._pending[self._number] = answers
        self._end.send(("ask", self._number, path, request))
        return self._number, answers

    async def _connected(self) -> None:
        if self._end is not None:
            return
        if self._opening is None:
            host, _, port = self.address.rpartition(":")
            self._opening = asyncio.get_running_loop().create_future()
            self._attempt = self._process.network.connect(self._process, host, int(port), self._opened, self._refused)
        await asyncio.shield(self._opening)

    def _opened(self, end: End) -> None:
        self._end = end
        end.on_message = self._on_message
        end.on_close = self._on_close
        self._settle(None)

    def _refused(self) -> None:
        self._settle(self._unreachable("connection refused"))

    def _settle(self, error: Exception | None) -> None:
        opening, self._opening = self._opening, None
        if opening is None:
            return
        if error is None:
            opening.set_result(None)
        else:
            opening.set_exception(error)
            opening.exception()

    def _on_message(self, message: tuple[str, int, Any]) -> None:
        kind, number, answer = message
        if number in self._pending:
            self._pending[number].put_nowait((kind, answer))

    def _on_close(self) -> None:
        self._end = None
        pending, self._pending = self._pending, {}
        for answers in pending.values():
            answers.put_nowait(("error", self._unreachable("the connection broke")))

    def _unreachable(self, why: str) -> Unreachable:
        return Unreachable(self.address, grpc.StatusCode.UNAVAILABLE, why)


class _Collected:
    """A server as the generated code sees it: it is told the handlers of every method."""

    def __init__(self) -> None:
        self.handlers: dict[str, Any] = {}

    def add_generic_rpc_handlers(self, handlers: object) -> None: ...

    def add_registered_method_handlers(self, service: str, handlers: dict[str, Any]) -> None:
        self.handlers.update((f"/{service}/{name}", handler) for name, handler in handlers.items())


@asynccontextmanager
async def sim_server(
    listener: str, servicers: Sequence[tuple[Callable[..., None], object]], *_: object
) -> AsyncIterator[None]:
    """In the place of runtime.grpc_edge.server."""
    collected = _Collected()
    for add_to_server, servicer in servicers:
        add_to_server(servicer, collected)
    process = running_process()
    port = int(listener.rpartition(":")[2])
    process.ports[port] = lambda end: _Serving(process, collected.handlers, end).begin()
    try:
        yield
    finally:
        process.ports.pop(port, None)


class _Serving:
    """One connection to a server."""

    def __init__(self, process: SimProcess, handlers: dict[str, Any], end: End) -> None:
        self._process = process
        self._handlers = handlers
        self._end = end
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def begin(self) -> None:
        self._end.on_message = self._on_message
        self._end.on_close = self._on_close

    def _on_message(self, message: tuple[Any, ...]) -> None:
        if message[0] == "cancel":
            task = self._tasks.get(message[1])
            if task is not None:
                task.cancel()
            return
        _, number, path, request = message
        handler = self._handlers[path]
        if handler.response_streaming:
            self._spawn(number, self._stream(number, handler.unary_stream, request))
            return
        self._spawn(number, self._answer(number, handler.unary_unary, request))
        random = self._process.machine.scheduler.random
        if random.random() < _TWICE:
            again = self._answer(-1, handler.unary_unary, request, random.uniform(0, _TWICE_MS_MAX))
            self._spawn(-number, again)

    def _spawn(self, number: int, coroutine: Any) -> None:
        task = self._process.loop.create_task(coroutine)
        self._tasks[number] = task
        task.add_done_callback(lambda _: self._tasks.pop(number, None))

    async def _answer(self, number: int, handle: Any, request: object, after_ms: float = 0) -> None:
        if after_ms:
            await asyncio.sleep(after_ms / 1000.0)
        try:
            self._end.send(("answer", number, await handle(request, None)))
        except KafkaError as refusal:
            self._end.send(("error", number, refusal))

    async def _stream(self, number: int, handle: Any, request: object) -> None:
        try:
            async for item in handle(request, None):
                self._end.send(("item", number, item))
        except KafkaError as refusal:
            self._end.send(("error", number, refusal))
        else:
            self._end.send(("end", number, None))

    def _on_close(self) -> None:
        for task in tuple(self._tasks.values()):
            task.cancel()


async def sim_probe(host: str, port: int, timeout_ms: float) -> ProbeResult:
    """In the place of runtime.grpc_edge.probe."""
    process = running_process()
    found: asyncio.Future[ProbeResult] = asyncio.get_running_loop().create_future()

    def opened(end: End) -> None:
        end.close()
        _resolve(found, ProbeResult.OPEN)

    attempt = process.network.connect(process, host, port, opened, lambda: _resolve(found, ProbeResult.REFUSED))
    try:
        async with asyncio.timeout(timeout_ms / 1000.0):
            return await found
    except TimeoutError:
        return ProbeResult.UNKNOWN
    finally:
        attempt.cancel()


def _resolve(found: "asyncio.Future[ProbeResult]", result: ProbeResult) -> None:
    if not found.done():
        found.set_result(result)
