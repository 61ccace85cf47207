"""How an API is offered: its key, the versions served, and what answers it."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from tidelog.kafka.wire.schema import Api, Response
    from tidelog.kafka.wire.versions import Versions
    from tidelog.net.request_counts import ApiCounts
    from tidelog.net.server_connection import ServerConnection

    # The answer, or a coroutine that comes to it; None is for requests that get no answer.
    Answer = Response | Coroutine[Any, Any, Response | None] | None
    Serve = Callable[["RequestContext", Any], Answer]
    ServeFrame = Callable[["RequestContext", memoryview, int], None]


@dataclass(slots=True)  # not frozen: one is made for every request, and frozen costs three times as much
class RequestContext:
    """Who asks, in which version, and on which listener."""

    connection: ServerConnection
    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    counts: ApiCounts
    # Of the frame, without its length.
    size: int = 0
    # What became of it when; see request_counts.py. No answer is deferred if `deferred_ns` is 0.
    received_ns: int = 0
    started_ns: int = 0
    deferred_ns: int = 0
    ready_ns: int = 0
    passed_on_ns: int = 0
    answer_size: int = 0
    # Where its answer ends in all that was ever sent on its connection.
    answer_end: int = 0
    throttle_ms: int = 0

    def throttle(self, duration_ms: int) -> None:
        """Its client is told to wait for so long, and is not read from meanwhile."""
        self.throttle_ms = duration_ms
        self.connection.mute(duration_ms)

    def finish_unanswered(self) -> None:
        """It gets no answer, and what it asked for is done."""
        self.ready_ns = self.passed_on_ns = perf_counter_ns()
        self.counts.on_answered(self, self.ready_ns)

    @property
    def listener(self) -> str:
        """The name of the listener that the request came in on."""
        return self.connection.listener


@dataclass(frozen=True, slots=True)
class ServedApi:
    """An API that is answered message by message: `serve` gets the decoded request and gives the response."""

    api: Api
    versions: Versions
    serve: Serve


@dataclass(frozen=True, slots=True)
class ServedFrames:
    """An API that is answered frame by frame, because it is hot or because the frame is passed on.

    `serve` gets the frame and where the body starts in it. The frame is its own only until it returns, and it answers
    through the connection itself.
    """

    api: Api
    versions: Versions
    serve: ServeFrame


Served = ServedApi | ServedFrames
