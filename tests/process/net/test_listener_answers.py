"""Answers over real sockets: their order, file ranges among bytes, slow readers, and clients that never read."""

import os
import random
import struct
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.process.net.test_listener_frames import echo, request, resident_bytes
from tests.support.waiting import eventually
from tests.support.wire_server import WireServer, framed
from tidelog.net.limits import ConnectionLimits
from tidelog.net.outbox import FileRange, Part
from tidelog.net.server_connection import ServerConnection

if TYPE_CHECKING:
    from tidelog.net.answers import Slot

Serve = Callable[..., WireServer]


class Deferring:
    """Defers what starts with a 1, answers the rest at once."""

    def __init__(self) -> None:
        self.slots: list[Slot] = []
        self.bodies: list[bytes] = []

    def __call__(self, connection: ServerConnection, frame: memoryview) -> None:
        if frame[0]:
            self.slots.append(connection.defer())
            self.bodies.append(bytes(frame))
        else:
            echo(connection, frame)

    def has_deferred(self, number: int) -> bool:
        return len(self.slots) > number


def deferred(number: int) -> bytes:
    return b"\x01" + struct.pack(">q", number)


def test_answers_leave_in_the_order_of_requests_whatever_order_they_are_known_in(serve: Serve) -> None:
    handler = Deferring()
    server = serve(handler)
    with server.connect() as client:
        client.send(deferred(0), request(1), deferred(2), request(3), deferred(4))
        eventually(lambda: len(handler.slots) == 3)
        server.run(lambda: handler.slots[2].fill(framed(b"four")))
        server.run(lambda: handler.slots[1].fill(framed(b"two")))
        assert client.is_silent()
        client.socket.settimeout(20)
        server.run(lambda: handler.slots[0].fill(framed(b"zero")))
        assert [client.receive() for _ in range(5)] == [b"zero", request(1), b"two", request(3), b"four"]


def test_answers_leave_at_once_where_the_peer_goes_by_correlation_ids(serve: Serve) -> None:
    handler = Deferring()
    server = serve(handler, ConnectionLimits(answers_in_order=False))
    with server.connect() as client:
        client.send(deferred(0), deferred(1), request(2))
        assert client.receive() == request(2)
        server.run(lambda: handler.slots[1].fill(framed(b"one")))
        assert client.receive() == b"one"
        server.run(lambda: handler.slots[0].fill(framed(b"zero")))
        assert client.receive() == b"zero"


def test_a_request_without_an_answer_and_a_slot_filled_with_nothing_leave_no_gap(serve: Serve) -> None:
    handler = Deferring()

    def some(connection: ServerConnection, frame: memoryview) -> None:
        if bytes(frame) != request(7):
            handler(connection, frame)

    server = serve(some)
    with server.connect() as client:
        client.send(request(7), deferred(0), request(7), request(3))
        eventually(lambda: handler.slots)
        server.run(handler.slots[0].fill)
        assert client.receive() == request(3)


def test_a_slot_can_close_the_connection_after_the_answers_before_it(serve: Serve) -> None:
    handler = Deferring()
    server = serve(handler)
    with server.connect() as client:
        client.send(deferred(0), deferred(1), request(2))
        eventually(lambda: len(handler.slots) == 2)
        server.run(handler.slots[1].close)
        server.run(lambda: handler.slots[0].fill(framed(b"zero")))
        assert client.receive() == b"zero"
        assert client.is_closed()


def test_a_slot_filled_after_its_connection_is_gone_is_no_fault(serve: Serve) -> None:
    handler = Deferring()
    server = serve(handler)
    with server.connect() as client:
        client.send(deferred(0))
        eventually(lambda: handler.slots)
    eventually(lambda: server.run(lambda: server.listener.connections) == 0)
    assert not server.connections[0].is_open
    server.run(lambda: handler.slots[0].fill(framed(b"late")))


@pytest.fixture
def big_file(tmp_path: Path) -> Path:
    path = tmp_path / "segment"
    path.write_bytes(random.Random(3).randbytes(6_000_000))
    return path


def test_file_ranges_and_bytes_keep_their_order_also_with_a_slow_reader(serve: Serve, big_file: Path) -> None:
    content = big_file.read_bytes()
    fd = os.open(big_file, os.O_RDONLY)

    def send_ranges(connection: ServerConnection, frame: memoryview) -> None:
        (number,) = struct.unpack(">q", frame)
        start, count = number * 1000, 2_500_000
        size = struct.pack(">i", 8 + count + 3)
        parts: list[Part] = [size + bytes(frame), FileRange(fd, start, 1_000_000)]
        connection.reply(*parts, FileRange(fd, start + 1_000_000, count - 1_000_000), b"end")

    with serve(send_ranges).connect() as client:
        client.send(*(request(n) for n in range(8)))
        for number in range(8):
            time.sleep(0.02)
            start = number * 1000
            assert client.receive() == request(number) + content[start : start + 2_500_000] + b"end"
    os.close(fd)


def test_a_file_that_ends_before_the_promised_range_closes_the_connection(serve: Serve, big_file: Path) -> None:
    fd = os.open(big_file, os.O_RDONLY)

    def promise_too_much(connection: ServerConnection, frame: memoryview) -> None:
        connection.reply(struct.pack(">i", 9_000_000), FileRange(fd, 0, 9_000_000))

    with serve(promise_too_much).connect() as client:
        client.send(request(1))
        client.exactly(4 + 6_000_000)
        assert client.is_closed()
    os.close(fd)


def test_ten_thousand_requests_with_nobody_reading_take_bounded_memory(serve: Serve) -> None:
    """Answers of 10 kB each: 100 MB in all, of which the server may hold only what its limit says."""
    answered = 0

    def answer_long(connection: ServerConnection, frame: memoryview) -> None:
        nonlocal answered
        answered += 1
        connection.reply(framed(bytes(frame) + bytes(10_000 - 8)))

    server = serve(answer_long)
    before = resident_bytes()
    with server.connect() as client:
        sender = threading.Thread(target=lambda: client.send(*(request(n) for n in range(10_000))))
        sender.start()
        eventually(lambda: server.connections)
        counts: list[int] = []
        eventually(lambda: counts.append(answered) or (len(counts) > 20 and counts[-20] == counts[-1]))  # type: ignore[func-returns-value]
        assert answered < 10_000
        assert server.run(lambda: server.connections[0].unsent_bytes) < 2 * 1024 * 1024
        assert resident_bytes() - before < 40 * 1024 * 1024
        for number in range(10_000):
            assert client.receive()[:8] == request(number)
        sender.join()
    assert answered == 10_000


def test_no_more_requests_are_taken_while_too_many_are_unanswered(serve: Serve) -> None:
    handler = Deferring()
    server = serve(handler, ConnectionLimits(unanswered_max=10))
    with server.connect() as client:
        client.send(*(deferred(n) for n in range(50)))
        eventually(lambda: len(handler.slots) == 10)
        time.sleep(0.2)
        assert len(handler.slots) == 10
        for number in range(50):
            eventually(partial(handler.has_deferred, number))
            server.run(partial(handler.slots[number].fill, framed(handler.bodies[number])))
            assert client.receive() == deferred(number)


def test_a_muted_connection_is_served_again_after_its_time(serve: Serve) -> None:
    def mute_at_two(connection: ServerConnection, frame: memoryview) -> None:
        echo(connection, frame)
        if bytes(frame) == request(2):
            connection.mute(400)

    with serve(mute_at_two).connect() as client:
        client.send(request(1), request(2), request(3), request(4))
        assert [client.receive(), client.receive()] == [request(1), request(2)]
        start = time.monotonic()
        assert client.receive() == request(3)
        assert time.monotonic() - start > 0.25
        assert client.receive() == request(4)


def test_the_longer_of_two_mutes_holds(serve: Serve) -> None:
    def mute_twice(connection: ServerConnection, frame: memoryview) -> None:
        echo(connection, frame)
        connection.mute(400)
        connection.mute(1)

    with serve(mute_twice).connect() as client:
        client.send(request(1), request(2))
        assert client.receive() == request(1)
        start = time.monotonic()
        assert client.receive() == request(2)
        assert time.monotonic() - start > 0.25


def test_a_client_that_shut_its_side_gets_what_is_due_and_is_closed(serve: Serve) -> None:
    with serve(echo).connect() as client:
        client.send(request(1), request(2))
        client.socket.shutdown(1)
        assert [client.receive(), client.receive()] == [request(1), request(2)]
        assert client.is_closed()
