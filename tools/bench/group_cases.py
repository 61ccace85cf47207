"""What stock consumers ask of a group, to join it and to commit, of any system that speaks Kafka's protocol."""

import itertools
import time
from typing import Any

from confluent_kafka import Consumer, TopicPartition

GIVE_UP_S = 120.0
_names = itertools.count()


def join_seconds(config: dict[str, Any], topic: str, partitions: int, members: int) -> float:
    """From subscribe() until every member has a share and every partition has one owner."""
    group = f"bench-join-{time.time_ns()}-{next(_names)}"
    consumers = [Consumer(config | {"group.id": group, "enable.auto.commit": False}) for _ in range(members)]
    owned: dict[int, list[int]] = {}
    try:
        for consumer in consumers:
            # Connected, so that only the group's work is timed.
            consumer.list_topics(topic, timeout=GIVE_UP_S)
        begun = time.perf_counter()
        for number, consumer in enumerate(consumers):
            consumer.subscribe([topic], on_assign=_noting(owned, number), on_revoke=_forgetting(owned, number))
        while not _is_shared(owned, partitions, members):
            for consumer in consumers:
                consumer.poll(0.001)
            assert time.perf_counter() - begun < GIVE_UP_S, f"after {GIVE_UP_S:g} s members own {owned}"
        return time.perf_counter() - begun
    finally:
        for consumer in consumers:
            consumer.close()


def _noting(owned: dict[int, list[int]], number: int) -> Any:
    def note(_: Any, partitions: list[TopicPartition]) -> None:
        owned[number] = [each.partition for each in partitions]

    return note


def _forgetting(owned: dict[int, list[int]], number: int) -> Any:
    def forget(_: Any, __: list[TopicPartition]) -> None:
        owned[number] = []

    return forget


def _is_shared(owned: dict[int, list[int]], partitions: int, members: int) -> bool:
    shares = list(owned.values())
    return len(shares) == members and all(shares) and sorted(itertools.chain(*shares)) == list(range(partitions))


def commit_latencies(config: dict[str, Any], topic: str, seconds: float) -> list[float]:
    """Seconds of each commit of one consumer that waits for every one of them."""
    consumer = Consumer(config | {"group.id": f"bench-commit-{time.time_ns()}", "enable.auto.commit": False})
    latencies: list[float] = []
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
        end = time.perf_counter() + seconds
        while (begun := time.perf_counter()) < end:
            consumer.commit(offsets=[TopicPartition(topic, 0, len(latencies))], asynchronous=False)
            latencies.append(time.perf_counter() - begun)
    finally:
        consumer.close()
    return latencies
