"""Connections to brokers and to other coordinators: opened when needed, closed when their process leaves the cluster."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from tidelog.kafka.cluster import Role
from tidelog.kafka.types import GRPC_LISTENER
from tidelog.net.connection import Connection

if TYPE_CHECKING:
    from tidelog.kafka.cluster import ClusterView, Member
    from tidelog.kafka.types import Endpoint

_CONNECT_TIMEOUT_S = 5.0


class UnreachableError(Exception):
    """Nothing was sent, so nothing was done."""


class _Opened(NamedTuple):
    epoch: int
    connection: Connection


class Peers:
    """At most one connection to each peer, over which requests keep their order."""

    def __init__(self, view: ClusterView, client_id: str, listener: str | None) -> None:
        """`listener` names that of brokers; None takes the first one that a peer has."""
        self._view = view
        self._client_id = client_id
        self._listener = listener
        self._opened: dict[tuple[Role, int], _Opened] = {}
        self._opening: dict[tuple[Role, int], asyncio.Lock] = {}

    async def connection(self, role: Role, id: int) -> Connection:
        """An open connection to the present incarnation of a peer. Raises UnreachableError."""
        ready = self._ready(role, id)
        if ready is not None:
            return ready
        async with self._opening.setdefault((role, id), asyncio.Lock()):
            return self._ready(role, id) or await self._open(role, id)

    def drop(self, role: Role, id: int) -> None:
        """Close the connection, so that nothing that was sent over it can arrive any more in the order of the next."""
        opened = self._opened.pop((role, id), None)
        if opened is not None:
            opened.connection.close()

    def on_view_changed(self) -> None:
        """A peer that left, or came back as another incarnation, answers nothing that it was asked before."""
        for (role, id), opened in list(self._opened.items()):
            member = self._member(role, id)
            if member is None or member.epoch != opened.epoch:
                self.drop(role, id)

    def close(self) -> None:
        for role, id in list(self._opened):
            self.drop(role, id)

    def _ready(self, role: Role, id: int) -> Connection | None:
        opened = self._opened.get((role, id))
        member = self._member(role, id)
        if opened is None or member is None or opened.epoch != member.epoch or not opened.connection.is_open:
            return None
        return opened.connection

    async def _open(self, role: Role, id: int) -> Connection:
        member = self._member(role, id)
        endpoint = self._endpoint(member) if member is not None else None
        if member is None or endpoint is None:
            raise UnreachableError(f"{role} {id} is not there")
        self.drop(role, id)
        try:
            connection = await Connection.open(
                endpoint.host, endpoint.port, client_id=self._client_id, timeout_s=_CONNECT_TIMEOUT_S
            )
        except OSError as error:
            raise UnreachableError(f"{role} {id}: {error}") from error
        self._opened[role, id] = _Opened(member.epoch, connection)
        return connection

    def _member(self, role: Role, id: int) -> Member | None:
        members = self._view.brokers if role is Role.BROKER else self._view.coordinators
        return members.get(id)

    def _endpoint(self, member: Member) -> Endpoint | None:
        named = member.endpoint(self._listener) if self._listener else None
        return named or next((each for each in member.endpoints if each.listener != GRPC_LISTENER), None)
