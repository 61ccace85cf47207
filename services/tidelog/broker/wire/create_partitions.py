"""CreatePartitions (37), served in versions 0 to 3.

- v0: topics with the number of partitions they are to have, and where the new ones go.  v1: the same.  v2: flexible.
- v3: quotas may refuse.

Any broker passes the request on to the active controller, and answers once it has heard of a leader for every partition.
As with CreateTopics, the controller checks the request of a client with a quota before it is counted.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from tidelog.broker.wire.remaining_time import RemainingTime
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.messages.create_partitions import (
    CREATE_PARTITIONS,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi
from tidelog.rpc import controller_pb2

if TYPE_CHECKING:
    from tidelog.broker.shell.client_throttling import ClientThrottling, MutationCharge
    from tidelog.kafka.cluster import ClusterView
    from tidelog.runtime.controller_client import ControllerClient

_QUOTAS_REFUSE_FROM = 3


def served(controller: ControllerClient, throttling: ClientThrottling) -> ServedApi:
    return ServedApi(CREATE_PARTITIONS, parse_versions("0-3"), partial(_answer, controller, throttling))


async def _answer(
    controller: ControllerClient,
    throttling: ClientThrottling,
    context: RequestContext,
    request: CreatePartitionsRequest,
) -> CreatePartitionsResponse:
    time = RemainingTime(request.timeout_ms)
    counts = Counter(topic.name for topic in request.topics)
    results = [
        _result(name, KafkaCode.INVALID_REQUEST, "The topic stands twice in the request.")
        for name, count in counts.items()
        if count > 1
    ]
    wanted = [topic for topic in request.topics if counts[topic.name] == 1]
    charge = throttling.mutations(context, _QUOTAS_REFUSE_FROM)
    if charge is not None and wanted and not request.validate_only:
        refused = await _refused_by_quota(controller, charge, wanted, request, time)
        results += refused.values()
        wanted = [topic for topic in wanted if topic.name not in refused]
    if wanted:
        results += await _grown(controller, wanted, request, time)
    throttle_ms = 0 if charge is None else charge.throttle_time_ms
    return CreatePartitionsResponse(results=results, throttle_time_ms=throttle_ms)


async def _refused_by_quota(
    controller: ControllerClient,
    charge: MutationCharge,
    topics: list[CreatePartitionsTopic],
    request: CreatePartitionsRequest,
    time: RemainingTime,
) -> dict[str, CreatePartitionsTopicResult]:
    """What the quota does not allow, and what the controller would not do anyway."""
    trial = CreatePartitionsRequest(topics=topics, timeout_ms=request.timeout_ms, validate_only=True)
    counts = {topic.name: topic.count for topic in topics}
    refused = {}
    for result in await _grown(controller, topics, trial, time):
        try:
            if result.error_code == KafkaCode.NONE:
                present = controller.mirror.view.topics.get(result.name)
                charge.admit(counts[result.name] - (0 if present is None else len(present.partitions)))
                continue
        except KafkaError as refusal:
            result = _result(result.name, refusal.code, refusal.message)
        refused[result.name] = result
    return refused


async def _grown(
    controller: ControllerClient,
    topics: list[CreatePartitionsTopic],
    request: CreatePartitionsRequest,
    time: RemainingTime,
) -> list[CreatePartitionsTopicResult]:
    try:
        answer = await controller.call("CreatePartitions", _to_rpc(topics, request), time.ms)
    except KafkaError as refusal:
        return [_result(topic.name, refusal.code, refusal.message) for topic in topics]
    results = [_result(one.name, one.error_code, one.error_message or None) for one in answer.topics]
    if request.validate_only:
        return results
    grown = {topic.name: topic.count for topic in topics}
    waiting = {one.name: grown[one.name] for one in results if one.error_code == KafkaCode.NONE}
    await controller.mirror.until(lambda view: all(_led(view, *one) for one in waiting.items()), time.ms)
    for result in results:
        if result.name in waiting and not _led(controller.mirror.view, result.name, waiting[result.name]):
            result.error_code, result.error_message = KafkaCode.REQUEST_TIMED_OUT, "The partitions are being created."
    return results


def _led(view: ClusterView, name: str, count: int) -> bool:
    topic = view.topics.get(name)
    return topic is not None and sum(partition.leader >= 0 for partition in topic.partitions.values()) >= count


def _to_rpc(
    topics: list[CreatePartitionsTopic], request: CreatePartitionsRequest
) -> controller_pb2.CreatePartitionsRequest:
    return controller_pb2.CreatePartitionsRequest(
        topics=[
            controller_pb2.MorePartitions(
                name=topic.name,
                total=topic.count,
                assignments=[
                    controller_pb2.ReplicaAssignment(replicas=one.broker_ids) for one in topic.assignments or ()
                ],
                assignments_given=topic.assignments is not None,
            )
            for topic in topics
        ],
        timeout_ms=request.timeout_ms,
        validate_only=request.validate_only,
    )


def _result(name: str, code: int, message: str | None) -> CreatePartitionsTopicResult:
    return CreatePartitionsTopicResult(name=name, error_code=code, error_message=message)
