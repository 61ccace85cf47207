"""A thousand clients that do nothing and two hundred that are busy, at once."""

import asyncio
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.support.batches import plain
from tests.support.data_wire import fetch, produce
from tests.support.services import Service, Services, get_text
from tests.support.waiting import WAIT_S
from tests.support.wire_client import WireClient, create
from tests.support.zookeeper import EmbeddedZookeeper
from tidelog.kafka.wire.messages.api_versions import ApiVersionsRequest
from tidelog.net.connection import Connection

IDLE, BUSY, ROUNDS = 1000, 200, 10
# What a connection takes is a few kilobytes: its objects, and what the sockets have in the kernel is not counted here.
GROWTH_BYTES_MAX = 64 * 1024 * 1024
# A usual soft limit. Each connection takes two descriptors of the broker.
SOFT_LIMIT = 1024


@contextmanager
def descriptors(soft: int) -> Iterator[None]:
    """So many for what is started within; the test itself has more afterwards."""
    before, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(before, min(hard, 4096)), hard))


@pytest.fixture
def lone_broker(zookeeper: EmbeddedZookeeper, tmp_path: Path) -> Iterator[Service]:
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 2 * (IDLE + BUSY) + 500:
        pytest.skip("the hard limit of open files is too low here")
    services = Services(f"{zookeeper.connect}/many", tmp_path)
    with descriptors(SOFT_LIMIT):
        services.start("controller", 0)
        started = services.start("broker", 1).wait_ready()
    yield started
    services.end()


async def test_everybody_is_served_and_memory_stays_bounded(lone_broker: Service) -> None:
    with WireClient(lone_broker) as client:
        create(client, "busy")
        assert client.produce("busy").error_code == 0
    process = psutil.Process(lone_broker.process.pid)
    before = process.memory_info().rss
    host, port = lone_broker.kafka.split(":")

    async def connect() -> Connection:
        return await Connection.open(host, int(port), client_id="one of many", timeout_s=WAIT_S)

    idle = [await connect() for _ in range(IDLE)]
    busy = [await connect() for _ in range(BUSY)]
    await asyncio.gather(*(work(connection, number) for number, connection in enumerate(busy)))
    assert f'connection_count{{listener="PLAINTEXT"}} {IDLE + BUSY}' in get_text(f"http://{lone_broker.http}/metrics")
    assert process.memory_info().rss - before < GROWTH_BYTES_MAX
    for connection in idle[::50]:
        answer = await connection.call(ApiVersionsRequest(), 0, timeout_s=WAIT_S)
        assert answer.error_code == 0, "still there after all that"
    assert all(connection.is_open for connection in (*idle, *busy))
    for connection in (*idle, *busy):
        connection.close()


async def work(connection: Connection, number: int) -> None:
    value = str(number).encode()
    for _ in range(ROUNDS):
        produced = await produce(connection, "busy", bytes(plain(value)))
        assert produced.error_code == 0
        fetched = await fetch(connection, "busy", produced.base_offset)
        assert fetched.error_code == 0
        assert fetched.records is not None
        assert value in fetched.records
