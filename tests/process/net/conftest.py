"""A listener over real sockets, on each of the two event loops that it has to work with."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
import uvloop

from tests.support.wire_server import WireServer, wire_server
from tidelog.net.acceptor import ConnectionRate
from tidelog.net.limits import Admission, ConnectionLimits
from tidelog.net.server_connection import Handler

Serve = Callable[..., WireServer]


@pytest.fixture(params=[uvloop.new_event_loop, asyncio.new_event_loop], ids=["uvloop", "asyncio"])
def serve(request: pytest.FixtureRequest) -> Iterator[Serve]:
    with ExitStack() as stack:

        def start(
            handler: Handler,
            limits: ConnectionLimits | None = None,
            admission: Admission | None = None,
            rate: ConnectionRate | None = None,
        ) -> WireServer:
            return stack.enter_context(wire_server(request.param, handler, limits, admission, rate))

        yield start
