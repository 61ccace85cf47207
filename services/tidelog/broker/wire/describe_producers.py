"""DescribeProducers (61), served in version 0, which is flexible: the producers that a partition's leader remembers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tidelog.kafka.errors import KafkaError
from tidelog.kafka.wire.messages.describe_producers import (
    DESCRIBE_PRODUCERS,
    DescribeProducersPartitionResult,
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeProducersTopicResult,
    ProducerState,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi

if TYPE_CHECKING:
    from tidelog.broker.shell.partitions import Partitions


def served(partitions: Partitions) -> ServedApi:
    return ServedApi(DESCRIBE_PRODUCERS, parse_versions("0"), partial(_answer, partitions))


def _answer(
    partitions: Partitions,
    context: RequestContext,  # noqa: ARG001  there is one version
    request: DescribeProducersRequest,
) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            DescribeProducersTopicResult(
                name=topic.name, partitions=[_one(partitions, topic.name, index) for index in topic.partition_indexes]
            )
            for topic in request.topics
        ]
    )


def _one(partitions: Partitions, topic: str, index: int) -> DescribeProducersPartitionResult:
    try:
        partition = partitions.named(topic, index)
        partition.led()
    except KafkaError as refusal:
        return DescribeProducersPartitionResult(
            partition_index=index, error_code=refusal.code, error_message=refusal.message
        )
    return DescribeProducersPartitionResult(
        partition_index=index,
        active_producers=[
            ProducerState(
                producer_id=entry.producer_id,
                producer_epoch=entry.producer_epoch,
                last_sequence=entry.last_sequence,
                last_timestamp=entry.last_timestamp,
                coordinator_epoch=entry.coordinator_epoch,
                current_txn_start_offset=entry.txn_first_offset,
            )
            for entry in partition.log.producers.entries.values()
        ],
    )
