"""Producing: where records go, what is told of them, and what happens when they cannot go."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.client_cluster import Cluster
from tests.support.client_reading import read_all
from tidelog.client import (
    Admin,
    BufferFullError,
    ClosedError,
    Delivery,
    DeliveryTimeoutError,
    IllegalStateError,
    KafkaCode,
    KafkaError,
    NewTopic,
    NoBrokerError,
    Producer,
    RecordMetadata,
    RecordTooLargeError,
    RequestTimeoutError,
    WrongArgumentError,
)
from tidelog.client.core.murmur2 import partition_of_key
from tidelog.client.sync import Admin as SyncAdmin
from tidelog.client.sync import Producer as SyncProducer

MakeTopic = Callable[..., str]


async def test_a_record_comes_back_with_everything(bootstrap: str, topic: str) -> None:
    async with Producer(bootstrap_servers=bootstrap) as producer:
        written = await producer.send(
            topic, b"value", key=b"key", partition=0, timestamp=1234, headers=[("a", b"1"), ("b", None)]
        )
    assert written == RecordMetadata(topic, 0, 0, 1234)
    (record,) = await read_all(bootstrap, topic, 1)
    assert (record.key, record.value, record.timestamp) == (b"key", b"value", 1234)
    assert list(record.headers) == [("a", b"1"), ("b", None)]


async def test_offsets_count_up_in_the_order_of_sending(bootstrap: str, topic: str) -> None:
    async with Producer(bootstrap_servers=bootstrap, batch_size=500) as producer:
        written = await asyncio.gather(*(producer.send(topic, b"%d" % number) for number in range(1000)))
    assert [each.offset for each in written] == list(range(1000))
    assert [record.value for record in await read_all(bootstrap, topic, 1000)] == [b"%d" % n for n in range(1000)]


async def test_callbacks_and_flush(bootstrap: str, topic: str) -> None:
    told: list[RecordMetadata | None] = []
    async with Producer(bootstrap_servers=bootstrap, linger_ms=60_000) as producer:
        deliveries = [
            producer.send(topic, b"v", callback=lambda metadata, error: told.append(metadata)) for _ in range(5)
        ]
        await asyncio.sleep(0.1)
        assert not deliveries[0].done
        with pytest.raises(IllegalStateError, match="not delivered yet"):
            deliveries[0].result()
        await producer.flush()
        assert [each.result() for each in deliveries] == told
        assert deliveries[0].exception() is None


@pytest.mark.parametrize("compression", ["gzip", "snappy", "lz4", "zstd"])
async def test_compression(bootstrap: str, topic: str, compression: str) -> None:
    async with Producer(bootstrap_servers=bootstrap, compression_type=compression, linger_ms=20) as producer:
        await asyncio.gather(*(producer.send(topic, b"value %d" % number * 20) for number in range(200)))
    assert [record.value for record in await read_all(bootstrap, topic, 200)] == [
        b"value %d" % n * 20 for n in range(200)
    ]


@pytest.mark.parametrize("acks", [0, 1])
async def test_fewer_acknowledgements(bootstrap: str, topic: str, acks: int) -> None:
    async with Producer(bootstrap_servers=bootstrap, acks=acks, enable_idempotence=False) as producer:
        written = await producer.send(topic, b"v")
        assert written.offset == (-1 if acks == 0 else 0)
    assert len(await read_all(bootstrap, topic, 1)) == 1


async def test_keys_go_where_javas_client_sends_them(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(5)
    async with Producer(bootstrap_servers=bootstrap) as producer:
        for number in range(20):
            key = b"key-%d" % number
            assert (await producer.send(topic, b"v", key=key)).partition == partition_of_key(key, 5)


@pytest.mark.parametrize("partitioner", ["sticky", "round-robin", "random", "by-rack"])
async def test_records_without_keys_spread(bootstrap: str, make_topic: MakeTopic, partitioner: str) -> None:
    topic = make_topic(3)
    async with Producer(bootstrap_servers=bootstrap, partitioner=partitioner, batch_size=200) as producer:
        written = await asyncio.gather(*(producer.send(topic, b"x" * 50) for _ in range(300)))
    assert {each.partition for each in written} == {0, 1, 2}


async def test_a_function_as_partitioner(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(3)

    def last(topic: str, key: bytes | None, partitions: object, available: object) -> int:
        return 2

    async with Producer(bootstrap_servers=bootstrap, partitioner=last) as producer:
        assert (await producer.send(topic, b"v", key=b"k")).partition == 2


async def test_serializers(bootstrap: str, topic: str) -> None:
    async with Producer(
        bootstrap_servers=bootstrap, value_serializer=str.encode, key_serializer=str.encode
    ) as producer:
        await producer.send(topic, "välue", key="k")
    (record,) = await read_all(bootstrap, topic, 1)
    assert (record.key, record.value) == (b"k", "välue".encode())


async def test_wrong_use_names_the_argument(bootstrap: str, topic: str) -> None:
    async with Producer(bootstrap_servers=bootstrap) as producer:
        await producer.send(topic, b"the topic is known now")
        with pytest.raises(WrongArgumentError, match="value: bytes are wanted, not str"):
            producer.send(topic, "text")
        with pytest.raises(WrongArgumentError, match="key: bytes are wanted, not int"):
            producer.send(topic, b"v", key=7)
        with pytest.raises(WrongArgumentError, match="headers"):
            producer.send(topic, b"v", headers=[("a", 1)])  # type: ignore[list-item]
        with pytest.raises(WrongArgumentError, match="topic"):
            producer.send("", b"v")
        with pytest.raises(WrongArgumentError, match=r"partition: topic .* has no partition 9"):
            producer.send(topic, b"v", partition=9)
        with pytest.raises(RecordTooLargeError, match=r"max\.request\.size"):
            producer.send(topic, bytes(2_000_000))
        with pytest.raises(IllegalStateError, match=r"transactional\.id"):
            await producer.begin_transaction()
    with pytest.raises(ClosedError):
        producer.send(topic, b"v")
    with pytest.raises(IllegalStateError, match="not started"):
        Producer(bootstrap_servers=bootstrap).send(topic, b"v")


async def test_what_brokers_refuse_is_raised(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(max_message_bytes="1000")
    async with Producer(bootstrap_servers=bootstrap) as producer:
        with pytest.raises(KafkaError) as caught:
            await producer.send(topic, bytes(5000))
        assert caught.value.code is KafkaCode.MESSAGE_TOO_LARGE
        assert (await producer.send(topic, b"after the gap")).offset == 0
        with pytest.raises(KafkaError, match="INVALID_TOPIC_EXCEPTION"):
            await producer.send("no/topic", b"v")


async def test_a_batch_that_is_too_large_is_split(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(max_message_bytes="2000")
    async with Producer(bootstrap_servers=bootstrap, linger_ms=50) as producer:
        written = await asyncio.gather(*(producer.send(topic, b"%d" % number * 100) for number in range(50)))
    assert [each.offset for each in written] == list(range(50))
    assert [record.value for record in await read_all(bootstrap, topic, 50)] == [b"%d" % n * 100 for n in range(50)]


async def test_nobody_there(name: str) -> None:
    with pytest.raises(NoBrokerError, match=r"bootstrap\.servers: none of 127\.0\.0\.1:1 "):
        await Producer(bootstrap_servers="127.0.0.1:1", request_timeout_ms=300, delivery_timeout_ms=300).start()


async def test_a_topic_that_does_not_come(bootstrap: str, name: str) -> None:
    async with Producer(bootstrap_servers=bootstrap, max_block_ms=300) as producer:
        producer.metadata._creates_topics = False
        with pytest.raises(RequestTimeoutError, match=f"topic: {name} is not known"):
            await producer.send(name, b"v")


async def enqueue_all(producer: Producer, topic: str, sent: list[Delivery]) -> None:
    while True:
        sent.append(await producer.enqueue(topic, bytes(1000)))


@pytest.fixture
def silent_topic(cluster: Cluster, name: str) -> Iterator[str]:
    """A topic whose only replica is on a broker that does not answer."""
    with SyncAdmin(bootstrap_servers=cluster.bootstrap) as admin:
        admin.create_topics([NewTopic(name, replicas={0: [3]})])
    cluster.broker(3).signal(signal.SIGSTOP)
    yield name
    cluster.broker(3).signal(signal.SIGCONT)
    cluster.broker(3).wait_ready()


async def test_a_full_buffer_blocks_and_then_raises(bootstrap: str, silent_topic: str) -> None:
    topic = silent_topic
    settings: dict[str, Any] = {
        "buffer_memory": 100_000,
        "batch_size": 10_000,
        "max_block_ms": 500,
        "request_timeout_ms": 1000,
    }
    producer = await Producer(bootstrap_servers=bootstrap, delivery_timeout_ms=2000, **settings).start()
    sent: list[Delivery] = []
    started = asyncio.get_running_loop().time()
    with pytest.raises(BufferFullError, match=r"buffer\.memory.*max\.block\.ms, 500"):
        await enqueue_all(producer, topic, sent)
    assert asyncio.get_running_loop().time() - started >= 0.5
    # One batch may hold fewer records than its size allows, and one record stands in line.
    assert 60 <= len(sent) <= 110
    late = producer.send(topic, bytes(1000))
    with pytest.raises(BufferFullError):
        await late
    with pytest.raises(BufferFullError, match=r"await enqueue\(\)"):
        sent += [producer.send(topic, bytes(1000)) for _ in range(1000)]
    with pytest.raises((KafkaError, TimeoutError)):
        await sent[0]
    await producer.close(timeout_ms=0)


def test_the_synchronous_twin_holds_no_more_than_its_buffer(bootstrap: str, silent_topic: str) -> None:
    settings: dict[str, Any] = {"buffer_memory": 2_000_000, "max_block_ms": 300, "request_timeout_ms": 1000}
    producer = SyncProducer(bootstrap_servers=bootstrap, delivery_timeout_ms=1000, **settings).start()
    faults: list[BaseException | None] = []
    held: list[int] = []
    for sent in range(1, 17):
        try:
            producer.send(silent_topic, bytes(1_000_000), callback=lambda _, error: faults.append(error))
        except BufferFullError as error:
            faults.append(error)
        held.append(sent - len(faults))
    producer.close()
    # The buffer, 4 MiB that wait to be taken over, and one that is.
    assert max(held) <= 8
    assert any("max.block.ms, 300" in str(error) for error in faults)
    assert len(faults) == 16
    assert None not in faults


async def test_what_is_not_acknowledged_in_time_has_failed(bootstrap: str, silent_topic: str) -> None:
    async with Producer(
        bootstrap_servers=bootstrap, request_timeout_ms=400, delivery_timeout_ms=1000, retry_backoff_ms=20
    ) as producer:
        with pytest.raises(DeliveryTimeoutError, match=r"delivery\.timeout\.ms, 1000, after [1-9]"):
            await producer.send(silent_topic, b"v")


async def test_without_retries_the_first_failure_is_final(cluster: Cluster, name: str) -> None:
    async with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        await admin.create_topics([NewTopic(name, replicas={0: [3]})])
    async with Producer(
        bootstrap_servers=cluster.bootstrap, retries=0, enable_idempotence=False, request_timeout_ms=2000
    ) as producer:
        # A connection that does not open is no attempt.
        await producer.send(name, b"v")
        cluster.broker(3).signal(signal.SIGSTOP)
        try:
            with pytest.raises(KafkaError, match="NETWORK_EXCEPTION"):
                await producer.send(name, b"v")
        finally:
            cluster.broker(3).signal(signal.SIGCONT)
            await asyncio.to_thread(cluster.broker(3).wait_ready)


@pytest.mark.usefixtures("silent_topic")
async def test_a_broker_that_hangs_does_not_keep_clients_from_starting(cluster: Cluster) -> None:
    servers = f"{cluster.broker(3).kafka},{cluster.broker(1).kafka}"
    for _ in range(10):  # in any order
        async with Producer(bootstrap_servers=servers, request_timeout_ms=1000, max_block_ms=1000) as producer:
            assert producer is not None


async def test_a_closed_producer_fails_what_it_could_not_deliver(bootstrap: str, silent_topic: str) -> None:
    producer = await Producer(bootstrap_servers=bootstrap).start()
    delivery = producer.send(silent_topic, b"v")
    await producer.close(timeout_ms=300)
    with pytest.raises(ClosedError):
        await delivery
    await producer.close()


async def test_partitions_for_a_topic(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(4)
    async with Producer(bootstrap_servers=bootstrap) as producer:
        partitions = await producer.partitions_for(topic)
    assert [each.partition for each in partitions] == [0, 1, 2, 3]
    assert all(sorted(each.replicas) == [1, 2, 3] for each in partitions)
