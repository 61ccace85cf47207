"""Groups: members come and go, everything is read, and only what was given out is committed."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.async_waiting import eventually_true
from tidelog.client import (
    Assignor,
    CommitFailedError,
    Consumer,
    IllegalStateError,
    OffsetAndMetadata,
    Producer,
    RebalanceListener,
    TopicPartition,
)

MakeTopic = Callable[..., str]

QUICK: dict[str, Any] = {
    "auto_offset_reset": "earliest",
    "session_timeout_ms": 6000,
    "heartbeat_interval_ms": 200,
    "retry_backoff_ms": 20,
}


class Reader:
    """A member that polls in the background until it is stopped, and remembers what it got."""

    def __init__(self, bootstrap: str, group: str, **settings: Any) -> None:
        self.consumer = Consumer(bootstrap_servers=bootstrap, group_id=group, **{**QUICK, **settings})
        self.seen: list[tuple[int, int]] = []
        self.events = Events()
        self._is_over = False

    async def start(self, **subscription: Any) -> "Reader":
        await self.consumer.start()
        self.consumer.subscribe(**subscription, listener=self.events)
        self._task = asyncio.create_task(self._run())
        return self

    async def stop(self) -> None:
        self._is_over = True
        await self._task
        await self.consumer.close()

    async def _run(self) -> None:
        while not self._is_over:
            for records in (await self.consumer.poll(100)).values():
                self.seen += [(record.partition, record.offset) for record in records]

    @property
    def partitions(self) -> list[int]:
        return sorted(each.partition for each in self.consumer.assignment())


class Events(RebalanceListener):
    """Keeps count of the partitions that were announced, and what was told."""

    def __init__(self) -> None:
        self.owned: set[TopicPartition] = set()
        self.told: list[str] = []

    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None:
        assert not self.owned & set(partitions), "told twice"
        self.owned |= set(partitions)
        self.told.append("assigned")

    async def on_partitions_revoked(self, partitions: list[TopicPartition]) -> None:
        assert self.owned >= set(partitions), "never told"
        self.owned -= set(partitions)
        self.told.append("revoked")

    def on_partitions_lost(self, partitions: list[TopicPartition]) -> None:
        self.owned -= set(partitions)
        self.told.append("lost")


async def fill(bootstrap: str, topic: str, count: int) -> None:
    async with Producer(bootstrap_servers=bootstrap, batch_size=500) as producer:
        await asyncio.gather(*(producer.send(topic, b"%d" % n, key=b"%d" % n) for n in range(count)))


def are_shared(readers: list[Reader], partitions: int) -> bool:
    everything = sorted(number for reader in readers for number in reader.partitions)
    return everything == list(range(partitions)) and all(
        reader.events.owned == reader.consumer.assignment() for reader in readers
    )


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "sticky", "cooperative-sticky"])
async def test_members_come_and_go_and_everything_is_read(
    bootstrap: str, make_topic: MakeTopic, name: str, strategy: str
) -> None:
    topic = make_topic(6)
    await fill(bootstrap, topic, 600)
    settings = {"partition_assignment_strategy": strategy}
    readers = [await Reader(bootstrap, name, **settings).start(topics=[topic])]
    await eventually_true(lambda: are_shared(readers, 6))
    readers += [await Reader(bootstrap, name, **settings).start(topics=[topic]) for _ in range(2)]
    await eventually_true(lambda: are_shared(readers, 6) and [len(each.partitions) for each in readers] == [2, 2, 2])
    gone = readers.pop(0)
    await gone.stop()
    await eventually_true(lambda: are_shared(readers, 6))
    await eventually_true(lambda: len({each for one in [*readers, gone] for each in one.seen}) == 600)
    await asyncio.gather(*(reader.stop() for reader in readers))
    everything = [each for one in [*readers, gone] for each in one.seen]
    # Commits before partitions change hands make this exactly once as long as nobody dies.
    assert len(everything) == 600
    assert gone.events.told[-1] == "revoked"
    assert not gone.events.owned


async def test_ten_members(bootstrap: str, make_topic: MakeTopic, name: str) -> None:
    topic = make_topic(20)
    await fill(bootstrap, topic, 2000)
    readers = [
        Reader(bootstrap, name, partition_assignment_strategy="cooperative-sticky", client_id=f"member-{number}")
        for number in range(10)
    ]
    await asyncio.gather(*(reader.start(topics=[topic]) for reader in readers))
    await eventually_true(lambda: are_shared(readers, 20) and {len(each.partitions) for each in readers} == {2}, 60)
    gone, stay = readers[:5], readers[5:]
    await asyncio.gather(*(reader.stop() for reader in gone))
    await eventually_true(lambda: are_shared(stay, 20) and {len(each.partitions) for each in stay} == {4}, 60)
    await eventually_true(lambda: len({each for one in readers for each in one.seen}) == 2000, 60)
    await asyncio.gather(*(reader.stop() for reader in stay))
    assert sum(len(reader.seen) for reader in readers) == 2000


async def test_a_pattern_finds_topics_that_come_later(bootstrap: str, make_topic: MakeTopic, name: str) -> None:
    first = make_topic(1)
    prefix = f"{name}-pattern"
    reader = await Reader(bootstrap, name, metadata_max_age_ms=300).start(pattern=f"({first}|{prefix}.*)")
    await eventually_true(lambda: reader.consumer.subscription() == {first} and reader.partitions == [0])
    async with Producer(bootstrap_servers=bootstrap) as producer:
        await producer.send(f"{prefix}-new", b"v")
    await eventually_true(lambda: f"{prefix}-new" in reader.consumer.subscription() and len(reader.seen) == 1)
    await reader.stop()


async def test_an_own_assignor(bootstrap: str, make_topic: MakeTopic, name: str) -> None:
    class Greedy(Assignor):
        """Everything to the member that comes first."""

        name = "greedy"

        def assign(self, members: Any, partitions: Any) -> Any:
            first = min(members)
            everything = [TopicPartition(topic, n) for topic in partitions for n in range(partitions[topic])]
            return {member: everything if member == first else [] for member in members}

    topic = make_topic(4)
    readers = [
        await Reader(bootstrap, name, assignors=[Greedy()], client_id=f"c{n}").start(topics=[topic]) for n in range(2)
    ]
    await eventually_true(lambda: sorted(len(each.partitions) for each in readers) == [0, 4])
    await asyncio.gather(*(reader.stop() for reader in readers))


async def test_more_partitions_are_noticed(bootstrap: str, make_topic: MakeTopic, name: str) -> None:
    from tidelog.client import Admin

    topic = make_topic(2)
    reader = await Reader(bootstrap, name, metadata_max_age_ms=300).start(topics=[topic])
    await eventually_true(lambda: reader.partitions == [0, 1])
    async with Admin(bootstrap_servers=bootstrap) as admin:
        await admin.create_partitions(topic, 4)
    await eventually_true(lambda: reader.partitions == [0, 1, 2, 3])
    await reader.stop()


# ---- commits


async def committed(bootstrap: str, group: str, topic: str, partition: int = 0) -> int | None:
    async with Consumer(bootstrap_servers=bootstrap, group_id=group) as consumer:
        found = (await consumer.committed([TopicPartition(topic, partition)]))[TopicPartition(topic, partition)]
        return None if found is None else found.offset


async def test_commits_with_given_offsets(bootstrap: str, topic: str, name: str) -> None:
    partition = TopicPartition(topic, 0)
    async with Consumer(bootstrap_servers=bootstrap, group_id=name, enable_auto_commit=False) as consumer:
        consumer.assign([partition])
        assert await consumer.committed([partition]) == {partition: None}
        await consumer.commit({partition: OffsetAndMetadata(5, "a note")})
        found = (await consumer.committed([partition]))[partition]
        assert found is not None
        assert (found.offset, found.metadata) == (5, "a note")
        told: list[Any] = []
        tasks = [consumer.commit_async({partition: n}, lambda offsets, error: told.append(error)) for n in (7, 8, 9)]
        await asyncio.gather(*tasks)
        await asyncio.sleep(0)
        assert told == [None, None, None]
    assert await committed(bootstrap, name, topic) == 9


async def test_only_what_an_earlier_poll_gave_is_committed(bootstrap: str, topic: str, name: str) -> None:
    """With an interval of zero every poll commits, and always exactly what polls before it gave."""
    await fill(bootstrap, topic, 100)
    settings = {**QUICK, "auto_commit_interval_ms": 0, "max_poll_records": 10}
    async with Consumer(bootstrap_servers=bootstrap, group_id=name, **settings) as consumer:
        consumer.subscribe([topic])
        given = 0
        while given < 100:
            before = given
            for records in (await consumer.poll(1000)).values():
                given += len(records)
            if consumer._consuming._last_commit is not None:
                await consumer._consuming._last_commit
                assert (await committed(bootstrap, name, topic) or 0) == before
    assert await committed(bootstrap, name, topic) == 100


async def test_an_iteration_commits_only_what_it_gave(bootstrap: str, topic: str, name: str) -> None:
    await fill(bootstrap, topic, 100)
    async with Consumer(bootstrap_servers=bootstrap, group_id=name, **QUICK) as consumer:
        consumer.subscribe([topic])
        count = 0
        async for _ in consumer:
            count += 1
            if count == 7:
                break
    assert await committed(bootstrap, name, topic) == 7


async def test_a_group_goes_on_where_it_left_off(bootstrap: str, topic: str, name: str) -> None:
    await fill(bootstrap, topic, 50)
    for expected in (0, 20):
        async with Consumer(bootstrap_servers=bootstrap, group_id=name, max_poll_records=20, **QUICK) as consumer:
            consumer.subscribe([topic])
            polled: dict[TopicPartition, Any] = {}
            while not polled:
                polled = await consumer.poll(1000)
            assert polled[TopicPartition(topic, 0)][0].offset == expected


async def test_who_does_not_poll_loses_its_place_and_cannot_commit(bootstrap: str, topic: str, name: str) -> None:
    await fill(bootstrap, topic, 10)
    slow = Consumer(
        bootstrap_servers=bootstrap, group_id=name, enable_auto_commit=False, max_poll_interval_ms=1000, **QUICK
    )
    events = Events()
    async with slow:
        slow.subscribe([topic], listener=events)
        while not await slow.poll(500):
            pass
        other = await Reader(bootstrap, name).start(topics=[topic])
        await eventually_true(lambda: other.partitions == [0])
        with pytest.raises(CommitFailedError, match=r"max\.poll\.interval\.ms"):
            await slow.commit()
        await slow.poll(100)
        assert events.told == ["assigned", "lost"]
        await other.stop()


async def test_a_static_member_comes_back_to_its_partitions(bootstrap: str, make_topic: MakeTopic, name: str) -> None:
    topic = make_topic(4)
    readers = [await Reader(bootstrap, name, group_instance_id=f"i{n}").start(topics=[topic]) for n in range(2)]
    await eventually_true(lambda: are_shared(readers, 4) and {len(each.partitions) for each in readers} == {2})
    before = [reader.partitions for reader in readers]
    rounds = len(readers[0].events.told)
    await readers[1].stop()
    readers[1] = await Reader(bootstrap, name, group_instance_id="i1").start(topics=[topic])
    await eventually_true(lambda: readers[1].partitions == before[1])
    assert readers[0].partitions == before[0]
    assert len(readers[0].events.told) == rounds, "the others did not notice"
    await asyncio.gather(*(reader.stop() for reader in readers))


async def test_unsubscribing_leaves_the_group(bootstrap: str, topic: str, name: str) -> None:
    readers = [await Reader(bootstrap, name).start(topics=[topic]) for _ in range(2)]
    await eventually_true(lambda: sorted(len(each.partitions) for each in readers) == [0, 1])
    owner = next(each for each in readers if each.partitions)
    other = next(each for each in readers if each is not owner)
    owner._is_over = True
    await owner._task
    await owner.consumer.unsubscribe()
    await eventually_true(lambda: other.partitions == [0])
    with pytest.raises(IllegalStateError, match=r"poll: subscribe\(\)"):
        await owner.consumer.poll()
    await owner.consumer.close()
    await other.stop()
