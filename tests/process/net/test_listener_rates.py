"""How fast a listener takes connections, and what is counted of them."""

import time
from collections.abc import Callable

from tests.process.net.test_listener_frames import echo, request
from tests.support.waiting import eventually
from tests.support.wire_server import Client, WireServer

Serve = Callable[..., WireServer]


class Rate:
    """As many as are given may come in before a pause, and refusals for whoever comes then."""

    def __init__(self, refusals_ms: list[float] | None = None, pauses_ms: list[float] | None = None) -> None:
        self._refusals_ms = refusals_ms or []
        self._pauses_ms = pauses_ms or []

    def refusal_ms(self, ip: str) -> float:
        assert ip == "127.0.0.1"
        return self._refusals_ms.pop(0) if self._refusals_ms else 0

    def pause_ms(self) -> float:
        return self._pauses_ms.pop(0) if self._pauses_ms else 0


def answers(client: Client) -> float:
    """When it was answered."""
    client.send(request(1))
    assert client.receive() == request(1)
    return time.monotonic()


def test_nobody_is_accepted_during_a_pause_and_everybody_after_it(serve: Serve) -> None:
    server = serve(echo, rate=Rate(pauses_ms=[500, 0]))
    with server.connect() as first, server.connect() as second, server.connect() as third:
        begun = answers(first)
        assert answers(second) - begun > 0.3
        assert answers(third) - begun > 0.3
    assert server.run(lambda: server.listener.accepted) == 3


def test_who_comes_too_fast_is_held_and_then_closed_and_others_are_served(serve: Serve) -> None:
    server = serve(echo, rate=Rate(refusals_ms=[0, 400]))
    with server.connect() as first:
        answers(first)
        with server.connect() as second, server.connect() as third:
            second.send(request(1))
            answers(third)
            begun = time.monotonic()
            assert second.is_closed()
            assert time.monotonic() - begun > 0.2
    assert server.run(lambda: server.listener.turned_away) == 1


def test_a_pause_does_not_keep_a_listener_from_closing(serve: Serve) -> None:
    server = serve(echo, rate=Rate(refusals_ms=[60_000], pauses_ms=[60_000]))
    with server.connect() as held, server.connect() as served:
        answers(served)
        server.run(server.listener.stop_accepting)
        assert held.is_closed()


def test_connections_are_counted(serve: Serve) -> None:
    server = serve(echo)
    with server.connect() as first, server.connect() as second:
        answers(first)
        answers(second)
        assert server.run(lambda: (server.listener.accepted, server.listener.connections)) == (2, 2)
    eventually(lambda: server.run(lambda: server.listener.closed) == 2)
