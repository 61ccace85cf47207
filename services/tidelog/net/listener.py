"""One listener: accepts connections within the limits, drops idle ones, closes in good order."""

from __future__ import annotations

import asyncio
import socket
from time import perf_counter_ns
from typing import TYPE_CHECKING

from tidelog.net.acceptor import Acceptor, NoRate
from tidelog.net.limits import Admission, ConnectionLimits
from tidelog.net.server_connection import ServerConnection
from tidelog.runtime import logs
from tidelog.runtime.faults import cannot_listen

if TYPE_CHECKING:
    from tidelog.kafka.types import Endpoint
    from tidelog.net.acceptor import ConnectionRate
    from tidelog.net.server_connection import Handler

_logger = logs.get("net")

# Idle connections are looked for at least this often, and four times within the time that they are allowed.
_IDLE_CHECK_S_MAX = 30.0


class Listener:
    """Made by `open`; serves until `close`."""

    def __init__(
        self,
        endpoint: Endpoint,
        handler: Handler,
        limits: ConnectionLimits,
        admission: Admission,
        rate: ConnectionRate,
    ) -> None:
        self.endpoint = endpoint
        self._handler = handler
        self._limits = limits
        self._admission = admission
        self._loop = asyncio.get_running_loop()
        self._connections: set[ServerConnection] = set()
        self._all_lost = asyncio.Event()
        self._acceptor = Acceptor(self._connection, rate)
        self.closed = self.refused = 0
        self._idle_check: asyncio.TimerHandle | None = None

    @classmethod
    async def open(
        cls,
        endpoint: Endpoint,
        handler: Handler,
        *,
        limits: ConnectionLimits | None = None,
        admission: Admission | None = None,
        rate: ConnectionRate | None = None,
        setting: str = "listeners",
    ) -> Listener:
        """Listen at the endpoint; raises StartupError, naming the setting, where that is not possible."""
        listener = cls(endpoint, handler, limits or ConnectionLimits(), admission or Admission(), rate or NoRate())
        try:
            await listener._acceptor.open(endpoint.host, endpoint.port)
        except OSError as error:
            raise cannot_listen(str(endpoint), setting, error) from error
        listener._schedule_idle_check()
        return listener

    @property
    def port(self) -> int:
        """The port that is bound, also where the endpoint left the choice to the kernel."""
        return self._acceptor.port

    @property
    def connections(self) -> int:
        return len(self._connections)

    @property
    def accepted(self) -> int:
        """How many came in since it was opened."""
        return self._acceptor.accepted - self.refused

    @property
    def turned_away(self) -> int:
        """How many did not, because there were too many or because they came too fast."""
        return self._acceptor.refused + self.refused

    @property
    def unsent_bytes(self) -> int:
        return sum(connection.unsent_bytes for connection in self._connections)

    def stop_accepting(self) -> None:
        self._acceptor.close()
        if self._idle_check is not None:
            self._idle_check.cancel()

    async def close(self, timeout_s: float) -> None:
        """Stop accepting and reading, let the answers go out that are due, but wait for them no longer than this."""
        self.stop_accepting()
        for connection in tuple(self._connections):
            connection.close()
        if not await self._lost_all_within(timeout_s):
            _logger.warning("connections cut off", listener=self.endpoint.listener, count=len(self._connections))
            for connection in tuple(self._connections):
                connection.abort()
            await self._lost_all_within(timeout_s)

    def _connection(self) -> ServerConnection:
        return ServerConnection(self.endpoint.listener, self._handler, self._limits, self)

    async def _lost_all_within(self, timeout_s: float) -> bool:
        self._all_lost.clear()
        if not self._connections:
            return True
        try:
            await asyncio.wait_for(self._all_lost.wait(), timeout_s)
        except TimeoutError:
            return False
        return True

    # ---- from connections

    def admit(self, connection: ServerConnection, sock: socket.socket) -> bool:
        if not self._admission.admit(connection.peer_host):
            self.refused += 1
            _logger.info("connection refused", reason="too many", peer=connection.peer_host)
            return False
        self._connections.add(connection)
        if self._limits.send_buffer_bytes > 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._limits.send_buffer_bytes)
        if self._limits.receive_buffer_bytes > 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._limits.receive_buffer_bytes)
        return True

    def on_lost(self, connection: ServerConnection) -> None:
        if connection not in self._connections:
            return
        self._connections.discard(connection)
        self.closed += 1
        self._admission.release(connection.peer_host)
        if not self._connections:
            self._all_lost.set()

    # ---- idle connections

    def _schedule_idle_check(self) -> None:
        if self._limits.idle_ms_max > 0:
            pause_s = min(self._limits.idle_ms_max / 4000, _IDLE_CHECK_S_MAX)
            self._idle_check = self._loop.call_later(pause_s, self._drop_idle)

    def _drop_idle(self) -> None:
        moment_ns = perf_counter_ns() - self._limits.idle_ms_max * 1_000_000
        for connection in [one for one in self._connections if one.is_idle_since(moment_ns)]:
            _logger.debug("idle connection dropped", peer=connection.peer_host, listener=self.endpoint.listener)
            connection.abort()
        self._schedule_idle_check()
