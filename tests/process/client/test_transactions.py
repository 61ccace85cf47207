"""Transactions: all or nothing, together with offsets, and one producer an id."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.client_reading import read_all
from tidelog.client import (
    CommitFailedError,
    Consumer,
    ConsumerGroupMetadata,
    Delivery,
    IllegalStateError,
    KafkaError,
    Producer,
    ProducerFencedError,
    TopicPartition,
    TransactionAbortedError,
)

MakeTopic = Callable[..., str]


async def test_committed_records_are_read_and_aborted_ones_are_not(
    bootstrap: str, make_topic: MakeTopic, name: str
) -> None:
    topic = make_topic(2)
    async with Producer(bootstrap_servers=bootstrap, transactional_id=name) as producer:
        async with producer.transaction():
            for number in range(10):
                producer.send(topic, b"kept", partition=number % 2)
        await producer.begin_transaction()
        for number in range(10):
            await producer.send(topic, b"dropped", partition=number % 2)
        await producer.abort_transaction()
        async with producer.transaction():
            await producer.send(topic, b"kept", partition=0)
    assert {record.value for record in await read_all(bootstrap, topic, 11, "read_committed")} == {b"kept"}
    assert len(await read_all(bootstrap, topic, 21)) == 21


async def send_and_fail(producer: Producer, topic: str, deliveries: list[Delivery]) -> None:
    async with producer.transaction():
        deliveries.append(producer.send(topic, b"dropped"))
        raise ZeroDivisionError


async def test_a_block_that_raises_aborts(bootstrap: str, topic: str, name: str) -> None:
    async with Producer(bootstrap_servers=bootstrap, transactional_id=name, linger_ms=10_000) as producer:
        deliveries: list[Delivery] = []
        with pytest.raises(ZeroDivisionError):
            await send_and_fail(producer, topic, deliveries)
        with pytest.raises(TransactionAbortedError):
            await deliveries[0]
        async with producer.transaction():
            producer.send(topic, b"kept")
    assert [record.value for record in await read_all(bootstrap, topic, 1, "read_committed")] == [b"kept"]


async def test_a_failed_record_fails_the_transaction_and_the_next_one_works(
    bootstrap: str, make_topic: MakeTopic, name: str
) -> None:
    topic = make_topic(max_message_bytes="1000")
    async with Producer(bootstrap_servers=bootstrap, transactional_id=name) as producer:
        await producer.begin_transaction()
        producer.send(topic, b"small")
        with pytest.raises(KafkaError, match="MESSAGE_TOO_LARGE"):
            await producer.send(topic, bytes(5000))
        with pytest.raises(IllegalStateError, match="can only be aborted"):
            await producer.commit_transaction()
        await producer.abort_transaction()
        async with producer.transaction():
            await producer.send(topic, b"after")
    assert [record.value for record in await read_all(bootstrap, topic, 1, "read_committed")] == [b"after"]


async def test_offsets_are_committed_with_the_transaction(bootstrap: str, make_topic: MakeTopic, name: str) -> None:
    source, target = make_topic(), make_topic()
    partition = TopicPartition(source, 0)
    async with Producer(bootstrap_servers=bootstrap) as producer:
        for number in range(20):
            producer.send(source, b"%d" % number)
    settings: dict[str, Any] = {"auto_offset_reset": "earliest", "enable_auto_commit": False, "max_poll_records": 8}
    async with (
        Producer(bootstrap_servers=bootstrap, transactional_id=name) as producer,
        Consumer(bootstrap_servers=bootstrap, group_id=name, **settings) as consumer,
    ):
        consumer.subscribe([source])
        copied = 0
        while copied < 20:
            polled = await consumer.poll(1000)
            if not polled:
                continue
            async with producer.transaction():
                for record in polled[partition]:
                    producer.send(target, b"copy of " + record.value)
                ends = {partition: polled[partition][-1].offset + 1}
                await producer.send_offsets_to_transaction(ends, consumer.group_metadata())
            copied += len(polled[partition])
        await producer.begin_transaction()
        await producer.send_offsets_to_transaction({partition: 3}, name)
        await producer.abort_transaction()
        found = (await consumer.committed([partition]))[partition]
        assert found is not None
        assert found.offset == 20
        await producer.begin_transaction()
        with pytest.raises(CommitFailedError):
            await producer.send_offsets_to_transaction({partition: 3}, ConsumerGroupMetadata(name, 1, "nobody"))
        await producer.abort_transaction()
    copies = [record.value for record in await read_all(bootstrap, target, 20, "read_committed")]
    assert copies == [b"copy of %d" % number for number in range(20)]


async def test_the_newer_producer_of_an_id_fences_the_older(bootstrap: str, topic: str, name: str) -> None:
    async with Producer(bootstrap_servers=bootstrap, transactional_id=name) as older:
        await older.begin_transaction()
        await older.send(topic, b"dropped")
        async with Producer(bootstrap_servers=bootstrap, transactional_id=name) as newer:
            with pytest.raises(ProducerFencedError):
                await older.commit_transaction()
            with pytest.raises(ProducerFencedError):
                await older.begin_transaction()
            async with newer.transaction():
                await newer.send(topic, b"kept")
    assert [record.value for record in await read_all(bootstrap, topic, 1, "read_committed")] == [b"kept"]


async def test_states_are_checked(bootstrap: str, topic: str, name: str) -> None:
    async with Producer(bootstrap_servers=bootstrap, transactional_id=name) as producer:
        with pytest.raises(IllegalStateError, match="send: the transaction is ready"):
            producer.send(topic, b"v")
        with pytest.raises(IllegalStateError, match="commit_transaction"):
            await producer.commit_transaction()
        await producer.begin_transaction()
        with pytest.raises(IllegalStateError, match="begin_transaction"):
            await producer.begin_transaction()
        await producer.commit_transaction()
