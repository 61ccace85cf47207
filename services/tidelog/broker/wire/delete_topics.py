"""DeleteTopics (20), served in versions 0 to 6.

- v0: topics by name.  v1: throttle time.  v2, v3: the same.  v4: flexible.  v5: messages; quotas may refuse.
- v6: topics by name or by id.

Any broker passes the request on to the active controller, and answers once it does not know the topic any more.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from tidelog.broker.wire.remaining_time import RemainingTime
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.messages.delete_topics import (
    DELETE_TOPICS,
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from tidelog.kafka.wire.primitives import ZERO_UUID
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi
from tidelog.rpc import controller_pb2

if TYPE_CHECKING:
    from tidelog.broker.shell.client_throttling import ClientThrottling, MutationCharge
    from tidelog.kafka.cluster import ClusterView
    from tidelog.runtime.controller_client import ControllerClient

_QUOTAS_REFUSE_FROM = 5


def served(controller: ControllerClient, throttling: ClientThrottling) -> ServedApi:
    return ServedApi(DELETE_TOPICS, parse_versions("0-6"), partial(_answer, controller, throttling))


async def _answer(
    controller: ControllerClient, throttling: ClientThrottling, context: RequestContext, request: DeleteTopicsRequest
) -> DeleteTopicsResponse:
    time = RemainingTime(request.timeout_ms)
    asked = [*request.topics, *(DeleteTopicState(name=name) for name in request.topic_names)]
    results = [
        _refusal(one, KafkaCode.INVALID_REQUEST, "Name a topic or its id, not both.") for one in asked if _both(one)
    ]
    wanted = [one for one in asked if not _both(one)]
    charge = throttling.mutations(context, _QUOTAS_REFUSE_FROM)
    if charge is not None:
        wanted, refused = _within_quota(controller.mirror.view, charge, wanted)
        results += refused
    if wanted:
        results += await _deleted(controller, wanted, request.timeout_ms, time)
    throttle_ms = 0 if charge is None else charge.throttle_time_ms
    return DeleteTopicsResponse(responses=results, throttle_time_ms=throttle_ms)


def _within_quota(
    view: ClusterView, charge: MutationCharge, asked: list[DeleteTopicState]
) -> tuple[list[DeleteTopicState], list[DeletableTopicResult]]:
    """What may be deleted, and the refusal of the rest. A topic that is not known costs nothing."""
    allowed, refused = [], []
    for one in asked:
        topic = view.topics.get(view.topic_names.get(one.topic_id, "") if one.name is None else one.name)
        try:
            if topic is not None:
                charge.admit(len(topic.partitions))
            allowed.append(one)
        except KafkaError as refusal:
            refused.append(_refusal(one, refusal.code, refusal.message))
    return allowed, refused


def _both(asked: DeleteTopicState) -> bool:
    return (asked.name is None) == (asked.topic_id == ZERO_UUID)


async def _deleted(
    controller: ControllerClient, asked: list[DeleteTopicState], timeout_ms: int, time: RemainingTime
) -> list[DeletableTopicResult]:
    try:
        answer = await controller.call("DeleteTopics", _to_rpc(asked, timeout_ms), time.ms)
    except KafkaError as refusal:
        return [_refusal(one, refusal.code, refusal.message) for one in asked]
    results = [_result(one) for one in answer.topics]
    gone = {one.topic_id for one in results if one.error_code == KafkaCode.NONE}
    await controller.mirror.until(lambda view: not gone & view.topic_names.keys(), time.ms)
    for result in results:
        pending = timeout_ms <= 0 or result.topic_id in controller.mirror.view.topic_names
        if result.error_code == KafkaCode.NONE and pending:
            result.error_code, result.error_message = KafkaCode.REQUEST_TIMED_OUT, "The topic is being deleted."
    return results


def _to_rpc(asked: list[DeleteTopicState], timeout_ms: int) -> controller_pb2.DeleteTopicsRequest:
    return controller_pb2.DeleteTopicsRequest(
        topics=[
            controller_pb2.TopicReference(name=one.name)
            if one.name is not None
            else controller_pb2.TopicReference(topic_id=one.topic_id.bytes)
            for one in asked
        ],
        timeout_ms=timeout_ms,
    )


def _result(answer: controller_pb2.TopicResult) -> DeletableTopicResult:
    return DeletableTopicResult(
        name=answer.name or None,
        topic_id=UUID(bytes=answer.topic_id) if answer.topic_id else ZERO_UUID,
        error_code=answer.error_code,
        error_message=answer.error_message or None,
    )


def _refusal(asked: DeleteTopicState, code: KafkaCode, message: str) -> DeletableTopicResult:
    return DeletableTopicResult(name=asked.name, topic_id=asked.topic_id, error_code=code, error_message=message)
