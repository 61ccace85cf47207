"""As many records as the client can write, and then read."""

import tempfile
import time
from typing import Any

import confluent_kafka

from tools.bench.figures import MEASURES
from tools.bench.system import GIVE_UP_S, WARM_S, System, payloads

PARTITIONS = 6
TOUCHED_BYTES = 2_000_000_000
CASE_BYTES_MAX = 2_000_000_000

BIG_BATCHES = {"batch.size": 1_000_000, "linger.ms": 50}


def produce_and_consume(
    system: System,
    produce: str | None,
    size: int,
    *,
    consume: str | None = None,
    replicas: int = 1,
    batching: dict[str, Any] | None = None,
) -> None:
    """The names are those of the measures; None if it is not to be measured."""
    with system.topic(PARTITIONS, replicas) as topic:
        _touch_memory()
        failed: list[Any] = []
        safely = {"acks": "all", "enable.idempotence": True} if replicas > 1 else {"acks": 1}
        config = system.config() | safely | (batching or {}) | {"delivery.report.only.error": True}
        producer = confluent_kafka.Producer(config)
        sent = _pump(producer, topic, size, WARM_S, failed)
        with system.measured() as meter:
            measured = _pump(producer, topic, size, system.seconds, failed)
        assert not failed, failed[0]
        if produce is not None:
            system.figures.add(produce, _rate(produce, measured, size, meter.seconds))
            system.figures.add(f"{produce} cpu", meter.cpu_seconds / (measured * size / 1e9))
        if consume is not None:
            _consume(system, consume, topic, sent + measured, size)


def _rate(name: str, count: int, size: int, seconds: float) -> float:
    return count / 1000 / seconds if MEASURES[name].unit == "1000 records/s" else count * size / 1e6 / seconds


def _pump(producer: confluent_kafka.Producer, topic: str, size: int, seconds: float, failed: list[Any]) -> int:
    """As fast as the client can for so long, and until all is acknowledged; gives how many records."""
    records: list[Any] = [{"value": value} for value in payloads(size)]
    end, sent, most = time.perf_counter() + seconds, 0, CASE_BYTES_MAX // size

    def delivered(error: Any, _: Any) -> None:
        failed.append(error)

    while time.perf_counter() < end and sent < most:
        taken = producer.produce_batch(topic, records, partition=sent // 1000 % PARTITIONS, on_delivery=delivered)
        sent += taken
        producer.poll(0 if taken == len(records) else 0.002)
    assert producer.flush(GIVE_UP_S) == 0, "not everything was delivered"
    return sent


def _consume(system: System, name: str, topic: str, count: int, size: int) -> None:
    # A full queue would stop the client from fetching for a second, and that would measure the client.
    unhindered = {"group.id": "bench", "enable.auto.commit": False, "fetch.queue.backoff.ms": 2}
    consumer = confluent_kafka.Consumer(system.config() | unhindered)
    with system.measured() as meter:
        consumer.assign([confluent_kafka.TopicPartition(topic, index, 0) for index in range(PARTITIONS)])
        got = 0
        while got < count:
            messages = consumer.consume(min(5000, count - got), 30)
            assert messages, f"{count - got} records are missing"
            got += len(messages)
    consumer.close()
    system.figures.add(name, _rate(name, got, size, meter.seconds))
    system.figures.add(f"{name} cpu", meter.cpu_seconds / (got * size / 1e9))


def _touch_memory() -> None:
    with tempfile.TemporaryFile() as file:
        block = bytes(1 << 20)
        for _ in range(TOUCHED_BYTES >> 20):
            file.write(block)
