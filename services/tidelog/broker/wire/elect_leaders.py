"""ElectLeaders (43), served in versions 0 to 2.

- v0: preferred elections only.  v1: unclean elections too, and an error of the whole request.  v2: flexible.

Any broker passes the request on to the active controller, which answers when the elections are over.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tidelog.kafka.errors import KafkaError
from tidelog.kafka.wire.messages.elect_leaders import (
    ELECT_LEADERS,
    ElectLeadersPartitionResult,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ElectLeadersTopicResult,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi
from tidelog.rpc import controller_pb2, types_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidelog.runtime.controller_client import ControllerClient


def served(controller: ControllerClient) -> ServedApi:
    return ServedApi(ELECT_LEADERS, parse_versions("0-2"), partial(_answer, controller))


async def _answer(
    controller: ControllerClient, _: RequestContext, request: ElectLeadersRequest
) -> ElectLeadersResponse:
    try:
        answer = await controller.call("ElectLeaders", _to_rpc(request), request.timeout_ms)
    except KafkaError as refusal:
        return ElectLeadersResponse(error_code=refusal.code)
    return ElectLeadersResponse(replica_election_results=_by_topic(answer.partitions))


def _to_rpc(request: ElectLeadersRequest) -> controller_pb2.ElectLeadersRequest:
    return controller_pb2.ElectLeadersRequest(
        election_type=controller_pb2.ElectLeadersRequest.ElectionType.ValueType(request.election_type),
        partitions=[
            types_pb2.TopicPartition(topic=one.topic, partition=partition)
            for one in request.topic_partitions or ()
            for partition in one.partitions
        ],
        timeout_ms=request.timeout_ms,
        all_partitions=request.topic_partitions is None,
    )


def _by_topic(results: Iterable[types_pb2.PartitionResult]) -> list[ElectLeadersTopicResult]:
    topics: dict[str, ElectLeadersTopicResult] = {}
    for one in results:
        topic = topics.setdefault(one.topic, ElectLeadersTopicResult(topic=one.topic))
        topic.partition_result.append(
            ElectLeadersPartitionResult(
                partition_id=one.partition, error_code=one.error_code, error_message=one.error_message or None
            )
        )
    return list(topics.values())
