"""A listener in a thread with a loop of its own, so that tests can talk to it with plain blocking sockets."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from tidelog.kafka.types import Endpoint
from tidelog.net.listener import Listener

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tidelog.net.acceptor import ConnectionRate
    from tidelog.net.limits import Admission, ConnectionLimits
    from tidelog.net.server_connection import Handler, ServerConnection

CLOSE_S = 5.0


class WireServer:
    """One listener on loopback. `handler` runs in the server's thread; `run` runs anything else there."""

    def __init__(
        self,
        new_loop: Callable[[], asyncio.AbstractEventLoop],
        handler: Handler,
        limits: ConnectionLimits | None,
        admission: Admission | None,
        rate: ConnectionRate | None = None,
    ) -> None:
        self._loop = new_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self.connections: list[ServerConnection] = []

        def remember(connection: ServerConnection, frame: memoryview) -> None:
            if connection not in self.connections:
                self.connections.append(connection)
            handler(connection, frame)

        endpoint = Endpoint("PLAINTEXT", "127.0.0.1", 0)
        self.listener = self.run_async(Listener.open(endpoint, remember, limits=limits, admission=admission, rate=rate))
        self.port = self.run(lambda: self.listener.port)

    def run_async(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)

    def run(self, action: Callable[[], Any]) -> Any:
        async def act() -> Any:
            return action()

        return self.run_async(act())

    def connect(self) -> Client:
        return Client(self.port)

    def stop(self) -> None:
        try:
            self.run_async(self.listener.close(CLOSE_S))
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


class Client:
    """A blocking socket that sends and receives frames, or any bytes at all."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.socket.close()

    def send(self, *bodies: bytes) -> None:
        self.socket.sendall(b"".join(framed(body) for body in bodies))

    def send_raw(self, data: bytes) -> None:
        self.socket.sendall(data)

    def receive(self) -> bytes:
        (size,) = struct.unpack(">i", self.exactly(4))
        return self.exactly(size)

    def exactly(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            piece = self.socket.recv(min(count - len(data), 1 << 20))
            assert piece, f"the server closed after {len(data)} of {count} bytes"
            data += piece
        return bytes(data)

    def is_closed(self, within_s: float = 10) -> bool:
        """Whether the server closes within this time and says nothing before that."""
        self.socket.settimeout(within_s)
        try:
            data = self.socket.recv(1)
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        assert not data, "an answer came instead of a close"
        return True

    def is_silent(self, for_s: float = 0.2) -> bool:
        return not self.is_closed(for_s)


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


@contextmanager
def wire_server(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
    handler: Handler,
    limits: ConnectionLimits | None = None,
    admission: Admission | None = None,
    rate: ConnectionRate | None = None,
) -> Iterator[WireServer]:
    server = WireServer(new_loop, handler, limits, admission, rate)
    try:
        yield server
    finally:
        server.stop()
