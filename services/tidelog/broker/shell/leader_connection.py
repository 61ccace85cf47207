"""The connection to one leader: opened while there is something to copy, and opened again when it is lost."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from tidelog.net.connection import Connection
from tidelog.runtime import logs

if TYPE_CHECKING:
    from tidelog.broker.shell.fetcher_settings import FetcherSettings
    from tidelog.kafka.types import BrokerId

# A leader that restarts is back within a second or two, and nothing can be written while it is looked for.
_RECONNECT_MS_MIN, _RECONNECT_MS_MAX = 10.0, 250.0
_CONNECT_TIMEOUT_S = 5.0

_logger = logs.get("replication")


class Fetcher(Protocol):
    """Who uses the connection."""

    def __len__(self) -> int:
        """How much there is to copy; without anything there is no connection."""
        ...

    @property
    def unanswered_ms(self) -> float:
        """For how long it has waited for an answer, 0 if it waits for none."""
        ...

    def on_connected(self) -> None: ...
    def on_disconnected(self) -> None: ...


class LeaderConnection:
    """Runs until it is closed. `open` is the connection while there is one."""

    def __init__(self, leader_id: BrokerId, settings: FetcherSettings, fetcher: Fetcher) -> None:
        self._leader_id = leader_id
        self._settings = settings
        self._fetcher = fetcher
        self.open: Connection | None = None
        self._pause_ms = _RECONNECT_MS_MIN
        self._is_refused = False
        self._has_work = asyncio.Event()
        self._task = settings.spawn(self._run(), f"fetcher of broker {leader_id}")

    @property
    def is_dead(self) -> bool:
        """Whether the leader closed it, and nobody has listened there since."""
        is_cut = self.open is not None and not self.open.is_open
        return is_cut or self._is_refused

    def want(self) -> None:
        """There is something to copy."""
        self._has_work.set()

    def on_answer(self) -> None:
        """The leader is well: if it is lost, it is looked for at once."""
        self._pause_ms = _RECONNECT_MS_MIN

    def end(self) -> None:
        self._task.cancel()

    async def ended(self) -> None:
        await asyncio.wait({self._task})

    async def _run(self) -> None:
        while True:
            await self._has_work.wait()
            connection = await self._connect()
            if connection is not None:
                await self._use(connection)
            if not len(self._fetcher):
                self._has_work.clear()
                continue
            await asyncio.sleep(self._pause_ms / 1000)
            self._pause_ms = min(self._pause_ms * 2, _RECONNECT_MS_MAX)

    async def _use(self, connection: Connection) -> None:
        try:
            self.open = connection
            self._fetcher.on_connected()
            await self._until_lost(connection)
            self._is_refused = not connection.is_open
        finally:
            connection.close()
            self.open = None
            self._fetcher.on_disconnected()

    async def _connect(self) -> Connection | None:
        endpoint = self._settings.endpoint_of(self._leader_id)
        if endpoint is None:
            return None
        client_id = self._settings.identity.client_id.decode()
        try:
            connection = await Connection.open(
                endpoint.host, endpoint.port, client_id=client_id, timeout_s=_CONNECT_TIMEOUT_S
            )
            self._is_refused = False
            return connection
        except OSError as error:
            self._is_refused = isinstance(error, ConnectionRefusedError)
            _logger.debug("leader not reached", leader=self._leader_id, at=endpoint.address, why=str(error))
            return None

    async def _until_lost(self, connection: Connection) -> None:
        """A leader that is silent for too long counts as lost as well."""
        timeout_ms = self._settings.socket_timeout_ms
        lost = asyncio.ensure_future(connection.closed())
        try:
            while not lost.done():
                await asyncio.wait({lost}, timeout=timeout_ms / 1000)
                silent_ms = self._fetcher.unanswered_ms
                if silent_ms > timeout_ms:
                    _logger.warning("leader is silent", leader=self._leader_id, ms=round(silent_ms))
                    return
        finally:
            lost.cancel()
