"""Consuming partitions that the consumer names itself."""

import asyncio
from collections.abc import Callable

import pytest

from tidelog.client import (
    Consumer,
    IllegalStateError,
    NoOffsetError,
    Producer,
    TimestampType,
    TopicPartition,
    WrongArgumentError,
)

MakeTopic = Callable[..., str]


async def fill(bootstrap: str, topic: str, count: int, partition: int | None = 0) -> None:
    async with Producer(bootstrap_servers=bootstrap, batch_size=1000) as producer:
        await asyncio.gather(
            *(producer.send(topic, b"%d" % n, partition=partition, timestamp=1000 + n) for n in range(count))
        )


async def take(consumer: Consumer, count: int) -> list[bytes]:
    values: list[bytes] = []
    async with asyncio.timeout(30):
        while len(values) < count:
            for records in (await consumer.poll(500)).values():
                values += [record.value for record in records]
    return values


async def test_poll_gives_lists_per_partition_up_to_the_limit(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(2)
    await fill(bootstrap, topic, 300, partition=0)
    await fill(bootstrap, topic, 300, partition=1)
    async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", max_poll_records=70) as consumer:
        consumer.assign([TopicPartition(topic, 0), TopicPartition(topic, 1)])
        seen: dict[int, list[int]] = {0: [], 1: []}
        while sum(map(len, seen.values())) < 600:
            polled = await consumer.poll(1000)
            assert sum(map(len, polled.values())) <= 70
            for partition, records in polled.items():
                seen[partition.partition] += [record.offset for record in records]
        assert seen == {0: list(range(300)), 1: list(range(300))}
        assert await consumer.poll(50) == {}


async def test_iteration(bootstrap: str, topic: str) -> None:
    await fill(bootstrap, topic, 1200)
    async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        seen = []
        async for record in consumer:
            seen.append(record.value)
            assert await consumer.position(TopicPartition(topic, 0)) == record.offset + 1
            if len(seen) == 1200:
                break
        assert seen == [b"%d" % n for n in range(1200)]
        assert record.timestamp_type is TimestampType.CREATE_TIME


async def test_the_latest_is_where_a_consumer_starts(bootstrap: str, topic: str) -> None:
    await fill(bootstrap, topic, 10)
    async with Consumer(bootstrap_servers=bootstrap) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        assert await consumer.position(TopicPartition(topic, 0)) == 10
        assert await consumer.poll(50) == {}
        await fill(bootstrap, topic, 5)
        assert await take(consumer, 5) == [b"0", b"1", b"2", b"3", b"4"]


async def test_without_a_reset_there_must_be_an_offset(bootstrap: str, topic: str, name: str) -> None:
    async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="none", group_id=name) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        with pytest.raises(NoOffsetError, match=r"auto\.offset\.reset=none"):
            await consumer.poll(1000)
        consumer.seek(TopicPartition(topic, 0), 1000)
        with pytest.raises(NoOffsetError, match=r"auto\.offset\.reset=none: offset 1000"):
            await take(consumer, 1)


async def test_an_offset_out_of_range_is_reset(bootstrap: str, topic: str) -> None:
    await fill(bootstrap, topic, 10)
    async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        consumer.seek(TopicPartition(topic, 0), 1000)
        assert len(await take(consumer, 10)) == 10


async def test_seeking(bootstrap: str, topic: str) -> None:
    await fill(bootstrap, topic, 100)
    partition = TopicPartition(topic, 0)
    async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", max_poll_records=10) as consumer:
        consumer.assign([partition])
        assert (await take(consumer, 10))[0] == b"0"
        consumer.seek(partition, 42)
        assert (await take(consumer, 1))[0] == b"42"
        consumer.seek_to_beginning(partition)
        assert await consumer.position(partition) == 0
        assert (await take(consumer, 1))[0] == b"0"
        consumer.seek_to_end()
        assert await consumer.position(partition) == 100
        assert await consumer.poll(100) == {}
        with pytest.raises(WrongArgumentError, match="offset: -1"):
            consumer.seek(partition, -1)
        with pytest.raises(IllegalStateError, match="seek: other-0 is not assigned"):
            consumer.seek(TopicPartition("other", 0), 1)


async def test_offsets_of_times_and_ends(bootstrap: str, topic: str) -> None:
    await fill(bootstrap, topic, 100)
    partition = TopicPartition(topic, 0)
    async with Consumer(bootstrap_servers=bootstrap) as consumer:
        found = await consumer.offsets_for_times({partition: 1050})
        where = found[partition]
        assert where is not None
        assert (where.offset, where.timestamp) == (50, 1050)
        assert await consumer.offsets_for_times({partition: 5000}) == {partition: None}
        assert await consumer.beginning_offsets([partition]) == {partition: 0}
        assert await consumer.end_offsets([partition]) == {partition: 100}
        with pytest.raises(WrongArgumentError, match="times: -5"):
            await consumer.offsets_for_times({partition: -5})


async def test_pausing_stops_a_partition_without_losing_its_place(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(2)
    one, other = TopicPartition(topic, 0), TopicPartition(topic, 1)
    await fill(bootstrap, topic, 50, partition=0)
    await fill(bootstrap, topic, 50, partition=1)
    async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", max_poll_records=20) as consumer:
        consumer.assign([one, other])
        consumer.pause(one)
        assert consumer.paused() == {one}
        seen = 0
        while seen < 50:
            polled = await consumer.poll(1000)
            assert set(polled) <= {other}
            seen += len(polled.get(other, ()))
        assert await consumer.poll(200) == {}
        consumer.resume(one)
        assert await take(consumer, 50) == [b"%d" % n for n in range(50)]


async def test_lag_and_lead(bootstrap: str, topic: str) -> None:
    await fill(bootstrap, topic, 100)
    partition = TopicPartition(topic, 0)
    async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", max_poll_records=30) as consumer:
        consumer.assign([partition])
        assert (consumer.lag(partition), consumer.lead(partition)) == (None, None)
        await take(consumer, 30)
        assert (consumer.lag(partition), consumer.lead(partition)) == (70, 30)
        assert consumer.lags() == {partition: 70}


async def test_wrong_use(bootstrap: str, topic: str) -> None:
    async with Consumer(bootstrap_servers=bootstrap) as consumer:
        with pytest.raises(IllegalStateError, match=r"poll: subscribe\(\) or assign\(\) first"):
            await consumer.poll()
        with pytest.raises(IllegalStateError, match=r"group\.id: subscribe\(\) needs it"):
            consumer.subscribe([topic])
        with pytest.raises(WrongArgumentError, match="partitions: 'x' is not a TopicPartition"):
            consumer.assign(["x"])  # type: ignore[list-item]
        consumer.assign([TopicPartition(topic, 0)])
        with pytest.raises(IllegalStateError, match=r"group\.id: committing needs it"):
            await consumer.commit({TopicPartition(topic, 0): 1})
        polling = asyncio.create_task(consumer.poll(300))
        await asyncio.sleep(0)
        with pytest.raises(IllegalStateError, match="another task is polling"):
            await consumer.poll()
        await polling


async def test_deserializers(bootstrap: str, topic: str) -> None:
    await fill(bootstrap, topic, 3)
    async with Consumer(
        bootstrap_servers=bootstrap, auto_offset_reset="earliest", value_deserializer=lambda data: int(data or b"-1")
    ) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        polled = await consumer.poll(5000)
        assert [record.value for record in polled[TopicPartition(topic, 0)]] == [0, 1, 2]
