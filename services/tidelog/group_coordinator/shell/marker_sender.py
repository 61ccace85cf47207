"""Brings markers to where they are to be written: one ordered connection to each broker and coordinator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.group_coordinator.shell.peers import UnreachableError
from tidelog.kafka.wire.primitives import MalformedMessage
from tidelog.net.connection import ConnectionLostError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.group_coordinator.core.transactions.markers import SendMarkers
    from tidelog.group_coordinator.shell.append_queue import Spawn
    from tidelog.group_coordinator.shell.peers import Peers
    from tidelog.kafka.wire.messages.write_txn_markers import WriteTxnMarkersResponse

_VERSION = 1


class MarkerSender:
    def __init__(self, peers: Peers, spawn: Spawn, *, timeout_ms: int) -> None:
        """The peers' connections must be nobody else's: one that fails is closed before its markers go another way."""
        self._peers = peers
        self._spawn = spawn
        self._timeout_s = timeout_ms / 1000

    def send(
        self, markers: SendMarkers, on_answered: Callable[[WriteTxnMarkersResponse], None], on_lost: Callable[[], None]
    ) -> None:
        """One of the two is called, once."""
        self._spawn(self._send(markers, on_answered, on_lost), "markers")

    async def _send(
        self, markers: SendMarkers, on_answered: Callable[[WriteTxnMarkersResponse], None], on_lost: Callable[[], None]
    ) -> None:
        role, id = markers.destination.role, markers.destination.id
        try:
            connection = await self._peers.connection(role, id)
            response = await connection.call(markers.request, _VERSION, timeout_s=self._timeout_s)
        except UnreachableError:
            on_lost()
        except (ConnectionLostError, TimeoutError, MalformedMessage):
            self._peers.drop(role, id)
            on_lost()
        else:
            on_answered(response)
