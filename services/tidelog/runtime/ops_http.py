"""The ops port: a small HTTP/1.1 server that survives any input, for probes and for Prometheus."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Self, cast

import h11

from tidelog.runtime import logs
from tidelog.runtime.faults import cannot_listen, parse_listener
from tidelog.runtime.ops_pages import Response, text_response

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from types import TracebackType

    from tidelog.runtime.ops_pages import OpsPages

SETTING = "ops.listener"

_logger = logs.get("ops")


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Bounds on what strangers can cost us."""

    # A kubelet, a Prometheus pair and a few curious people; each connection costs some 20 KB.
    connections: int = 64
    header_bytes: int = 8192
    # No page needs a body; what a client sends nevertheless is read and dropped up to here.
    body_bytes: int = 65536
    # From the end of one answer to the end of the next request, and for a client to take an answer. Longer than the
    # usual 15 s between two scrapes, so that Prometheus keeps its connection.
    idle_timeout_ms: float = 75_000
    # From the first byte of a request to its end.
    request_timeout_ms: float = 10_000


def ops_http(listener: str, pages: OpsPages) -> AbstractAsyncContextManager[object]:
    """The ops port at `listener`, or none at all if it is empty."""
    return OpsHttp(listener, pages) if listener else nullcontext()


class OpsHttp:
    """Serves OpsPages on `host:port` while the context is entered; port 0 takes any free port."""

    def __init__(
        self, listener: str, pages: OpsPages, limits: HttpLimits | None = None, *, setting: str = SETTING
    ) -> None:
        self._listener = listener
        self._pages = pages
        self._limits = limits or HttpLimits()
        self._setting = setting
        self._server: asyncio.Server | None = None
        self._connections: set[_Connection] = set()

    @property
    def port(self) -> int:
        assert self._server is not None, "the server is not running"
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def __aenter__(self) -> Self:
        host, port = parse_listener(self._listener, self._setting)
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(self._accept, host or None, port)
        except OSError as error:
            raise cannot_listen(self._listener, self._setting, error) from error
        _logger.info("listening", port=self.port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for connection in tuple(self._connections):
            connection.abort()
        await self._server.wait_closed()

    def _accept(self) -> _Connection:
        return _Connection(self._pages, self._limits, self._connections)


class _Connection(asyncio.Protocol):
    """One client: h11 reads the requests, this answers them one after the other."""

    def __init__(self, pages: OpsPages, limits: HttpLimits, connections: set[_Connection]) -> None:
        self._pages = pages
        self._limits = limits
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=limits.header_bytes)
        self._request: h11.Request | None = None
        self._request_begun = False
        self._body_bytes = 0
        self._writable = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not instances of asyncio's class, though they are transports in every other respect.
        self._transport = cast("asyncio.Transport", transport)
        self._deadline = self._loop.call_later(self._limits.idle_timeout_ms / 1000.0, self.abort)
        if len(self._connections) >= self._limits.connections:
            _logger.warning("connection refused", reason="too many", limit=self._limits.connections)
            self.abort()
            return
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._deadline.cancel()
        self._connections.discard(self)

    def data_received(self, data: bytes) -> None:
        if self._transport.is_closing():
            return
        if not self._request_begun:
            # Set once a request, not with every byte, so that a trickle of bytes cannot hold the connection.
            self._request_begun = True
            self._expect_within(self._limits.request_timeout_ms)
        self._http.receive_data(data)
        self._answer_requests()

    def eof_received(self) -> None:
        self._transport.close()

    def pause_writing(self) -> None:
        # The client does not take its answers: take no more of its requests either.
        self._writable = False
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._writable = True
        if not self._transport.is_closing():
            self._transport.resume_reading()
            self._answer_requests()

    def abort(self) -> None:
        self._transport.abort()

    def _expect_within(self, timeout_ms: float) -> None:
        self._deadline.cancel()
        self._deadline = self._loop.call_later(timeout_ms / 1000.0, self.abort)

    def _answer_requests(self) -> None:
        try:
            while self._writable and not self._transport.is_closing() and self._on_event(self._http.next_event()):
                pass
        except h11.RemoteProtocolError as error:
            self._refuse(error.error_status_hint, str(error))

    def _on_event(self, event: h11.Event | type[h11.NEED_DATA | h11.PAUSED]) -> bool:
        """Whether there may be another event."""
        match event:
            case h11.Request():
                self._request = event
                if self._http.they_are_waiting_for_100_continue:
                    self._refuse(HTTPStatus.EXPECTATION_FAILED, "no page takes a body")
            case h11.Data():
                self._body_bytes += len(event.data)
                if self._body_bytes > self._limits.body_bytes:
                    self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "no page takes a body")
            case h11.EndOfMessage():
                self._answer()
            case _:
                return False
        return True

    def _answer(self) -> None:
        assert self._request is not None
        method = self._request.method
        if method in (b"GET", b"HEAD"):
            path = self._request.target.partition(b"?")[0].decode("latin-1")
            self._send(self._page(path))
        else:
            self._send(text_response(405, "only GET and HEAD"), (("allow", "GET, HEAD"),))
        self._next_cycle()

    def _page(self, path: str) -> Response:
        try:
            return self._pages.respond(path)
        except Exception:
            # A page that fails must not take the port with it.
            _logger.exception("page failed", path=path)
            return text_response(500, "this page failed; the log says why")

    def _send(self, response: Response, headers: tuple[tuple[str, str], ...] = ()) -> None:
        head = h11.Response(
            status_code=response.status,
            reason=HTTPStatus(response.status).phrase,
            headers=[
                ("content-type", response.content_type),
                ("content-length", str(len(response.body))),
                ("cache-control", "no-store"),
                *headers,
            ],
        )
        parts = [self._http.send(head)]
        if self._request is None or self._request.method != b"HEAD":
            parts.append(self._http.send(h11.Data(data=response.body)))
        parts.append(self._http.send(h11.EndOfMessage()))
        self._transport.write(b"".join(part for part in parts if part))

    def _next_cycle(self) -> None:
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            self._transport.close()
            return
        self._http.start_next_cycle()
        self._request, self._request_begun, self._body_bytes = None, False, 0
        self._expect_within(self._limits.idle_timeout_ms)

    def _refuse(self, status: int, why: str) -> None:
        """Answer a bad request if an answer is still possible, and close."""
        if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._send(text_response(status, why), (("connection", "close"),))
        self._transport.close()
