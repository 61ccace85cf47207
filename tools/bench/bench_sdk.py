"""The SDK beside other Python clients on one cluster: records per second and CPU per record, printed as a table.

    python tools/bench/bench_sdk.py [--bootstrap HOST:PORT] [--records N] [--rounds N]

Every client sends and reads the same records of 1 KiB with its own defaults, idempotent and with acks=all. Each measurement
is a process of its own, so that CPU is the client's alone, and begins after the first record was acknowledged or read; the
clients take turns, and the median of the rounds counts. Then `tidelog topics list` is started a few times on that cluster.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

RECORD_BYTES = 1024
PARTITIONS = 6
OURS = ("tidelog", "tidelog sync")
# The results of each client's rounds.
Found = dict[str, list[dict[str, float]]]
OTHERS = ("aiokafka", "kafka-python", "confluent-kafka")
# What is aimed at: so many times the records of these two in a second, and a command that starts as fast as that.
RATIO = 1.5
BESIDE = ("aiokafka", "kafka-python")
START_S = 0.5
STARTS = 11


class Meter:
    """Wall and CPU time of one measurement."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def done(self) -> dict[str, float]:
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        return {"records_s": self._count / wall, "cpu_us": cpu / self._count * 1e6}


# ---- producing


async def produce_tidelog(bootstrap: str, topic: str, count: int) -> dict[str, float]:
    from tidelog.client import Producer

    value = os.urandom(RECORD_BYTES)
    async with Producer(bootstrap_servers=bootstrap) as producer:
        await producer.send(topic, value)
        meter = Meter(count)
        for _ in range(count):
            await producer.enqueue(topic, value)
        await producer.flush()
        return meter.done()


def produce_tidelog_sync(bootstrap: str, topic: str, count: int) -> dict[str, float]:
    from tidelog.client.sync import Producer

    value = os.urandom(RECORD_BYTES)
    with Producer(bootstrap_servers=bootstrap) as producer:
        producer.send(topic, value).result()
        meter = Meter(count)
        for _ in range(count):
            producer.send(topic, value)
        producer.flush()
        return meter.done()


async def produce_aiokafka(bootstrap: str, topic: str, count: int) -> dict[str, float]:
    from aiokafka import AIOKafkaProducer

    value = os.urandom(RECORD_BYTES)
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True)
    await producer.start()
    await producer.send_and_wait(topic, value)
    meter = Meter(count)
    for _ in range(count):
        await producer.send(topic, value)
    await producer.flush()
    result = meter.done()
    await producer.stop()
    return result


def produce_kafka_python(bootstrap: str, topic: str, count: int) -> dict[str, float]:
    from kafka import KafkaProducer

    value = os.urandom(RECORD_BYTES)
    producer = KafkaProducer(bootstrap_servers=bootstrap.split(","), acks="all", enable_idempotence=True)
    producer.send(topic, value).get(30)
    meter = Meter(count)
    for _ in range(count):
        producer.send(topic, value)
    producer.flush()
    result = meter.done()
    producer.close()
    return result


def produce_confluent(bootstrap: str, topic: str, count: int) -> dict[str, float]:
    from confluent_kafka import Producer

    value = os.urandom(RECORD_BYTES)
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    producer.produce(topic, value)
    producer.flush()
    meter = Meter(count)
    for _ in range(count):
        while True:
            try:
                producer.produce(topic, value)
                break
            except BufferError:
                producer.poll(0.01)
        producer.poll(0)
    producer.flush()
    return meter.done()


# ---- consuming


async def consume_tidelog(bootstrap: str, topic: str, count: int) -> dict[str, float]:
    from tidelog.client import Consumer, TopicPartition

    async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, number) for number in range(PARTITIONS)])
        while not (first := await consumer.poll(1000)):
            pass
        seen, meter = sum(map(len, first.values())), Meter(count)
        while seen < count:
            for records in (await consumer.poll(1000)).values():
                for record in records:
                    seen += record.value is not None
        return meter.done()


def consume_tidelog_sync(bootstrap: str, topic: str, count: int) -> dict[str, float]:
    from tidelog.client import TopicPartition
    from tidelog.client.sync import Consumer

    with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, number) for number in range(PARTITIONS)])
        while not (first := consumer.poll(1000)):
            pass
        seen, meter = sum(map(len, first.values())), Meter(count)
        while seen < count:
            for records in consumer.poll(1000).values():
                for record in records:
                    seen += record.value is not None
        return meter.done()


async def consume_aiokafka(bootstrap: str, topic: str, count: int) -> dict[str, float]:
    from aiokafka import AIOKafkaConsumer, TopicPartition

    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", enable_auto_commit=False)
    await consumer.start()
    consumer.assign([TopicPartition(topic, number) for number in range(PARTITIONS)])
    await consumer.seek_to_beginning()
    while not (first := await consumer.getmany(timeout_ms=1000, max_records=500)):
        pass
    seen, meter = sum(map(len, first.values())), Meter(count)
    while seen < count:
        for records in (await consumer.getmany(timeout_ms=1000, max_records=500)).values():
            for record in records:
                seen += record.value is not None
    result = meter.done()
    await consumer.stop()
    return result


def consume_kafka_python(bootstrap: str, topic: str, count: int) -> dict[str, float]:
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap.split(","), auto_offset_reset="earliest", enable_auto_commit=False
    )
    consumer.assign([TopicPartition(topic, number) for number in range(PARTITIONS)])
    while not (first := consumer.poll(1000)):
        pass
    seen, meter = sum(map(len, first.values())), Meter(count)
    while seen < count:
        for records in consumer.poll(1000).values():
            for record in records:
                seen += record.value is not None
    result = meter.done()
    consumer.close()
    return result


def consume_confluent(bootstrap: str, topic: str, count: int) -> dict[str, float]:
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "bench", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(PARTITIONS)])
    while not (first := consumer.consume(500, 1.0)):
        pass
    seen, meter = len(first), Meter(count)
    while seen < count:
        for record in consumer.consume(500, 1.0):
            seen += record.value() is not None
    result = meter.done()
    consumer.close()
    return result


WORK: dict[tuple[str, str], Callable[[str, str, int], Any]] = {
    ("produce", "tidelog"): produce_tidelog,
    ("produce", "tidelog sync"): produce_tidelog_sync,
    ("produce", "aiokafka"): produce_aiokafka,
    ("produce", "kafka-python"): produce_kafka_python,
    ("produce", "confluent-kafka"): produce_confluent,
    ("consume", "tidelog"): consume_tidelog,
    ("consume", "tidelog sync"): consume_tidelog_sync,
    ("consume", "aiokafka"): consume_aiokafka,
    ("consume", "kafka-python"): consume_kafka_python,
    ("consume", "confluent-kafka"): consume_confluent,
}


def measure_here(what: str, client: str, bootstrap: str, topic: str, count: int) -> dict[str, float]:
    """One measurement in this process."""
    work = WORK[what, client]
    result = work(bootstrap, topic, count)
    if asyncio.iscoroutine(result):
        import uvloop

        return dict(uvloop.run(result))
    return dict(result)


def measure(what: str, client: str, bootstrap: str, topic: str, count: int) -> dict[str, float]:
    """One measurement in a process of its own."""
    arguments = ["--one", what, client, bootstrap, topic, str(count)]
    done = subprocess.run([sys.executable, __file__, *arguments], check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def rounds_of(what: str, bootstrap: str, topics: dict[str, str], count: int, rounds: int) -> Found:
    found: Found = {client: [] for client in (*OURS, *OTHERS)}
    for number in range(rounds):
        for client, results in found.items():
            print(f"{what}, round {number + 1} of {rounds}: {client}", file=sys.stderr)
            results.append(measure(what, client, bootstrap, topics[client], count))
    return found


def table(what: str, found: Found) -> None:
    medians = {
        client: {key: statistics.median(one[key] for one in results) for key in results[0]}
        for client, results in found.items()
    }
    print(f"\n| {what} | records/s | CPU us a record | tidelog is faster by | with less CPU by | must be |")
    print("|---|---|---|---|---|---|")
    ours = medians["tidelog"]
    for client, values in medians.items():
        faster, cheaper = ours["records_s"] / values["records_s"], values["cpu_us"] / ours["cpu_us"]
        mark = f">= {RATIO} x" if client in BESIDE else ""
        figures = f"{values['records_s']:,.0f} | {values['cpu_us']:.1f} | {faster:.2f} x | {cheaper:.2f} x"
        print(f"| {client} | {figures} | {mark} |")


def measure_start(bootstrap: str) -> None:
    """How long `tidelog topics list` takes as a process, from its start to its end."""
    command = [str(Path(sys.executable).with_name("tidelog")), "topics", "list", "--bootstrap-server", bootstrap]
    times = []
    for _ in range(STARTS + 1):
        begun = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - begun)
    # The first one reads the files.
    warm = sorted(times[1:])
    print("\n| measure | first | median | min | max | must be |\n|---|---|---|---|---|---|")
    figures = " | ".join(f"{value:.2f} s" for value in (times[0], statistics.median(warm), warm[0], warm[-1]))
    print(f"| `tidelog topics list`, {STARTS} starts | {figures} | < {START_S} s |")


def create_topics(bootstrap: str) -> dict[str, str]:
    from tidelog.client import NewTopic
    from tidelog.client.sync import Admin

    stamp = time.time_ns()
    topics = {client: f"bench-{stamp}-{client.replace(' ', '-')}" for client in (*OURS, *OTHERS)}
    with Admin(bootstrap_servers=bootstrap) as admin:
        admin.create_topics([NewTopic(topic, PARTITIONS, 1) for topic in topics.values()])
    return topics


def run(bootstrap: str, count: int, rounds: int) -> None:
    topics = create_topics(bootstrap)
    produced = rounds_of("produce", bootstrap, topics, count, rounds)
    consumed = rounds_of("consume", bootstrap, topics, count, rounds)
    conditions = f"{PARTITIONS} partitions, medians of {rounds} rounds, load {os.getloadavg()[0]:.1f}"
    print(f"\n{count} records of {RECORD_BYTES} bytes, {conditions}")
    table("produce", produced)
    table("consume", consumed)
    measure_start(bootstrap)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", help="a running cluster; without it one is started")
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", nargs=5, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one is not None:
        what, client, bootstrap, topic, count = arguments.one
        print(json.dumps(measure_here(what, client, bootstrap, topic, int(count))))
    elif arguments.bootstrap:
        run(arguments.bootstrap, arguments.records, arguments.rounds)
    else:
        from tidelog.testing.cluster import TidelogCluster

        with tempfile.TemporaryDirectory() as folder:
            cluster = TidelogCluster(Path(folder), brokers=3)
            cluster.up()
            try:
                run(cluster.bootstrap_servers, arguments.records, arguments.rounds)
            finally:
                cluster.down()


if __name__ == "__main__":
    main()
