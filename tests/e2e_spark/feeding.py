"""Runs inside the cluster with a stock client: page views at a steady rate, and what was counted of them.

feeding.py feed TOPIC SECONDS RATE      prints {"sent": n} when all are acknowledged
feeding.py counts TOPIC                 prints {"key": [count, ...]}: committed values, in the order of their partition
feeding.py leader TOPIC                 prints the id of the broker that leads partition 0
"""

import json
import os
import sys
import time
from collections.abc import Callable

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

BOOTSTRAP = os.environ["BOOTSTRAP"]
_PAGES = 20
_WAIT_S = 90


def feed(topic: str, seconds: str, rate: str) -> None:
    producer = Producer({"bootstrap.servers": BOOTSTRAP, "enable.idempotence": True, "linger.ms": 20})
    failed: list[object] = []
    began, sent = time.monotonic(), 0
    while time.monotonic() - began < float(seconds):
        page = f"/product/{sent % _PAGES}"
        event = {"kind": "view", "page": page, "user": f"user-{sent}", "at": "2026-01-02T12:00:00+00:00"}
        producer.produce(
            topic, json.dumps(event), page, on_delivery=lambda error, _: failed.append(error) if error else None
        )
        sent += 1
        producer.poll(max(0.0, began + sent / float(rate) - time.monotonic()))
    left = producer.flush(_WAIT_S)
    assert not failed, failed[:3]
    assert not left, f"{left} were not acknowledged"
    _tell({"sent": sent})


def counts(topic: str) -> None:
    settings = {"bootstrap.servers": BOOTSTRAP, "group.id": "counts", "enable.auto.commit": False}
    consumer = Consumer({**settings, "isolation.level": "read_committed", "enable.partition.eof": True})
    partitions = consumer.list_topics(topic, 30).topics[topic].partitions
    consumer.assign([TopicPartition(topic, each, OFFSET_BEGINNING) for each in partitions])
    found: dict[str, list[int]] = {}
    ended: set[int | None] = set()
    deadline = time.monotonic() + _WAIT_S
    while len(ended) < len(partitions):
        assert time.monotonic() < deadline, f"only {ended} of {sorted(partitions)} were read to their ends"
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error():
            ended.add(message.partition())
            continue
        found.setdefault((message.key() or b"").decode(), []).append(json.loads(message.value() or b"{}")["events"])
    consumer.close()
    _tell(found)


def leader(topic: str) -> None:
    _tell(AdminClient({"bootstrap.servers": BOOTSTRAP}).list_topics(topic, 30).topics[topic].partitions[0].leader)


def _tell(value: object) -> None:
    sys.stdout.write(f"{json.dumps(value)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    commands: dict[str, Callable[..., None]] = {"feed": feed, "counts": counts, "leader": leader}
    commands[sys.argv[1]](*sys.argv[2:])
