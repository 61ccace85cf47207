"""How long single records take: until they are acknowledged, and until somebody else has read them."""

import threading
import time
from functools import partial
from typing import Any

import confluent_kafka

from tools.bench.system import GIVE_UP_S, WARM_S, System, payloads

END_TO_END_S = 10.0
RATE = 1000
PARTITIONS = 6
_STAMP_BYTES = 20


def closed_loop(system: System, name: str, *, replicas: int, in_flight: int) -> None:
    """A loop of so many records under way, each a request of its own."""
    with system.topic(1, replicas) as topic:
        safely = {"acks": "all", "enable.idempotence": True} if replicas > 1 else {"acks": 1}
        one_each = {"linger.ms": 0, "batch.num.messages": 1, "max.in.flight": in_flight}
        producer = confluent_kafka.Producer(system.config() | safely | one_each)
        _loop(producer, topic, WARM_S, in_flight)
        with system.measured() as meter:
            latencies = sorted(_loop(producer, topic, system.seconds, in_flight))
        count = len(latencies)
        system.figures.add(name, count / meter.seconds)
        system.figures.add(f"{name} cpu", meter.cpu_seconds * 1000 / count)
        system.figures.add(f"{name} p50", latencies[count // 2] * 1000)
        system.figures.add(f"{name} p99", latencies[count * 99 // 100] * 1000)


def _loop(producer: confluent_kafka.Producer, topic: str, seconds: float, in_flight: int) -> list[float]:
    under_way, value, latencies = 0, payloads(100)[0], []

    def done(begun: float, error: Any, _: Any) -> None:
        nonlocal under_way
        assert error is None, error
        under_way -= 1
        latencies.append(time.perf_counter() - begun)

    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        while under_way < in_flight:
            under_way += 1
            producer.produce(topic, value, partition=0, on_delivery=partial(done, time.perf_counter()))
        producer.poll(1)
    producer.flush(GIVE_UP_S)
    return latencies


def end_to_end(system: System, name: str, replicas: int) -> None:
    """So many records a second of 1 KiB, whatever the answers: from produce() until another client has it."""
    with system.topic(PARTITIONS, replicas) as topic:
        reader = _Reader(system, topic)
        producer = confluent_kafka.Producer(system.config(acks="all", enable_idempotence=True, linger_ms=0))
        while not reader.is_reading.wait(0.2):
            _send(producer, topic, 0, time.perf_counter())
        _steadily(producer, topic, WARM_S)
        reader.latencies.clear()
        with system.measured():
            _steadily(producer, topic, END_TO_END_S)
        producer.flush(GIVE_UP_S)
        time.sleep(1)
        latencies = sorted(reader.end())
        assert len(latencies) >= END_TO_END_S * RATE, "records are missing"
        system.figures.add(f"{name} p50", latencies[len(latencies) // 2] * 1000)
        system.figures.add(f"{name} p99", latencies[len(latencies) * 99 // 100] * 1000)


def _steadily(producer: confluent_kafka.Producer, topic: str, seconds: float) -> None:
    begun = time.perf_counter()
    for number in range(int(seconds * RATE)):
        due = begun + number / RATE
        while (now := time.perf_counter()) < due:
            time.sleep(due - now)
        _send(producer, topic, number, now)
        producer.poll(0)


def _send(producer: confluent_kafka.Producer, topic: str, number: int, now: float) -> None:
    stamp = b"%020.9f" % now
    producer.produce(topic, stamp.ljust(1024, b"x"), partition=number % PARTITIONS)


class _Reader:
    """Another client, in a thread of its own."""

    def __init__(self, system: System, topic: str) -> None:
        self.latencies: list[float] = []
        self.is_reading = threading.Event()
        self._is_over = False
        self._consumer = confluent_kafka.Consumer(system.config(group_id="bench-e2e", enable_auto_commit=False))
        self._consumer.assign([confluent_kafka.TopicPartition(topic, index, 0) for index in range(PARTITIONS)])
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> list[float]:
        self._is_over = True
        self._thread.join()
        return self.latencies

    def _run(self) -> None:
        while not self._is_over:
            message = self._consumer.poll(0.2)
            value = None if message is None or message.error() else message.value()
            if value is not None:
                self.latencies.append(time.perf_counter() - float(value[:_STAMP_BYTES]))
                self.is_reading.set()
        self._consumer.close()
