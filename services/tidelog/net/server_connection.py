"""The server side of one connection: requests in, answers out in order, and never more of either than is bounded."""

from __future__ import annotations

import asyncio
import os
from bisect import bisect_right
from collections.abc import Callable
from operator import attrgetter
from time import perf_counter_ns
from typing import TYPE_CHECKING, Protocol, cast

from tidelog.kafka.wire.headers import REQUEST_BYTES_MIN
from tidelog.net.answers import AnswerQueue, Slot
from tidelog.net.frame_reader import BadFrameError, FrameReader
from tidelog.net.outbox import Outbox, Part
from tidelog.runtime import logs

if TYPE_CHECKING:
    from socket import socket

    from tidelog.net.limits import ConnectionLimits
    from tidelog.net.served import RequestContext

Handler = Callable[["ServerConnection", memoryview], None]

_logger = logs.get("net")


class Owner(Protocol):
    """The listener, as far as its connections know it."""

    def admit(self, connection: ServerConnection, sock: socket) -> bool:
        """Whether there may be one more; if so it is counted until `on_lost`."""
        ...

    def on_lost(self, connection: ServerConnection) -> None: ...


class ServerConnection(asyncio.BufferedProtocol):
    """What a handler sees of a connection.

    A handler is called with the frame of each request, which is its own only until it returns. By then it has called
    `reply`, or `defer`, or `close`, or nothing if the request gets no answer.
    """

    def __init__(self, listener: str, handler: Handler, limits: ConnectionLimits, owner: Owner) -> None:
        self.listener = listener
        self.peer_host = ""
        self._handler = handler
        self._unanswered_max = limits.unanswered_max
        self._unsent_bytes_max = limits.unsent_bytes_max
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        # The request that is being handled, for whoever wants to know when it is answered.
        self.request: RequestContext | None = None
        # When the bytes came that are being handled, and the latest moment that is known: no clock is read twice.
        self.received_ns = self.moment_ns = perf_counter_ns()
        self._last_active_ns = self.moment_ns
        self._frames = FrameReader(self._on_frame, bytes_min=REQUEST_BYTES_MIN, bytes_max=limits.request_bytes_max)
        self._answers = AnswerQueue(self._send, self._close_when_sent, ordered=limits.answers_in_order)
        self._transport: asyncio.Transport
        self._outbox: Outbox | None = None
        # The requests whose answers are on their way out.
        self._sending: list[RequestContext] = []
        # Requests are being handled: their answers wait for each other and leave together.
        self._handles = False
        self._adjusts = False
        self._reads = True
        self._no_more_requests = False
        self._closes_when_sent = False
        self._is_lost = False
        self._mute: asyncio.TimerHandle | None = None
        self._is_held = False
        self._before_next: Callable[[], object] | None = None

    # ---- for handlers

    def reply(self, *parts: Part) -> None:
        """Answer the request that is being handled."""
        request = self.request
        if request is not None:
            self.moment_ns = request.ready_ns = request.passed_on_ns = perf_counter_ns()
        if self._answers.waiting:
            self._answers.answer(parts, request)
        else:
            self._send(parts, request)

    def defer(self) -> Slot:
        """Answer the request that is being handled later; answers to later requests wait behind it."""
        request = self.request
        if request is not None:
            self.moment_ns = request.deferred_ns = perf_counter_ns()
        return self._answers.defer(request)

    def before_next(self, action: Callable[[], object]) -> None:
        """Call this when the next request comes, for example because its answer should not wait behind a long one."""
        self._before_next = action

    def close(self) -> None:
        """Take no more requests, answer those taken so far, then close."""
        if not self._no_more_requests:
            self._no_more_requests = True
            self._answers.close_after_all()
            self._adjust()

    def abort(self) -> None:
        """Close now, whatever was still to be said."""
        self._no_more_requests = True
        self._transport.abort()

    def mute(self, duration_ms: float) -> None:
        """Take no requests for so long, or longer if that was said before: how a client that exceeds its quota is slowed."""
        until_s = self._loop.time() + duration_ms / 1000
        if self._mute is not None:
            if self._mute.when() >= until_s:
                return
            self._mute.cancel()
        self._mute = self._loop.call_at(until_s, self._unmute)
        self._adjust()

    def hold(self) -> None:
        """Take no requests until `release`."""
        self._is_held = True
        self._adjust()

    def release(self) -> None:
        self._is_held = False
        self._adjust()

    # ---- for the listener

    @property
    def is_open(self) -> bool:
        """Whether there is still somebody to answer."""
        return not self._is_lost

    @property
    def unanswered(self) -> int:
        return self._answers.waiting

    @property
    def unsent_bytes(self) -> int:
        return self._outbox.unsent_bytes if self._outbox is not None else 0

    def is_idle_since(self, moment_ns: int) -> bool:
        """Whether nothing moved since then, and not because the client waits for an answer of ours."""
        return self._last_active_ns < moment_ns and (not self._answers.waiting or self.unsent_bytes > 0)

    # ---- from the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self.peer_host = (transport.get_extra_info("peername") or ("",))[0]
        sock: socket = transport.get_extra_info("socket")
        if not self._owner.admit(self, sock):
            self.abort()
            return
        try:
            fd = os.dup(sock.fileno())
        except OSError as error:
            _logger.warning("connection refused", reason=str(error), peer=self.peer_host)
            self.abort()
            return
        self._outbox = Outbox(self._loop, fd, on_sent=self._on_sent, on_broken=self.abort)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002  the hint is for those without a stage
        return self._frames.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        self._last_active_ns = self.received_ns = self.moment_ns = perf_counter_ns()
        self._handles = True
        try:
            self._frames.received(nbytes)
        except Exception as error:  # noqa: BLE001  whatever one request breaks, it breaks for its connection alone
            self._give_up(error)
        self._handles = False
        self._adjust()

    def eof_received(self) -> bool:
        # A client that shut its side may still read what is on its way; for what is not known yet it will not wait.
        if self._answers.waiting:
            return False
        self.close()
        return True

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  why it went makes no difference
        self._no_more_requests = self._is_lost = True
        if self._mute is not None:
            self._mute.cancel()
        self._frames.discard()
        if self._outbox is not None:
            # The peer sees the end only when this last descriptor of the socket is closed too.
            self._outbox.close()
        self._owner.on_lost(self)

    # ---- requests

    def _on_frame(self, frame: memoryview) -> None:
        if self._before_next is not None:
            action, self._before_next = self._before_next, None
            action()
        self._handler(self, frame)
        self._frames.held = self._must_hold()

    def _must_hold(self) -> bool:
        # Asked twice for every request, so that what it looks at are plain attributes.
        outbox = self._outbox
        return (
            self._no_more_requests
            or self._mute is not None
            or self._is_held
            or self._answers.waiting >= self._unanswered_max
            or (outbox is not None and outbox.unsent_bytes >= self._unsent_bytes_max)
        )

    def _take_parked(self) -> None:
        self._handles = True
        self.moment_ns = perf_counter_ns()
        try:
            self._frames.resume()
        except Exception as error:  # noqa: BLE001  as in buffer_updated
            self._give_up(error)
        self._handles = False

    def _give_up(self, error: Exception) -> None:
        if isinstance(error, BadFrameError):
            _logger.info("connection closed", reason=str(error), peer=self.peer_host, listener=self.listener)
        else:
            _logger.failure("request failed", error, peer=self.peer_host, listener=self.listener)
        self.close()

    def _adjust(self) -> None:
        """Send what can be sent, and read while there is room for more: the socket passes the pressure on."""
        if self._handles or self._adjusts:
            return  # whoever is at it comes here when it is done
        self._adjusts = True
        while True:
            if self._outbox is not None:
                self._outbox.flush()
                if self._sending:
                    self._note_sent(self._outbox)
            self._frames.held = self._must_hold()
            if self._frames.held or not self._frames.has_parked:
                break
            self._take_parked()
        self._adjusts = False
        self._set_reading(not self._frames.held)

    def _set_reading(self, wanted: bool) -> None:
        if wanted == self._reads or self._transport.is_closing():
            return
        self._reads = wanted
        if wanted:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def _unmute(self) -> None:
        self._mute = None
        self._adjust()

    # ---- answers

    def _send(self, parts: tuple[Part, ...], request: RequestContext | None) -> None:
        outbox = self._outbox
        if outbox is None:
            return
        before = outbox.added_bytes
        for part in parts:
            outbox.add(part)
        if request is not None:
            request.answer_end = outbox.added_bytes
            request.answer_size = request.answer_end - before
            self._sending.append(request)
        if not self._handles:
            self._adjust()

    def _note_sent(self, outbox: Outbox) -> None:
        now_ns = self._last_active_ns = perf_counter_ns()
        sent, self._sending = self._sending, []
        if outbox.unsent_bytes:
            sent_bytes = outbox.added_bytes - outbox.unsent_bytes
            count = bisect_right(sent, sent_bytes, key=attrgetter("answer_end"))
            self._sending = sent[count:]
            del sent[count:]
        for request in sent:
            request.counts.on_answered(request, now_ns)

    def _on_sent(self) -> None:
        if self._closes_when_sent:
            self._close_when_sent()
        if not self._adjusts:
            self._last_active_ns = perf_counter_ns()
            self._adjust()

    def _close_when_sent(self) -> None:
        self._closes_when_sent = True
        self._no_more_requests = True
        if not self.unsent_bytes:
            self._transport.close()
