"""A machine of clients: they speak the Kafka wire with brokers, any of which passes on what coordinators decide."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from tests.support.sim.machine import SimProcess
from tests.support.sim.world import Host
from tidelog.kafka.wire.schema import Request, Response
from tidelog.net.connection import Connection, ConnectionLostError

if TYPE_CHECKING:
    from tests.support.sim.world import World

R = TypeVar("R", bound=Response)

_KAFKA_PORT = 9092


class NoAnswer(Exception):  # noqa: N818  named after what happened
    """Nobody knows whether it was done."""


class Wire:
    """Connections of one client to the brokers."""

    def __init__(self, world: "World", client_id: str, internal_topic: str) -> None:
        """Who leads the partition of the internal topic is its coordinator, as far as clients know."""
        self._world = world
        self._coordinators = next(one for one in world.partitions if one.topic == internal_topic)
        self._client_id = client_id
        self._connections: dict[str, Connection] = {}

    async def ask(self, request: Request[R], version: int, *, broker: int | None = None, timeout_s: float = 3.0) -> R:
        """Ask a broker; if none is named, mostly the one that leads to the coordinator. Raises NoAnswer."""
        id = self._coordinator() if broker is None else broker
        name = f"b{id}"
        try:
            connection = self._connections.get(name)
            if connection is None or not connection.is_open:
                connection = self._connections[name] = await Connection.open(
                    name, _KAFKA_PORT, client_id=self._client_id, timeout_s=1.0
                )
            return await connection.call(request, version, timeout_s=timeout_s)
        except (OSError, ConnectionLostError) as error:
            found = self._connections.pop(name, None)
            if found is not None:
                found.close()
            raise NoAnswer(str(error)) from error

    def _coordinator(self) -> int:
        found = self._world.state(self._coordinators)
        if found is None or found[0].leader < 0 or self._world.random.random() < 0.02:
            return self._world.random.choice(self._world.brokers).id
        return found[0].leader


class ClientHost(Host):
    """Runs clients until it is told to stop; each is a coroutine that never ends by itself."""

    def __init__(self, world: "World") -> None:
        super().__init__(world, "k0", 0)
        self._clients: list[Callable[[], Coroutine[Any, Any, None]]] = []

    def add(self, client: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._clients.append(client)

    async def serve(self, process: SimProcess) -> None:
        async with process.background() as tasks:
            for number, client in enumerate(self._clients):
                tasks.spawn(client(), f"client {number}")
            await process.stopped()


async def pause(world: "World", low_ms: float, high_ms: float) -> None:
    await asyncio.sleep(world.random.uniform(low_ms, high_ms) / 1000.0)
