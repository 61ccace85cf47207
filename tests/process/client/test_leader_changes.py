"""A consumer whose leaders change: logs that were cut off, sessions that ended, and metadata that is pushed."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from tests.support.async_waiting import eventually_true
from tests.support.client_cluster import Cluster
from tests.support.services import Service, get_text
from tidelog.client import Admin, Consumer, LogTruncationError, NewTopic, OffsetAndMetadata, Producer, TopicPartition
from tidelog.client.sync import Consumer as SyncConsumer

MakeTopic = Callable[..., str]

PATIENCE_S = 90.0
_SESSIONS = "kafka_server_fetchsessioncache_numincrementalfetchsessions"
# Nothing but a refused request or a push tells such a client of a new leader.
INCURIOUS = {"metadata_max_age_ms": 600_000, "retry_backoff_ms": 50}


async def write(bootstrap: str, topic: str, *values: bytes) -> None:
    async with Producer(bootstrap_servers=bootstrap, acks="1", enable_idempotence=False) as producer:
        for value in values:
            await producer.send(topic, value, partition=0)


async def values_of(consumer: Consumer, count: int) -> list[bytes]:
    found: list[bytes] = []
    async with asyncio.timeout(PATIENCE_S):
        while len(found) < count:
            for records in (await consumer.poll(500)).values():
                found += [record.value for record in records]
    return found


async def leader_of(bootstrap: str, topic: str) -> int:
    async with Admin(bootstrap_servers=bootstrap) as admin:
        return (await admin.describe_topics([topic]))[topic].partitions[0].leader


async def stop(service: Service) -> None:
    await asyncio.to_thread(service.kill)


async def start(service: Service) -> None:
    service.start()
    await asyncio.to_thread(service.wait_ready, PATIENCE_S)


@asynccontextmanager
async def reading_to_the_end(cluster: Cluster, topic: str, reset: str) -> AsyncIterator[Consumer]:
    """A consumer that has read four records, of which only the first two are on broker 2, which leads at the end."""
    partition = TopicPartition(topic, 0)
    async with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        configs = {"unclean.leader.election.enable": "true"}
        await admin.create_topics([NewTopic(topic, configs=configs, replicas={0: [1, 2]})])
    await write(cluster.bootstrap, topic, b"0", b"1")
    async with Consumer(bootstrap_servers=cluster.bootstrap, auto_offset_reset=reset, **INCURIOUS) as consumer:  # type: ignore[arg-type]
        consumer.assign([partition])
        consumer.seek(partition, 0)
        assert await values_of(consumer, 2) == [b"0", b"1"]
        await stop(cluster.broker(2))
        await write(cluster.bootstrap, topic, b"2", b"3")
        assert await values_of(consumer, 2) == [b"2", b"3"]
        await stop(cluster.broker(1))
        cluster.broker(2).start()
        try:
            await write(cluster.bootstrap, topic, b"other 2", b"other 3", b"other 4", b"other 5")
            yield consumer
        finally:
            await start(cluster.broker(1))
            await asyncio.to_thread(cluster.broker(2).wait_ready, PATIENCE_S)


@pytest.mark.timeout(240)
async def test_a_consumer_goes_back_to_where_its_log_was_cut_off(
    cluster: Cluster, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "tidelog.client")
    async with reading_to_the_end(cluster, name, "latest") as consumer:
        # Without asking, it would go on from offset 4 and never see the records that took the place of 2 and 3.
        assert await values_of(consumer, 4) == [b"other 2", b"other 3", b"other 4", b"other 5"]
    assert "was read up to offset 4 and truncated to 2" in caplog.text


@pytest.mark.timeout(240)
async def test_without_a_reset_the_application_decides(cluster: Cluster, name: str) -> None:
    partition = TopicPartition(name, 0)
    async with reading_to_the_end(cluster, name, "none") as consumer:
        with pytest.raises(
            LogTruncationError, match="was read up to offset 4, and its log was cut off at offset 2"
        ) as told:
            await values_of(consumer, 1)
        assert (told.value.topic, told.value.partition) == (name, 0)
        assert (told.value.offset, told.value.diverges_at) == (4, 2)
        with pytest.raises(LogTruncationError):
            await values_of(consumer, 1)
        consumer.seek(partition, 3)
        assert await values_of(consumer, 3) == [b"other 3", b"other 4", b"other 5"]


async def test_a_position_with_an_old_epoch_is_checked_before_it_is_read(
    cluster: Cluster, make_topic: MakeTopic
) -> None:
    topic = make_topic(replicas=2)
    partition = TopicPartition(topic, 0)
    await write(cluster.bootstrap, topic, b"0", b"1", b"2")
    former = cluster.broker(await leader_of(cluster.bootstrap, topic))
    await stop(former)
    try:
        async with Consumer(bootstrap_servers=cluster.bootstrap, **INCURIOUS) as consumer:  # type: ignore[arg-type]
            consumer.assign([partition])
            consumer.seek(partition, OffsetAndMetadata(1, leader_epoch=0))
            assert await values_of(consumer, 2) == [b"1", b"2"]
    finally:
        await start(former)


def sessions(cluster: Cluster) -> int:
    """The fetch sessions of consumers and followers that the brokers keep."""
    pages = [get_text(f"http://{broker.http}/metrics") for broker in cluster.of("broker")]
    return sum(_metric(page) for page in pages)


def _metric(page: str) -> int:
    lines = [line for line in page.splitlines() if line.startswith(_SESSIONS)]
    return sum(int(float(line.split()[-1])) for line in lines)


async def sessions_of_followers(cluster: Cluster) -> int:
    """How many there are once every broker follows both others again, which it does as each leads a partition."""
    found = [-1, 0]
    async with asyncio.timeout(PATIENCE_S):
        while found[-1] < 6 or found[-1] != found[-2]:
            await asyncio.sleep(1)
            found.append(await asyncio.to_thread(sessions, cluster))
    return found[-1]


async def test_a_consumer_reads_in_sessions_and_closes_them(cluster: Cluster, make_topic: MakeTopic) -> None:
    topic = make_topic(3)
    partitions = [TopicPartition(topic, number) for number in range(3)]
    before = await sessions_of_followers(cluster)
    async with Consumer(bootstrap_servers=cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign(partitions)
        await write(cluster.bootstrap, topic, b"0", b"1")
        assert await values_of(consumer, 2) == [b"0", b"1"]
        assert await asyncio.to_thread(sessions, cluster) >= before + 1
        await write(cluster.bootstrap, topic, b"2")
        assert await values_of(consumer, 1) == [b"2"]

    async def are_closed() -> bool:
        return await asyncio.to_thread(sessions, cluster) <= before

    async with asyncio.timeout(PATIENCE_S):
        while not await are_closed():
            await asyncio.sleep(0.2)


async def test_a_broker_that_was_restarted_does_not_know_the_session_any_more(
    cluster: Cluster, make_topic: MakeTopic
) -> None:
    topic = make_topic(replicas=1)
    async with Consumer(bootstrap_servers=cluster.bootstrap, auto_offset_reset="earliest", **INCURIOUS) as consumer:  # type: ignore[arg-type]
        consumer.assign([TopicPartition(topic, 0)])
        await write(cluster.bootstrap, topic, b"0")
        assert await values_of(consumer, 1) == [b"0"]
        leader = cluster.broker(await leader_of(cluster.bootstrap, topic))
        await stop(leader)
        await start(leader)
        await write(cluster.bootstrap, topic, b"1")
        assert await values_of(consumer, 1) == [b"1"]


@pytest.fixture(scope="module")
def metadata_process(cluster: Cluster) -> Iterator[Service]:
    service = cluster.services.start("metadata", 0).wait_ready()
    yield service
    service.kill()


async def test_a_new_leader_is_pushed(cluster: Cluster, make_topic: MakeTopic, metadata_process: Service) -> None:
    topic = make_topic(replicas=3)
    settings = {"bootstrap_servers": cluster.bootstrap, "metadata_endpoints": metadata_process.grpc, **INCURIOUS}
    async with Admin(**settings) as admin:  # type: ignore[arg-type]
        former = (await admin.describe_topics([topic]))[topic].partitions[0].leader
        asked = admin.metadata.view.version
        await stop(cluster.broker(former))
        try:
            await eventually_true(lambda: admin.metadata.view.leader(topic, 0) not in (former, -1), PATIENCE_S)
            assert admin.metadata.view.version > asked
        finally:
            await start(cluster.broker(former))


def test_the_synchronous_twin_listens_too(cluster: Cluster, make_topic: MakeTopic, metadata_process: Service) -> None:
    topic = make_topic()
    asyncio.run(write(cluster.bootstrap, topic, b"0"))
    # One of the endpoints is not there.
    with SyncConsumer(
        bootstrap_servers=cluster.bootstrap,
        auto_offset_reset="earliest",
        metadata_endpoints=f"127.0.0.1:1,{metadata_process.grpc}",
    ) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        assert [record.value for record in consumer.poll(10_000)[TopicPartition(topic, 0)]] == [b"0"]
