"""One request to a broker over the Kafka wire, with a connection of its own."""

import asyncio
from typing import TypeVar

from tests.support.services import Service
from tidelog.kafka.wire.schema import Request, Response
from tidelog.net.connection import Connection

R = TypeVar("R", bound=Response)

TIMEOUT_S = 20.0


def call(broker: Service, request: Request[R], version: int) -> R:
    """The broker's answer; raises OSError while it does not listen."""
    return asyncio.run(_call(broker, request, version))


async def _call(broker: Service, request: Request[R], version: int) -> R:
    host, _, port = broker.kafka.rpartition(":")
    connection = await Connection.open(host, int(port), client_id="test", timeout_s=TIMEOUT_S)
    try:
        return await connection.call(request, version, timeout_s=TIMEOUT_S)
    finally:
        connection.close()
