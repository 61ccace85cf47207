"""Sockets of the Kafka wire between simulated processes: the real listener and connection on simulated transports."""

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from tests.support.sim.machine import SimProcess
from tests.support.sim.network import End
from tidelog.net.outbox import FileRange, Part

if TYPE_CHECKING:
    from tests.support.sim.node_loop import NodeLoop


async def open_transport(
    process: SimProcess, factory: Callable[[], asyncio.BufferedProtocol], host: str, port: int
) -> "tuple[SimTransport, asyncio.BufferedProtocol]":
    opened: asyncio.Future[End] = asyncio.get_running_loop().create_future()

    def refused() -> None:
        if not opened.done():
            opened.set_exception(ConnectionRefusedError(f"{host}:{port}"))

    attempt = process.network.connect(
        process, host, port, lambda end: end.close() if opened.done() else opened.set_result(end), refused
    )
    try:
        end = await opened
    finally:
        attempt.cancel()
    protocol = factory()
    return SimTransport(process, end, protocol), protocol


class SimTransport(asyncio.Transport):
    def __init__(self, process: SimProcess, end: End, protocol: asyncio.BufferedProtocol) -> None:
        super().__init__()
        self._process = process
        self._end = end
        self._protocol = protocol
        self._is_closing = False
        end.on_message = self._on_message
        end.on_close = self._on_close
        protocol.connection_made(self)
        if not end.is_open:
            # It broke while it was being handed over.
            process.loop.call_soon(self._on_close)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return _Socket(self._process, self) if name == "socket" else default

    def write(self, data: Any) -> None:
        self._end.send(bytes(data))

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def is_closing(self) -> bool:
        return self._is_closing

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._end.close()
            self._process.loop.call_soon(self._protocol.connection_lost, None)

    def abort(self) -> None:
        self.close()

    def _on_message(self, data: bytes) -> None:
        view = memoryview(data)
        while view and not self._is_closing:
            buffer = memoryview(self._protocol.get_buffer(len(view)))
            count = min(len(buffer), len(view))
            buffer[:count] = view[:count]
            self._protocol.buffer_updated(count)
            view = view[count:]

    def _on_close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._protocol.connection_lost(None)


class _Socket:
    """Known by a number that is no descriptor; the outbox finds the transport by it."""

    def __init__(self, process: SimProcess, transport: SimTransport) -> None:
        self._process = process
        self._transport = transport

    def fileno(self) -> int:
        number = len(self._process.sockets)
        self._process.sockets.append(self._transport)
        return number

    def setsockopt(self, *_: object) -> None: ...


class NoDescriptors:
    """In the place of `os` where a connection duplicates the descriptor of its socket."""

    @staticmethod
    def dup(number: int) -> int:
        return number


class SimOutbox:
    """In the place of net.outbox.Outbox: everything leaves at once."""

    def __init__(self, loop: Any, fd: int, *, on_sent: Callable[[], None], on_broken: Callable[[], None]) -> None:
        self._transport: SimTransport = loop.process.sockets[fd]
        self._parts: list[bytes] = []
        self.unsent_bytes = 0
        self.added_bytes = 0

    def add(self, part: Part) -> None:
        data = os.pread(part.fd, part.count, part.position) if isinstance(part, FileRange) else bytes(part)
        self._parts.append(data)
        self.added_bytes += len(data)

    def flush(self) -> None:
        parts, self._parts = self._parts, []
        if parts:
            self._transport.writelines(parts)

    def close(self) -> None:
        self._parts.clear()


class SimAcceptor:
    """In the place of net.acceptor.Acceptor."""

    def __init__(self, protocol: Callable[[], asyncio.BufferedProtocol], rate: object) -> None:
        self.accepted = self.refused = 0
        self.port = 0
        self._protocol = protocol
        self._process = cast("NodeLoop", asyncio.get_running_loop()).process

    async def open(self, host: str, port: int) -> None:
        self.port = port
        self._process.ports[port] = lambda end: self._process.deliver(self._accept, end)

    def close(self) -> None:
        self._process.ports.pop(self.port, None)

    def _accept(self, end: End) -> None:
        self.accepted += 1
        SimTransport(self._process, end, self._protocol())
