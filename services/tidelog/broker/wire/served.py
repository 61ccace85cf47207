"""How an API is offered: its key, the versions served, and what answers it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from tidelog.kafka.wire.schema import Api, Response
    from tidelog.kafka.wire.versions import Versions
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
    # When it was taken up and how long that kept this process busy; only where somebody has a quota of request time.
    started_ns: int = 0
    busy_ns: int = 0

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
