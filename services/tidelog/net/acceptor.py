"""Accepts connections at one address, as fast as it may: whoever comes too fast waits in the kernel's queue.

The event loop's own server cannot be made to pause, so the sockets are bound and accepted from here.
"""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any, Protocol

from tidelog.runtime import logs

if TYPE_CHECKING:
    from collections.abc import Callable

_logger = logs.get("net")

# Connections that the kernel completes while the loop is busy elsewhere; a restarted client fleet comes all at once.
_BACKLOG = 1024
# So many are accepted in one turn of the event loop before others get theirs.
_AT_ONCE = 64
# When descriptors run out, the next look is after this long: some may have been closed by then.
_FAULT_PAUSE_MS = 1000.0


class ConnectionRate(Protocol):
    """Bounds how fast connections come."""

    def refusal_ms(self, ip: str) -> float:
        """How long one more connection from there is held before it is closed, unserved; 0 if it may come in."""
        ...

    def pause_ms(self) -> float:
        """One more came in: how long no other may."""
        ...


class NoRate:
    """Everybody may come at once."""

    def refusal_ms(self, ip: str) -> float:  # noqa: ARG002  from wherever
        return 0

    def pause_ms(self) -> float:
        return 0


class Acceptor:
    """Made by `open`; accepts until `close`."""

    def __init__(self, protocol: Callable[[], asyncio.BaseProtocol], rate: ConnectionRate) -> None:
        self._protocol = protocol
        self._rate = rate
        self._loop = asyncio.get_running_loop()
        self._sockets: list[socket.socket] = []
        self._resumption: asyncio.TimerHandle | None = None
        self._is_closed = False
        # Sockets that came too fast, each until it is closed; and connections that are on their way to their protocol.
        self._held: dict[socket.socket, asyncio.TimerHandle] = {}
        self._handovers: set[asyncio.Task[object]] = set()
        self.accepted = self.refused = 0

    async def open(self, host: str, port: int) -> None:
        """Listen at every address of the host, or of this machine if it is empty. Raises OSError."""
        addresses = await self._loop.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        try:
            for family, _, _, _, address in dict.fromkeys(addresses):
                self._listen(family, address)
        except OSError:
            self.close()
            raise
        self._resume()

    @property
    def port(self) -> int:
        port: int = self._sockets[0].getsockname()[1]
        return port

    def close(self) -> None:
        """Accept no more; who is already in stays."""
        if self._is_closed:
            return
        self._pause()
        self._is_closed = True
        for one in (*self._sockets, *self._held):
            one.close()
        for timer in self._held.values():
            timer.cancel()
        self._held.clear()

    def _listen(self, family: int, address: Any) -> None:
        one = socket.socket(family, socket.SOCK_STREAM)
        self._sockets.append(one)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # The other family has a socket of its own.
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.settimeout(0)
        one.bind(address)
        one.listen(_BACKLOG)

    def _resume(self) -> None:
        self._resumption = None
        for one in self._sockets:
            self._loop.add_reader(one, self._accept, one)

    def _pause(self) -> None:
        if self._resumption is not None:
            self._resumption.cancel()
            self._resumption = None
        elif not self._is_closed:
            for one in self._sockets:
                self._loop.remove_reader(one)

    def _pause_for(self, duration_ms: float) -> None:
        self._pause()
        self._resumption = self._loop.call_later(duration_ms / 1000, self._resume)

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(_AT_ONCE):
            try:
                accepted, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                _logger.warning("accepting pauses", reason=str(error))
                self._pause_for(_FAULT_PAUSE_MS)
                return
            pause_ms = self._take(accepted, address[0])
            if pause_ms > 0:
                self._pause_for(pause_ms)
                return

    def _take(self, accepted: socket.socket, ip: str) -> float:
        """Hand it over, or hold it; how long to accept nobody else."""
        accepted.settimeout(0)
        refusal_ms = self._rate.refusal_ms(ip)
        if refusal_ms > 0:
            self.refused += 1
            self._held[accepted] = self._loop.call_later(refusal_ms / 1000, self._drop, accepted)
            return 0
        self.accepted += 1
        task = self._loop.create_task(self._hand_over(accepted))
        self._handovers.add(task)
        task.add_done_callback(self._handovers.discard)
        return self._rate.pause_ms()

    async def _hand_over(self, accepted: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._protocol, accepted)
        except OSError as error:
            _logger.info("connection lost at once", reason=str(error))
            accepted.close()

    def _drop(self, accepted: socket.socket) -> None:
        del self._held[accepted]
        accepted.close()
