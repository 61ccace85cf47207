"""Clients that were not made for this broker produce and consume through it, in every codec."""

from typing import Any

import pytest

from tests.support.fake_controller import FakeController
from tests.support.waiting import WAIT_S

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
NUMBER = 500


def value(number: int) -> bytes:
    return b"value-%d-" % number * (number % 50 + 1)


def confluent(controller: FakeController, **settings: Any) -> dict[str, Any]:
    return {"bootstrap.servers": controller.broker.kafka, "broker.address.family": "v4", **settings}


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("idempotent", [False, True])
def test_confluent_kafka(controller: FakeController, topic: str, codec: str, idempotent: bool) -> None:
    import confluent_kafka

    controller.create(topic, partitions=3)
    failed: list[Any] = []
    settings = confluent(controller, **{"compression.codec": codec, "enable.idempotence": idempotent, "linger.ms": 5})
    producer = confluent_kafka.Producer(settings)
    for number in range(NUMBER):
        producer.produce(
            topic,
            value(number),
            b"key-%d" % number,
            partition=number % 3,
            headers=[("h", b"%d" % number)],
            timestamp=1_700_000_000_000 + number,
            on_delivery=lambda error, _: failed.append(error) if error else None,
        )
    assert producer.flush(WAIT_S) == 0
    assert failed == []
    got = consumed_by_confluent(controller, topic)
    assert {(m.key(), m.value(), m.headers()[0], m.timestamp()[1]) for m in got} == {
        (b"key-%d" % n, value(n), ("h", b"%d" % n), 1_700_000_000_000 + n) for n in range(NUMBER)
    }
    for partition in range(3):
        offsets = [m.offset() for m in got if m.partition() == partition]
        assert offsets == list(range(len(offsets))), "each partition in order"


def consumed_by_confluent(controller: FakeController, topic: str) -> list[Any]:
    import confluent_kafka

    consumer = confluent_kafka.Consumer(
        confluent(controller, **{"group.id": "none", "enable.auto.commit": False, "check.crcs": True})
    )
    try:
        consumer.assign([confluent_kafka.TopicPartition(topic, partition, 0) for partition in range(3)])
        got: list[Any] = []
        while len(got) < NUMBER:
            messages = consumer.consume(NUMBER, WAIT_S)
            assert messages, f"nothing more after {len(got)}"
            assert not [message.error() for message in messages if message.error()]
            got += messages
        low, high = consumer.get_watermark_offsets(confluent_kafka.TopicPartition(topic, 0), WAIT_S)
        assert (low, high) == (0, sum(1 for message in got if message.partition() == 0))
        by_time = confluent_kafka.TopicPartition(topic, 0, 1_700_000_000_000 + 300)
        (found,) = consumer.offsets_for_times([by_time], WAIT_S)
        assert found.offset == 100
    finally:
        consumer.close()
    return got


@pytest.mark.parametrize("codec", CODECS)
async def test_aiokafka(controller: FakeController, topic: str, codec: str) -> None:
    import aiokafka

    controller.create(topic, partitions=2)
    producer = aiokafka.AIOKafkaProducer(
        bootstrap_servers=controller.broker.kafka,
        compression_type=None if codec == "none" else codec,
        enable_idempotence=codec == "zstd",
    )
    await producer.start()
    try:
        for number in range(NUMBER):
            await producer.send(topic, value(number), key=b"%d" % number, partition=number % 2)
        await producer.flush()
    finally:
        await producer.stop()
    consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=controller.broker.kafka, check_crcs=True)
    await consumer.start()
    try:
        partitions = [aiokafka.TopicPartition(topic, index) for index in range(2)]
        consumer.assign(partitions)
        await consumer.seek_to_beginning()
        got = [await consumer.getone() for _ in range(NUMBER)]
        assert await consumer.end_offsets(partitions) == dict.fromkeys(partitions, NUMBER // 2)
    finally:
        await consumer.stop()
    assert {(m.key, m.value) for m in got} == {(b"%d" % n, value(n)) for n in range(NUMBER)}
