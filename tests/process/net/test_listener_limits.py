"""How many connections a listener takes, how long it keeps them, and how it closes."""

import threading
import time
from collections.abc import Callable

import pytest

from tests.process.net.test_listener_answers import Deferring, deferred
from tests.process.net.test_listener_frames import echo, request
from tests.support.ports import free_port
from tests.support.waiting import eventually
from tests.support.wire_server import WireServer, framed
from tidelog.kafka.types import Endpoint
from tidelog.net.limits import Admission, ConnectionLimits
from tidelog.net.listener import Listener
from tidelog.runtime.faults import StartupError

Serve = Callable[..., WireServer]


@pytest.mark.parametrize(
    "admission",
    [lambda: Admission(connections_max=3), lambda: Admission(per_ip_max=3)],
    ids=["max.connections", "max.connections.per.ip"],
)
def test_one_connection_too_many_is_closed_and_room_is_found_again(
    serve: Serve, admission: Callable[[], Admission]
) -> None:
    server = serve(echo, None, admission())
    clients = [server.connect() for _ in range(3)]
    for client in clients:
        client.send(request(1))
        assert client.receive() == request(1)
    with server.connect() as refused:
        assert refused.is_closed()
    clients.pop().socket.close()
    eventually(lambda: server.run(lambda: server.listener.connections) == 2)
    with server.connect() as admitted:
        admitted.send(request(2))
        assert admitted.receive() == request(2)
    for client in clients:
        client.socket.close()


def test_an_address_can_have_a_limit_of_its_own(serve: Serve) -> None:
    server = serve(echo, None, Admission(per_ip_max=100, per_ip_overrides={"127.0.0.1": 0}))
    with server.connect() as client:
        assert client.is_closed()


def test_idle_connections_are_dropped_and_others_kept(serve: Serve) -> None:
    handler = Deferring()
    server = serve(handler, ConnectionLimits(idle_ms_max=400))
    with server.connect() as idle, server.connect() as half, server.connect() as busy, server.connect() as waiting:
        waiting.send(deferred(0))
        half.send_raw(framed(request(1))[:9])
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            busy.send(request(1))
            assert busy.receive() == request(1)
            time.sleep(0.05)
        assert idle.is_closed(2)
        assert half.is_closed(2)
        server.run(lambda: handler.slots[0].fill(framed(b"patience")))
        assert waiting.receive() == b"patience"


def test_close_lets_due_answers_go_out(serve: Serve) -> None:
    handler = Deferring()
    server = serve(handler)
    with server.connect() as client, server.connect() as idle:
        client.send(deferred(0))
        eventually(lambda: handler.slots)
        closing = threading.Thread(target=lambda: server.run_async(server.listener.close(10)))
        closing.start()
        assert idle.is_closed()
        client.send(request(1))  # too late to be taken
        assert client.is_silent()
        client.socket.settimeout(20)
        server.run(lambda: handler.slots[0].fill(framed(b"zero")))
        assert client.receive() == b"zero"
        assert client.is_closed()
        closing.join(5)
        assert not closing.is_alive()
    with pytest.raises(ConnectionRefusedError):
        server.connect()


def test_close_does_not_wait_for_answers_beyond_its_bound(serve: Serve) -> None:
    handler = Deferring()
    server = serve(handler)
    with server.connect() as client:
        client.send(deferred(0))
        eventually(lambda: handler.slots)
        start = time.monotonic()
        server.run_async(server.listener.close(0.3))
        assert time.monotonic() - start < 5
        assert client.is_closed()


async def test_a_taken_port_is_told_with_setting_and_address() -> None:
    endpoint = Endpoint("PLAINTEXT", "127.0.0.1", free_port())
    first = await Listener.open(endpoint, echo)
    with pytest.raises(StartupError, match=rf"PLAINTEXT://127\.0\.0\.1:{endpoint.port} \(listeners\).*in use"):
        await Listener.open(endpoint, echo)
    await first.close(1)


async def test_an_unknown_host_is_told_with_setting_and_address() -> None:
    with pytest.raises(StartupError, match=r"no\.such\.host\.invalid:9092 \(listeners\)"):
        await Listener.open(Endpoint("PLAINTEXT", "no.such.host.invalid", 9092), echo)
