"""ListPartitionReassignments (46), served in version 0.

- v0: the reassignments of given partitions, or all of them.

Any broker passes the request on to the active controller.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tidelog.kafka.errors import KafkaError
from tidelog.kafka.wire.messages.list_partition_reassignments import (
    LIST_PARTITION_REASSIGNMENTS,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi
from tidelog.rpc import controller_pb2, types_pb2

if TYPE_CHECKING:
    from tidelog.runtime.controller_client import ControllerClient


def served(controller: ControllerClient) -> ServedApi:
    return ServedApi(LIST_PARTITION_REASSIGNMENTS, parse_versions("0"), partial(_answer, controller))


async def _answer(
    controller: ControllerClient, _: RequestContext, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    wanted = controller_pb2.ListPartitionReassignmentsRequest(
        partitions=[
            types_pb2.TopicPartition(topic=topic.name, partition=partition)
            for topic in request.topics or ()
            for partition in topic.partition_indexes
        ],
        all_partitions=request.topics is None,
    )
    try:
        answer = await controller.call("ListPartitionReassignments", wanted, request.timeout_ms)
    except KafkaError as refusal:
        return ListPartitionReassignmentsResponse(error_code=refusal.code, error_message=refusal.message)
    topics: dict[str, OngoingTopicReassignment] = {}
    for one in answer.reassignments:
        topic = topics.setdefault(one.topic, OngoingTopicReassignment(name=one.topic))
        topic.partitions.append(
            OngoingPartitionReassignment(
                partition_index=one.partition,
                replicas=list(one.replicas),
                adding_replicas=list(one.adding_replicas),
                removing_replicas=list(one.removing_replicas),
            )
        )
    return ListPartitionReassignmentsResponse(topics=list(topics.values()))
