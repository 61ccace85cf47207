"""OffsetForLeaderEpoch: asks a leader where former leader epochs end in its log."""

from collections.abc import Mapping
from typing import NamedTuple

from tidelog.client.records import TopicPartition
from tidelog.client.shell.connections import Link
from tidelog.kafka.wire.messages.offset_for_leader_epoch import (
    OFFSET_FOR_LEADER_EPOCH,
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

# Older ones are for followers only.
_FIRST_FOR_CONSUMERS = 3
_CONSUMER = -1


class EpochAsked(NamedTuple):
    """An epoch, and that of the leader who is asked for its end."""

    epoch: int
    leader_epoch: int


def can_be_asked(link: Link) -> bool:
    return link.offers(OFFSET_FOR_LEADER_EPOCH, _FIRST_FOR_CONSUMERS)


async def epoch_ends(link: Link, asked: Mapping[TopicPartition, EpochAsked]) -> dict[TopicPartition, EpochEndOffset]:
    """What the leader of these partitions answers for each of them."""
    topics: dict[str, list[OffsetForLeaderPartition]] = {}
    for partition, (epoch, leader_epoch) in asked.items():
        topics.setdefault(partition.topic, []).append(
            OffsetForLeaderPartition(
                partition=partition.partition, current_leader_epoch=leader_epoch, leader_epoch=epoch
            )
        )
    request = OffsetForLeaderEpochRequest(
        replica_id=_CONSUMER,
        topics=[OffsetForLeaderTopic(topic=name, partitions=parts) for name, parts in topics.items()],
    )
    answer = await link.call(request)
    return {TopicPartition(topic.topic, each.partition): each for topic in answer.topics for each in topic.partitions}
