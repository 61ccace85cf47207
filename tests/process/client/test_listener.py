"""Annotated functions: called with records, one by one or in batches, managed by a registry."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.async_waiting import eventually_true
from tests.support.client_reading import read_all
from tidelog.client import Admin, ConfigError, Consumer, ConsumerRecord, Producer, TopicPartition
from tidelog.client.listener import CORRELATION_HEADER, REPLY_TOPIC_HEADER, ListenerRegistry, listener

MakeTopic = Callable[..., str]

QUICK: dict[str, Any] = {"auto.offset.reset": "earliest", "heartbeat.interval.ms": 200, "session.timeout.ms": 6000}


async def fill(bootstrap: str, topic: str, *values: bytes, **sending: Any) -> None:
    async with Producer(bootstrap_servers=bootstrap) as producer:
        for value in values:
            await producer.send(topic, value, **sending)


async def committed(bootstrap: str, group: str, topic: str) -> int | None:
    partition = TopicPartition(topic, 0)
    async with Consumer(bootstrap_servers=bootstrap, group_id=group) as consumer:
        found = (await consumer.committed([partition]))[partition]
        return None if found is None else found.offset


async def test_records_one_by_one_and_in_batches(bootstrap: str, topic: str, name: str) -> None:
    registry = ListenerRegistry()
    single: list[bytes] = []
    batches: list[int] = []

    @listener(topics=topic, id=name, registry=registry, properties=QUICK)
    async def one(record: ConsumerRecord) -> None:
        single.append(record.value)

    @listener(topics=[topic], group_id=f"{name}-batch", registry=registry, properties=QUICK)
    def many(records: list[ConsumerRecord]) -> None:
        batches.append(len(records))

    await fill(bootstrap, topic, *(b"%d" % n for n in range(20)))
    async with registry.running(bootstrap_servers=bootstrap):
        await eventually_true(lambda: len(single) == 20 and sum(batches) == 20)
    assert single == [b"%d" % n for n in range(20)]
    assert await committed(bootstrap, name, topic) == 20
    assert await committed(bootstrap, f"{name}-batch", topic) == 20


async def test_start_stop_pause_and_resume_by_id(bootstrap: str, topic: str, name: str) -> None:
    registry = ListenerRegistry()
    seen: list[bytes] = []

    @listener(topics=topic, id=name, auto_startup=False, container_group="late", registry=registry, properties=QUICK)
    async def late(record: ConsumerRecord) -> None:
        seen.append(record.value)

    assert registry.ids("late") == [name]
    async with registry.running(bootstrap_servers=bootstrap):
        assert not registry.get(name).is_running
        registry.start(name)
        await fill(bootstrap, topic, b"1")
        await eventually_true(lambda: seen == [b"1"])
        registry.pause(name)
        await asyncio.sleep(0.6)
        await fill(bootstrap, topic, b"2")
        await asyncio.sleep(0.6)
        assert seen == [b"1"]
        registry.resume(name)
        await eventually_true(lambda: seen == [b"1", b"2"])
        await registry.stop(name)
        await fill(bootstrap, topic, b"3")
        registry.start(name)
        await eventually_true(lambda: seen == [b"1", b"2", b"3"])


async def test_concurrency_shares_the_partitions(bootstrap: str, make_topic: MakeTopic, name: str) -> None:
    topic = make_topic(4)
    registry = ListenerRegistry()
    seen: list[int] = []

    # A broker that was not told of the topic yet may be the one that is asked first.
    properties = {**QUICK, "metadata.max.age.ms": 1000}

    @listener(
        topic_pattern=topic, id=name, concurrency=2, client_id_prefix="c", registry=registry, properties=properties
    )
    async def shared(record: ConsumerRecord) -> None:
        seen.append(record.partition)

    async with registry.running(bootstrap_servers=bootstrap):
        container = registry.get(name)
        await eventually_true(lambda: [len(c.assignment()) for c in container._consumers.values()] == [2, 2])
        async with Admin(bootstrap_servers=bootstrap) as admin:
            members = (await admin.describe_groups([name]))[name].members
        assert sorted(member.client_id for member in members) == ["c-0", "c-1"]
        for number in range(4):
            await fill(bootstrap, topic, b"v", partition=number)
        await eventually_true(lambda: sorted(seen) == [0, 1, 2, 3])


async def test_given_partitions_and_offsets(bootstrap: str, topic: str) -> None:
    registry = ListenerRegistry()
    seen: list[bytes] = []

    @listener(topic_partitions={TopicPartition(topic, 0): 2}, registry=registry)
    async def tail(record: ConsumerRecord) -> None:
        seen.append(record.value)

    await fill(bootstrap, topic, b"0", b"1", b"2", b"3")
    async with registry.running(bootstrap_servers=bootstrap):
        await eventually_true(lambda: seen == [b"2", b"3"])


async def test_replies(bootstrap: str, make_topic: MakeTopic, name: str) -> None:
    source, target = make_topic(), make_topic()
    registry = ListenerRegistry()

    @listener(topics=source, id=name, send_to=target, registry=registry, properties=QUICK)
    async def twice(record: ConsumerRecord) -> list[bytes]:
        return [record.value, record.value]

    @listener(topics=source, id=f"{name}-asked", registry=registry, properties=QUICK)
    def asked(record: ConsumerRecord) -> str:
        return f"answer to {record.value.decode()}"

    @listener(
        topics=source, id=f"{name}-whole", send_to=target, split_iterables=False, registry=registry, properties=QUICK
    )
    def whole(record: ConsumerRecord) -> list[int]:
        return [len(record.value), record.partition]

    headers = [(REPLY_TOPIC_HEADER, target.encode()), (CORRELATION_HEADER, b"7")]
    await fill(bootstrap, source, b"question", headers=headers)
    async with registry.running(bootstrap_servers=bootstrap):
        records = await read_all(bootstrap, target, 4)
    assert sorted(record.value for record in records) == [b"[8,0]", b"answer to question", b"question", b"question"]
    assert all((CORRELATION_HEADER, b"7") in record.headers for record in records)


async def test_what_raises_comes_again_until_the_handler_takes_it(bootstrap: str, topic: str, name: str) -> None:
    registry = ListenerRegistry()
    seen: list[bytes] = []
    handled: list[str] = []

    def handler(record: ConsumerRecord, error: Exception) -> None:
        handled.append(f"{record.value.decode()}: {error}")

    @listener(topics=topic, id=name, error_handler=handler, registry=registry, properties=QUICK)
    async def picky(record: ConsumerRecord) -> None:
        if record.value == b"bad":
            raise ValueError("no")
        seen.append(record.value)

    tries: list[bytes] = []

    @listener(topics=topic, id=f"{name}-again", registry=registry, properties=QUICK)
    async def stubborn(record: ConsumerRecord) -> None:
        tries.append(record.value)
        if record.value == b"bad":
            raise ValueError("never")

    await fill(bootstrap, topic, b"1", b"bad", b"2")
    async with registry.running(bootstrap_servers=bootstrap):
        await eventually_true(lambda: seen == [b"1", b"2"] and tries[-1:] == [b"2"])
    assert handled == ["bad: no"]
    assert tries == [b"1", *[b"bad"] * 10, b"2"]
    assert await committed(bootstrap, name, topic) == 3


async def test_an_id_need_not_be_a_group(bootstrap: str, topic: str, name: str) -> None:
    registry = ListenerRegistry()
    seen: list[bytes] = []

    @listener(topics=topic, id=name, id_is_group=False, group_id=f"{name}-group", registry=registry, properties=QUICK)
    async def one(record: ConsumerRecord) -> None:
        seen.append(record.value)

    await fill(bootstrap, topic, b"1")
    async with registry.running(bootstrap_servers=bootstrap):
        await eventually_true(lambda: seen == [b"1"])
    assert await committed(bootstrap, name, topic) is None
    assert await committed(bootstrap, f"{name}-group", topic) == 1


async def test_wrong_settings_are_told_to_whoever_starts_it(bootstrap: str) -> None:
    registry = ListenerRegistry()

    @listener(topics="t", id="a", registry=registry, properties={"fetch.min.bites": 1})
    def nothing(record: ConsumerRecord) -> None: ...

    with pytest.raises(ConfigError, match=r"fetch\.min\.bites is not a setting"):
        async with registry.running(bootstrap_servers=bootstrap):
            pass


def test_wrong_use_names_the_argument() -> None:
    from tidelog.client import WrongArgumentError

    registry = ListenerRegistry()

    def nothing(record: ConsumerRecord) -> None: ...

    with pytest.raises(WrongArgumentError, match="topics, topic_pattern, topic_partitions: exactly one"):
        listener(id="a", registry=registry)(nothing)
    with pytest.raises(WrongArgumentError, match="group_id: it is wanted"):
        listener(topics="t", registry=registry)(nothing)
    with pytest.raises(WrongArgumentError, match="concurrency: 0"):
        listener(topics="t", id="a", concurrency=0, registry=registry)(nothing)
    with pytest.raises(WrongArgumentError, match="group_id: it is wanted"):
        listener(topics="t", id="a", id_is_group=False, registry=registry)(nothing)
    listener(topics="t", id="a", registry=registry)(nothing)
    with pytest.raises(WrongArgumentError, match="id: there is a listener a already"):
        listener(topics="t", id="a", registry=registry)(nothing)
    with pytest.raises(WrongArgumentError, match="id: there is no listener b; there are a"):
        registry.get("b")
