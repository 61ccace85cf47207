"""ListOffsets (2), served in versions 0 to 8.

- v0: the offsets at which segments start, newest first.
- v1: one offset and its timestamp.  v2: isolation levels, throttle time.  v3: the same.
- v4: leader epochs.  v5: error 78 while a new leader does not know what is committed.  v6: flexible.
- v7: timestamp -3, the largest there is.  v8: timestamp -4, the earliest that is kept locally.

Only the leader answers.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tidelog.broker.core.list_offsets import asked_twice
from tidelog.broker.log.reading import Isolation
from tidelog.broker.shell.offset_lookup import look_up, look_up_old_style
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.messages.list_offsets import (
    LIST_OFFSETS,
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi

if TYPE_CHECKING:
    from tidelog.broker.shell.partitions import Partitions

_READ_COMMITTED = 1
# A consumer has -1, a tool that debugs -2; brokers have their ids.
_CONSUMER = -1


def served(partitions: Partitions) -> ServedApi:
    return ServedApi(LIST_OFFSETS, parse_versions("0-8"), partial(_answer, partitions))


def _answer(partitions: Partitions, context: RequestContext, request: ListOffsetsRequest) -> ListOffsetsResponse:
    isolation = _isolation(request)
    twice = asked_twice((topic.name, one.partition_index) for topic in request.topics for one in topic.partitions)
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsPartitionResponse(
                        partition_index=one.partition_index, error_code=KafkaCode.INVALID_REQUEST
                    )
                    if (topic.name, one.partition_index) in twice
                    else _one(partitions, topic.name, one, isolation, context.version)
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _isolation(request: ListOffsetsRequest) -> Isolation:
    if request.replica_id != _CONSUMER:
        return Isolation.LOG_END
    return Isolation.COMMITTED if request.isolation_level == _READ_COMMITTED else Isolation.HIGH_WATERMARK


def _one(
    partitions: Partitions, topic: str, asked: ListOffsetsPartition, isolation: Isolation, version: int
) -> ListOffsetsPartitionResponse:
    answer = ListOffsetsPartitionResponse(partition_index=asked.partition_index)
    try:
        partition = partitions.named(topic, asked.partition_index)
        if version == 0:
            answer.old_style_offsets = look_up_old_style(partition, asked.timestamp, isolation, asked.max_num_offsets)
        else:
            answer.offset, answer.timestamp, answer.leader_epoch = look_up(
                partition, asked.timestamp, isolation, asked.current_leader_epoch, version
            )
    except KafkaError as refusal:
        answer.error_code = refusal.code
    return answer
