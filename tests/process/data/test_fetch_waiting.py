"""Fetch through a real broker: how long it waits, and what wakes it."""

import asyncio
import time

from tests.support.batches import plain
from tests.support.data_wire import fetch, host_and_port, produce, values
from tests.support.fake_controller import FakeController
from tidelog.kafka.errors import KafkaCode
from tidelog.net.connection import Connection


async def test_a_fetch_waits_for_data_and_is_woken_by_a_produce(
    controller: FakeController, connection: Connection, topic: str
) -> None:
    controller.create(topic)
    waiting = await Connection.open(*host_and_port(controller), client_id="waiting", timeout_s=10)
    asked = asyncio.create_task(fetch(waiting, topic, max_wait_ms=20_000))
    await asyncio.sleep(0.3)
    assert not asked.done()
    started = time.monotonic()
    await produce(connection, topic, bytes(plain(b"wake")))
    got = await asked
    assert values(got) == [b"wake"]
    assert got.high_watermark == 1
    assert time.monotonic() - started < 10
    waiting.close()


async def test_min_bytes_is_reached_by_several_produces(
    controller: FakeController, connection: Connection, topic: str
) -> None:
    controller.create(topic)
    waiting = await Connection.open(*host_and_port(controller), client_id="waiting", timeout_s=10)
    asked = asyncio.create_task(fetch(waiting, topic, max_wait_ms=20_000, min_bytes=2500))
    for _ in range(2):
        await produce(connection, topic, bytes(plain(b"x" * 1000)))
    await asyncio.sleep(0.3)
    assert not asked.done()
    await produce(connection, topic, bytes(plain(b"x" * 1000)))
    assert len(values(await asked)) == 3
    waiting.close()


async def test_what_there_is_comes_when_the_time_is_over(
    controller: FakeController, connection: Connection, topic: str
) -> None:
    controller.create(topic)
    await produce(connection, topic, bytes(plain(b"small")))
    started = time.monotonic()
    assert values(await fetch(connection, topic, max_wait_ms=400, min_bytes=100_000)) == [b"small"]
    assert time.monotonic() - started >= 0.39


async def test_deleting_the_topic_ends_the_wait(controller: FakeController, connection: Connection, topic: str) -> None:
    controller.create(topic)
    asked = asyncio.create_task(fetch(connection, topic, max_wait_ms=20_000))
    await asyncio.sleep(0.2)
    await asyncio.to_thread(controller.delete, topic)
    assert (await asked).error_code in (KafkaCode.UNKNOWN_TOPIC_OR_PARTITION, KafkaCode.NOT_LEADER_OR_FOLLOWER)
