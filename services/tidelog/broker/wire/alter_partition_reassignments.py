"""AlterPartitionReassignments (45), served in version 0.

- v0: wanted replicas of partitions; null calls a reassignment off.

Any broker passes the request on to the active controller.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tidelog.kafka.errors import KafkaError
from tidelog.kafka.wire.messages.alter_partition_reassignments import (
    ALTER_PARTITION_REASSIGNMENTS,
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi
from tidelog.rpc import controller_pb2

if TYPE_CHECKING:
    from tidelog.runtime.controller_client import ControllerClient


def served(controller: ControllerClient) -> ServedApi:
    return ServedApi(ALTER_PARTITION_REASSIGNMENTS, parse_versions("0"), partial(_answer, controller))


async def _answer(
    controller: ControllerClient, _: RequestContext, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    try:
        answer = await controller.call("AlterPartitionReassignments", _to_rpc(request), request.timeout_ms)
    except KafkaError as refusal:
        return AlterPartitionReassignmentsResponse(error_code=refusal.code, error_message=refusal.message)
    topics: dict[str, ReassignableTopicResponse] = {}
    for one in answer.partitions:
        topic = topics.setdefault(one.topic, ReassignableTopicResponse(name=one.topic))
        topic.partitions.append(
            ReassignablePartitionResponse(
                partition_index=one.partition, error_code=one.error_code, error_message=one.error_message or None
            )
        )
    return AlterPartitionReassignmentsResponse(responses=list(topics.values()))


def _to_rpc(request: AlterPartitionReassignmentsRequest) -> controller_pb2.AlterPartitionReassignmentsRequest:
    return controller_pb2.AlterPartitionReassignmentsRequest(
        reassignments=[
            controller_pb2.Reassignment(
                topic=topic.name,
                partition=partition.partition_index,
                replicas=partition.replicas or (),
                cancel=partition.replicas is None,
            )
            for topic in request.topics
            for partition in topic.partitions
        ],
        timeout_ms=request.timeout_ms,
    )
