"""Frames as they come over real sockets: whole, in pieces, too many at once, too large, and no frames at all."""

import os
import random
import struct
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.waiting import eventually
from tests.support.wire_server import WireServer, framed
from tidelog.net.limits import ConnectionLimits
from tidelog.net.server_connection import ServerConnection

Serve = Callable[..., WireServer]


def echo(connection: ServerConnection, frame: memoryview) -> None:
    connection.reply(framed(bytes(frame)))


def request(number: int, size: int = 8) -> bytes:
    return struct.pack(">q", number) + bytes(size - 8)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_a_frame_that_comes_byte_by_byte_is_answered(serve: Serve) -> None:
    with serve(echo).connect() as client:
        for byte in framed(request(1, 20)):
            client.send_raw(bytes([byte]))
        assert client.receive() == request(1, 20)


def test_random_pieces_of_frames_of_all_sizes_come_out_whole_and_in_order(serve: Serve) -> None:
    rng = random.Random(7)
    bodies = [rng.randbytes(rng.choice([8, 9, 100, 65532, 65536, 70_000, 1_048_576, 3_000_000])) for _ in range(40)]
    data = b"".join(framed(body) for body in bodies)
    with serve(echo).connect() as client:
        at = answered = 0
        ends = [len(framed(body)) for body in bodies]
        sent_before = 0
        while at < len(data):
            size = rng.choice([1, 3, 5, 1000, 65536, 400_000])
            client.send_raw(data[at : at + size])
            at += size
            while answered < len(bodies) and sent_before + ends[answered] <= at:
                assert client.receive() == bodies[answered]
                sent_before += ends[answered]
                answered += 1


def test_many_frames_in_one_write_are_answered_in_order(serve: Serve) -> None:
    with serve(echo).connect() as client:
        client.send(*(request(n) for n in range(2000)))
        assert [client.receive() for _ in range(2000)] == [request(n) for n in range(2000)]


BAD = {
    "negative": struct.pack(">i", -1),
    "most negative": struct.pack(">i", -(2**31)),
    "zero": struct.pack(">i", 0),
    "too short for a header": struct.pack(">i", 7) + bytes(7),
    "over the limit": struct.pack(">i", 1_000_001),
    "largest": struct.pack(">i", 2**31 - 1),
    "HTTP": b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n",
    "TLS": bytes.fromhex("16030102000100") + bytes(505),
    "SSH": b"SSH-2.0-OpenSSH_9.6\r\n",
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
@pytest.mark.parametrize("piece", [1, 1000], ids=["by byte", "at once"])
def test_what_is_no_frame_closes_that_connection_only(serve: Serve, data: bytes, piece: int) -> None:
    server = serve(echo, ConnectionLimits(request_bytes_max=1_000_000))
    with server.connect() as client, server.connect() as other:
        try:
            for at in range(0, len(data), piece):
                client.send_raw(data[at : at + piece])
        except ConnectionError:
            pass  # closed while we were still talking
        assert client.is_closed()
        other.send(request(1))
        assert other.receive() == request(1)


def test_a_good_frame_before_a_bad_one_is_answered_and_one_after_is_not(serve: Serve) -> None:
    with serve(echo).connect() as client:
        client.send_raw(framed(request(1)) + BAD["negative"] + framed(request(2)))
        assert client.receive() == request(1)
        assert client.is_closed()


def test_half_a_frame_waits_and_the_rest_completes_it(serve: Serve) -> None:
    server = serve(echo)
    with server.connect() as client, server.connect() as other:
        client.send_raw(framed(request(1, 300_000))[:100_000])
        assert client.is_silent()
        other.send(request(2))
        assert other.receive() == request(2)
        client.socket.settimeout(20)
        client.send_raw(framed(request(1, 300_000))[100_000:])
        assert client.receive() == request(1, 300_000)


def test_announced_frames_take_no_memory(serve: Serve) -> None:
    server = serve(echo)
    clients = [server.connect() for _ in range(100)]
    before = resident_bytes()
    for client in clients:
        client.send_raw(struct.pack(">i", 100 * 1024 * 1024) + b"\0")
    eventually(lambda: server.run(lambda: server.listener.connections) == 100)
    time.sleep(0.2)
    assert resident_bytes() - before < 20 * 1024 * 1024
    for client in clients:
        client.socket.close()


def test_a_handler_that_fails_closes_its_connection_only(serve: Serve) -> None:
    def fail_at_two(connection: ServerConnection, frame: memoryview) -> None:
        if frame[7] == 2:
            raise ZeroDivisionError("a bug")
        echo(connection, frame)

    server = serve(fail_at_two)
    with server.connect() as client, server.connect() as other:
        client.send(request(1), request(2), request(3))
        assert client.receive() == request(1)
        assert client.is_closed()
        other.send(request(1))
        assert other.receive() == request(1)


def test_a_frame_is_gone_when_its_handler_returns(serve: Serve) -> None:
    kept: list[memoryview] = []

    def keep(connection: ServerConnection, frame: memoryview) -> None:
        kept.append(frame)
        connection.reply(framed(b"done....."))

    with serve(keep).connect() as client:
        client.send(request(1), request(2, 200_000))
        client.receive()
        client.receive()
    for frame in kept:
        with pytest.raises(ValueError, match="released"):
            frame[0]
