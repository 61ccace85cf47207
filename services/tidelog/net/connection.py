"""The client side of one connection: calls that do not wait for each other, matched to answers by correlation id."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tidelog.kafka.wire.headers import encode_request, response_body_at, response_correlation_id
from tidelog.kafka.wire.primitives import MalformedMessage
from tidelog.net.frame_buffers import BufferPool
from tidelog.net.frame_reader import BadFrameError, FrameReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.kafka.wire.schema import Request, Response

T = TypeVar("T")
R = TypeVar("R", bound="Response")

# A response is bounded by what was asked for (a fetch names its bytes); this only catches a peer that talks nonsense.
_RESPONSE_BYTES_MAX = 1024 * 1024 * 1024
_RESPONSE_BYTES_MIN = 4
# Enough that the buffer of an ordinary fetch response is reused by the next one.
_KEPT_BYTES_MAX = 64 * 1024 * 1024
_INT32_MAX = 2**31 - 1


class ConnectionLostError(Exception):
    """The connection is gone; whether the server acted on what was asked is not known."""


class Connection(asyncio.BufferedProtocol):
    """One connection to one server. `call` is for messages; `exchange` for frames that are made and read elsewhere."""

    def __init__(self, client_id: str | None) -> None:
        self.client_id = client_id
        self._loop = asyncio.get_running_loop()
        self._frames = FrameReader(
            self._on_frame,
            bytes_min=_RESPONSE_BYTES_MIN,
            bytes_max=_RESPONSE_BYTES_MAX,
            pool=BufferPool(_KEPT_BYTES_MAX),
        )
        # What is done with the answer, and the future for it where somebody awaits one.
        self._pending: dict[int, tuple[asyncio.Future[Any] | None, Callable[[memoryview], Any]]] = {}
        self._correlation_id = 0
        self._transport: asyncio.Transport
        self._drained = asyncio.Event()
        self._drained.set()
        self._lost: asyncio.Future[None] = self._loop.create_future()
        self._reason = "the connection was closed"

    @classmethod
    async def open(cls, host: str, port: int, *, client_id: str | None, timeout_s: float) -> Connection:
        """Connect; raises OSError, of which TimeoutError is one."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(timeout_s):
            _, connection = await loop.create_connection(lambda: cls(client_id), host, port)
        return connection

    @property
    def is_open(self) -> bool:
        return not self._lost.done()

    @property
    def in_flight(self) -> int:
        return len(self._pending)

    async def call(self, request: Request[R], version: int, *, timeout_s: float) -> R:
        """Send a request and wait for its answer. Raises ConnectionLostError, TimeoutError, MalformedMessage."""
        response_type = cast("type[R]", request.api.response)

        def read(frame: memoryview) -> R:
            return response_type.decode(version, frame, response_body_at(frame, request.api, version))

        async with asyncio.timeout(timeout_s):
            await self._drained.wait()
            correlation_id = self.next_correlation_id()
            frame = encode_request(request, version, correlation_id, self.client_id)
            return await self.exchange(correlation_id, read, frame)

    def next_correlation_id(self) -> int:
        self._correlation_id = 0 if self._correlation_id == _INT32_MAX else self._correlation_id + 1
        return self._correlation_id

    def exchange(
        self, correlation_id: int, read: Callable[[memoryview], T], *frame: bytes | memoryview
    ) -> asyncio.Future[T]:
        """Send a frame, in pieces or not, that carries this correlation id; gives what `read` makes of the answer.

        `read` is called at once when the answer is there, with a view of it that is valid only during the call. Giving
        up waiting is a matter of cancelling the future; the answer is then dropped when it comes.
        """
        assert correlation_id not in self._pending, "a correlation id is used by one call at a time"
        future: asyncio.Future[T] = self._loop.create_future()
        if self._lost.done():
            future.set_exception(ConnectionLostError(self._reason))
            return future
        self._pending[correlation_id] = (future, read)
        self.send(*frame)
        return future

    def post(self, correlation_id: int, on_answer: Callable[[memoryview], None], frame: bytes) -> None:
        """Send a frame and have `on_answer` called with the answer, as `read` of `exchange` is.

        It is not called if the connection is lost first: `closed` tells that, once for all that were posted.
        """
        assert correlation_id not in self._pending, "a correlation id is used by one call at a time"
        if not self._lost.done():
            self._pending[correlation_id] = (None, on_answer)
            self._transport.write(frame)

    def send(self, *frame: bytes | memoryview) -> None:
        """Send a frame that gets no answer, such as a Produce with acks=0."""
        if not self._lost.done():
            self._transport.writelines(frame)

    async def drained(self) -> None:
        """Wait until the socket has taken most of what was sent."""
        await self._drained.wait()

    async def closed(self) -> None:
        """Wait until the connection is gone, for whatever reason."""
        await asyncio.shield(self._lost)

    def close(self) -> None:
        """Close now; calls under way fail."""
        self._transport.abort()

    # ---- from the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002  the hint is for those without a stage
        return self._frames.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        try:
            self._frames.received(nbytes)
        except (BadFrameError, MalformedMessage) as error:
            self._reason = f"the server sent {error}"
            self._transport.abort()

    def eof_received(self) -> bool:
        self._reason = "the server closed the connection"
        return False

    def pause_writing(self) -> None:
        self._drained.clear()

    def resume_writing(self) -> None:
        self._drained.set()

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None:
            self._reason = str(exc) or type(exc).__name__
        self._frames.discard()
        self._drained.set()
        self._lost.set_result(None)
        pending, self._pending = self._pending, {}
        for future, _ in pending.values():
            if future is not None and not future.done():
                future.set_exception(ConnectionLostError(self._reason))

    # ---- answers

    def _on_frame(self, frame: memoryview) -> None:
        call = self._pending.pop(response_correlation_id(frame), None)
        if call is None:
            raise MalformedMessage("an answer that nobody asked for")
        future, read = call
        if future is None:
            read(frame)
            return
        if future.done():
            return
        try:
            future.set_result(read(frame))
        except Exception as error:  # noqa: BLE001  the fault belongs to whoever waits for this answer
            future.set_exception(error)
