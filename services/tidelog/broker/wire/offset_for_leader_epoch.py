"""OffsetForLeaderEpoch (23), served in versions 0 to 4.

- v0: where an epoch ended.  v1: the largest epoch not above the one asked for.
- v2: the leader epoch that the asker believes in.  v3: who asks.  v4: flexible.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tidelog.broker.shell.offset_lookup import epoch_end
from tidelog.kafka.errors import KafkaError
from tidelog.kafka.wire.messages.offset_for_leader_epoch import (
    OFFSET_FOR_LEADER_EPOCH,
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi

if TYPE_CHECKING:
    from tidelog.broker.shell.partitions import Partitions


def served(partitions: Partitions) -> ServedApi:
    return ServedApi(OFFSET_FOR_LEADER_EPOCH, parse_versions("0-4"), partial(_answer, partitions))


def _answer(
    partitions: Partitions,
    context: RequestContext,  # noqa: ARG001  versions differ in nothing but their fields
    request: OffsetForLeaderEpochRequest,
) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic, partitions=[_one(partitions, topic.topic, one) for one in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _one(partitions: Partitions, topic: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
    answer = EpochEndOffset(partition=asked.partition)
    try:
        end = epoch_end(partitions.named(topic, asked.partition), asked.leader_epoch, asked.current_leader_epoch)
    except KafkaError as refusal:
        answer.error_code = refusal.code
    else:
        answer.leader_epoch, answer.end_offset = end.epoch, end.end_offset
    return answer
