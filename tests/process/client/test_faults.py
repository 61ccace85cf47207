"""Brokers, coordinators and controllers are killed under load: nothing is lost, nothing is there twice."""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.support.async_waiting import eventually_true
from tests.support.client_cluster import Cluster
from tests.support.client_reading import read_all
from tests.support.services import Service
from tidelog.client import ClientError, Consumer, Delivery, KafkaError, Producer, TopicPartition

MakeTopic = Callable[..., str]

# Only a failure takes that long: a broker is ready once its replicas are in sync again.
PATIENCE_S = 90.0
IMPATIENT: dict[str, Any] = {"retry_backoff_ms": 20, "request_timeout_ms": 10_000}


async def kill_and_revive(service: Service) -> None:
    await asyncio.to_thread(service.kill)
    await asyncio.sleep(0.5)
    service.start()
    await asyncio.to_thread(service.wait_ready, PATIENCE_S)


class Writer:
    """Sends 0, 1, 2, ... to the partitions of a topic in turn, until it is stopped."""

    def __init__(self, producer: Producer, topic: str, partitions: int) -> None:
        self._producer = producer
        self._topic = topic
        self._partitions = partitions
        self.sent: list[Delivery] = []
        self._is_over = False
        self._task = asyncio.create_task(self._run())

    @property
    def acknowledged(self) -> int:
        return sum(1 for delivery in self.sent if delivery.done)

    async def more(self, count: int) -> None:
        wanted = self.acknowledged + count
        await eventually_true(lambda: self.acknowledged >= wanted, PATIENCE_S)

    async def stop(self) -> int:
        self._is_over = True
        await self._task
        await self._producer.flush()
        return len(self.sent)

    async def _run(self) -> None:
        while not self._is_over:
            number = len(self.sent)
            sent = await self._producer.enqueue(self._topic, b"%d" % number, partition=number % self._partitions)
            self.sent.append(sent)
            await asyncio.sleep(0.002)


async def check_each_once_and_in_order(bootstrap: str, topic: str, written: Writer, count: int) -> None:
    for delivery in written.sent:
        delivery.result()
    records = await read_all(bootstrap, topic, count)
    by_partition: dict[int, list[int]] = {}
    for record in records:
        by_partition.setdefault(record.partition, []).append(int(record.value))
    assert sorted(number for numbers in by_partition.values() for number in numbers) == list(range(count))
    assert all(numbers == sorted(numbers) for numbers in by_partition.values())


@pytest.mark.timeout(300)
async def test_an_idempotent_producer_survives_the_death_of_every_broker(
    cluster: Cluster, make_topic: MakeTopic
) -> None:
    topic = make_topic(3, min_insync_replicas="2")
    async with Producer(bootstrap_servers=cluster.bootstrap, **IMPATIENT) as producer:
        writer = Writer(producer, topic, 3)
        await writer.more(100)
        for broker in cluster.of("broker"):
            await kill_and_revive(broker)
            await writer.more(100)
        count = await writer.stop()
    await check_each_once_and_in_order(cluster.bootstrap, topic, writer, count)


async def test_a_producer_does_not_notice_the_death_of_controllers(cluster: Cluster, make_topic: MakeTopic) -> None:
    topic = make_topic(3)
    async with Producer(bootstrap_servers=cluster.bootstrap, **IMPATIENT) as producer:
        writer = Writer(producer, topic, 3)
        await writer.more(50)
        for controller in cluster.of("controller"):
            await kill_and_revive(controller)
            await writer.more(50)
        count = await writer.stop()
    await check_each_once_and_in_order(cluster.bootstrap, topic, writer, count)


class Copier:
    """Copies one topic to another in transactions, offsets included; starts over after any fault, as a program would."""

    def __init__(self, bootstrap: str, name: str, source: str, target: str) -> None:
        self._bootstrap = bootstrap
        self._name = name
        self._source = source
        self._target = target
        self._is_over = False
        self.restarts = -1
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        self._is_over = True
        await self._task

    async def _run(self) -> None:
        while not self._is_over:
            self.restarts += 1
            with suppress(KafkaError, ClientError):
                await self._copy()

    async def _copy(self) -> None:
        settings: dict[str, Any] = {
            "auto_offset_reset": "earliest",
            "isolation_level": "read_committed",
            "enable_auto_commit": False,
            "max_poll_records": 50,
            "session_timeout_ms": 6000,
            "heartbeat_interval_ms": 500,
            **IMPATIENT,
        }
        async with (
            Producer(bootstrap_servers=self._bootstrap, transactional_id=self._name, **IMPATIENT) as producer,
            Consumer(bootstrap_servers=self._bootstrap, group_id=self._name, **settings) as consumer,
        ):
            consumer.subscribe([self._source])
            while not self._is_over:
                await self._copy_some(producer, consumer)

    async def _copy_some(self, producer: Producer, consumer: Consumer) -> None:
        polled = await consumer.poll(200)
        if not polled:
            return
        async with producer.transaction():
            for records in polled.values():
                for record in records:
                    producer.send(self._target, record.value, partition=record.partition)
            ends: dict[TopicPartition, Any] = {each: records[-1].offset + 1 for each, records in polled.items()}
            await producer.send_offsets_to_transaction(ends, consumer.group_metadata())


@pytest.mark.timeout(400)
async def test_copying_is_exactly_once_over_the_death_of_everybody(
    cluster: Cluster, make_topic: MakeTopic, name: str
) -> None:
    source, target = make_topic(2, min_insync_replicas="2"), make_topic(2, min_insync_replicas="2")
    copier = Copier(cluster.bootstrap, name, source, target)
    async with Producer(bootstrap_servers=cluster.bootstrap, **IMPATIENT) as producer:
        writer = Writer(producer, source, 2)
        await writer.more(100)
        for service in (*cluster.of("group-coordinator"), cluster.of("controller")[0], cluster.broker(2)):
            await kill_and_revive(service)
            await writer.more(100)
        count = await writer.stop()
    copied: Counter[bytes] = Counter()
    async with asyncio.timeout(90):
        while sum(copied.values()) < count:
            copied = Counter(record.value for record in await read_some(cluster.bootstrap, target))
    await copier.stop()
    assert copied == {b"%d" % number: 1 for number in range(count)}


async def read_some(bootstrap: str, topic: str) -> list[Any]:
    """What is committed in a topic at the moment."""
    async with Consumer(
        bootstrap_servers=bootstrap, auto_offset_reset="earliest", isolation_level="read_committed"
    ) as consumer:
        partitions = [TopicPartition(topic, each.partition) for each in await consumer.partitions_for(topic)]
        ends = await consumer.end_offsets(partitions)
        consumer.assign(partitions)
        found: list[Any] = []
        while any([await consumer.position(each) < ends[each] for each in partitions]):
            for records in (await consumer.poll(200)).values():
                found += records
        return found


@pytest.mark.timeout(300)
async def test_a_group_goes_on_over_the_death_of_its_coordinator(
    cluster: Cluster, make_topic: MakeTopic, name: str
) -> None:
    topic = make_topic(3)
    seen: Counter[bytes] = Counter()
    settings = {"auto_offset_reset": "earliest", "session_timeout_ms": 6000, "heartbeat_interval_ms": 300, **IMPATIENT}
    async with (
        Producer(bootstrap_servers=cluster.bootstrap, **IMPATIENT) as producer,
        Consumer(bootstrap_servers=cluster.bootstrap, group_id=name, **settings) as consumer,
    ):
        consumer.subscribe([topic])
        for batch, victim in enumerate((None, *cluster.of("group-coordinator"), cluster.broker(1))):
            if victim is not None:
                await kill_and_revive(victim)
            for number in range(20):
                await producer.send(topic, b"%d-%d" % (batch, number))
            async with asyncio.timeout(60):
                while sum(seen.values()) < 20 * (batch + 1):
                    for records in (await consumer.poll(200)).values():
                        seen.update(record.value for record in records)
            await consumer.commit()
    assert set(seen.values()) == {1}
    assert len(seen) == 80
