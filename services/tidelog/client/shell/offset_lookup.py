"""ListOffsets: the offsets of partitions at a time, or at their start or end."""

import asyncio
from collections.abc import Mapping

from tidelog.client.core.cluster import NO_LEADER
from tidelog.client.records import OffsetAndTimestamp, TopicPartition
from tidelog.client.shell.client import Client
from tidelog.kafka.errors import PROPERTIES, KafkaCode, KafkaError
from tidelog.kafka.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

# Version 0 answers with a list; all brokers of this century know version 1.
Found = dict[TopicPartition, OffsetAndTimestamp]


async def look_up_offsets(
    client: Client, wanted: Mapping[TopicPartition, int], *, isolation_level: int, timeout_ms: int
) -> Found:
    """The offset for each partition's timestamp (-2 is the start, -1 the end); -1 where no record is that young."""
    found: Found = {}
    client.metadata.follow({each.topic for each in wanted})

    async def attempt() -> None:
        left = {each: time for each, time in wanted.items() if each not in found}
        await _ask_leaders(client, left, isolation_level, found)

    await client.insist(attempt, timeout_ms)
    return found


async def _ask_leaders(
    client: Client, wanted: Mapping[TopicPartition, int], isolation_level: int, found: Found
) -> None:
    by_leader: dict[int, dict[TopicPartition, int]] = {}
    for partition, time in wanted.items():
        by_leader.setdefault(client.metadata.view.leader(*partition), {})[partition] = time
    leaderless = by_leader.pop(NO_LEADER, {})
    answers = await asyncio.gather(
        *(_ask(client, leader, part, isolation_level, found) for leader, part in by_leader.items()),
        return_exceptions=True,
    )
    for fault in answers:
        if isinstance(fault, BaseException):
            raise fault
    if leaderless:
        # An unknown topic is one that metadata must be asked for first.
        raise KafkaError(KafkaCode.LEADER_NOT_AVAILABLE, f"{next(iter(leaderless))} has no known leader")


async def _ask(
    client: Client, leader: int, wanted: Mapping[TopicPartition, int], isolation_level: int, found: Found
) -> None:
    view = client.metadata.view
    topics: dict[str, list[ListOffsetsPartition]] = {}
    for partition, time in wanted.items():
        info = view.partition(*partition)
        epoch = -1 if info is None else info.leader_epoch
        topics.setdefault(partition.topic, []).append(
            ListOffsetsPartition(partition_index=partition.partition, current_leader_epoch=epoch, timestamp=time)
        )
    request = ListOffsetsRequest(
        isolation_level=isolation_level,
        topics=[ListOffsetsTopic(name=name, partitions=parts) for name, parts in topics.items()],
    )
    link = await client.connections.link(leader)
    answer = await link.call(request)
    fault = KafkaCode.NONE
    for topic in answer.topics:
        for each in topic.partitions:
            code = KafkaCode(each.error_code)
            if code:
                fault = code if fault is KafkaCode.NONE or not PROPERTIES[code].retriable else fault
            else:
                where = OffsetAndTimestamp(each.offset, each.timestamp, each.leader_epoch)
                found[TopicPartition(topic.name, each.partition_index)] = where
    if fault:
        raise KafkaError(fault)
