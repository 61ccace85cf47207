"""Clients that tell their rack: they write to leaders there, and read from replicas there."""

import asyncio
from collections.abc import Callable

from tests.support.client_reading import read_all
from tidelog.client import Admin, Consumer, NewTopic, Producer, TopicPartition

MakeTopic = Callable[..., str]


async def test_records_without_keys_go_to_leaders_of_the_rack(bootstrap: str, name: str) -> None:
    async with Admin(bootstrap_servers=bootstrap) as admin:
        await admin.create_topics([NewTopic(name, replicas={0: [1], 1: [2], 2: [3], 3: [2]})])
    async with Producer(
        bootstrap_servers=bootstrap, partitioner="by-rack", client_rack="rack-2", batch_size=200
    ) as producer:
        written = await asyncio.gather(*(producer.send(name, b"x" * 50) for _ in range(100)))
    assert {each.partition for each in written} == {1, 3}


async def test_without_a_leader_in_the_rack_any_other_will_do(bootstrap: str, name: str) -> None:
    async with Admin(bootstrap_servers=bootstrap) as admin:
        await admin.create_topics([NewTopic(name, replicas={0: [1], 1: [2]})])
    async with Producer(bootstrap_servers=bootstrap, partitioner="by-rack", client_rack="moon") as producer:
        assert (await producer.send(name, b"x")).partition in (0, 1)


async def test_a_consumer_reads_from_the_replica_of_its_rack(bootstrap: str, name: str) -> None:
    partition = TopicPartition(name, 0)
    async with Admin(bootstrap_servers=bootstrap) as admin:
        await admin.create_topics([NewTopic(name, replicas={0: [1, 3]})])
    async with (
        Producer(bootstrap_servers=bootstrap) as producer,
        Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", client_rack="rack-3") as consumer,
    ):
        consumer.assign([partition])
        seen: list[bytes] = []
        async with asyncio.timeout(30):
            for number in range(20):
                await producer.send(name, b"%d" % number)
                while len(seen) <= number:
                    seen += [record.value for records in (await consumer.poll(500)).values() for record in records]
        assert seen == [b"%d" % number for number in range(20)]
        assert consumer._positions.of(partition, "test").read_replica == 3
    assert len(await read_all(bootstrap, name, 20)) == 20


async def test_members_of_a_group_read_what_is_near_them(bootstrap: str, name: str) -> None:
    async with Admin(bootstrap_servers=bootstrap) as admin:
        await admin.create_topics([NewTopic(name, replicas={0: [2], 1: [3], 2: [2], 3: [3]})])
    settings = {"bootstrap_servers": bootstrap, "group_id": name, "heartbeat_interval_ms": 200}
    async with (
        Consumer(client_id="a", client_rack="rack-3", **settings) as one,  # type: ignore[arg-type]
        Consumer(client_id="b", client_rack="rack-2", **settings) as other,  # type: ignore[arg-type]
    ):
        one.subscribe([name])
        other.subscribe([name])
        near = {one: {1, 3}, other: {0, 2}}
        async with asyncio.timeout(60):
            while any({each.partition for each in consumer.assignment()} != near[consumer] for consumer in near):
                await asyncio.gather(one.poll(200), other.poll(200))
