"""Limits of replication while replicas move, as kafka-reassign-partitions sets them, and takes them back when it is over."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidelog.client import Admin, TopicPartition

_RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
_LEADERS = "leader.replication.throttled.replicas"
_FOLLOWERS = "follower.replication.throttled.replicas"

# The settings of a topic: which replicas send, and which receive.
Sides = dict[str, dict[str, str]]


def throttled_replicas(
    current: Mapping["TopicPartition", Sequence[int]], wanted: Mapping["TopicPartition", Sequence[int]]
) -> Sides:
    """What is copied is limited where it is now and where it goes; replicas that stay are not limited as followers."""
    sides: dict[str, dict[str, list[str]]] = {}
    for partition in sorted(wanted):
        before = current.get(partition, ())
        coming = [broker for broker in wanted[partition] if broker not in before]
        if not coming:
            continue
        topic = sides.setdefault(partition.topic, {_LEADERS: [], _FOLLOWERS: []})
        topic[_LEADERS] += (f"{partition.partition}:{broker}" for broker in before)
        topic[_FOLLOWERS] += (f"{partition.partition}:{broker}" for broker in coming)
    return {topic: {key: ",".join(parts) for key, parts in both.items()} for topic, both in sides.items()}


async def set_throttles(admin: "Admin", sides: Sides, brokers: Iterable[int], bytes_per_second: int) -> None:
    """Before anything moves, so that nothing is copied without a limit."""
    from tidelog.client import ConfigResource

    for topic, both in sides.items():
        await admin.alter_configs(ConfigResource.topic(topic), {**both})
    for broker in brokers:
        await admin.alter_configs(ConfigResource.broker(broker), dict.fromkeys(_RATES, bytes_per_second))


async def clear_throttles(admin: "Admin", topics: Iterable[str]) -> None:
    """Take all limits back: those of every live broker, and those of topics that are still there."""
    from tidelog.client import ConfigResource

    brokers = sorted(broker.id for broker in (await admin.describe_cluster()).brokers)
    print(f"\nClearing broker-level throttles on brokers {','.join(map(str, brokers))}")
    for broker in brokers:
        await admin.alter_configs(ConfigResource.broker(broker), dict.fromkeys(_RATES))
    there = set(await admin.list_topics(include_internal=True))
    kept = sorted(there & set(topics))
    print(f"Clearing topic-level throttles on topic{'s' if len(kept) > 1 else ''} {','.join(kept)}")
    for topic in kept:
        await admin.alter_configs(ConfigResource.topic(topic), {_LEADERS: None, _FOLLOWERS: None})
