"""FindCoordinator (10), served in versions 0 to 5.

- v0: the broker that a group turns to.  v1: transactional ids too; throttle time, a message with errors.
- v2: throttled clients are answered at once.  v3: flexible.  v4: several keys.  v5: the same.

It is the broker that leads the shard of the key: the coordinators behind it are not for clients. The internal topics are
created when somebody first asks, and until a coordinator owns the shard the answer is error 15. Share groups (v6) are left
out.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tidelog.kafka.cluster import CONSUMER_OFFSETS, TRANSACTION_STATE
from tidelog.kafka.errors import PROPERTIES, KafkaCode, KafkaError
from tidelog.kafka.wire.messages.find_coordinator import (
    FIND_COORDINATOR,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    FoundCoordinator,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi

if TYPE_CHECKING:
    from tidelog.broker.core.coordinator_routing import CoordinatorRouting
    from tidelog.broker.wire.metadata import TopicCreation

_TOPICS = {0: CONSUMER_OFFSETS, 1: TRANSACTION_STATE}
_BATCHED_FROM = 4
_NONE = -1


def served(routing: CoordinatorRouting, creation: TopicCreation) -> ServedApi:
    return ServedApi(FIND_COORDINATOR, parse_versions("0-5"), partial(_answer, routing, creation))


def _answer(
    routing: CoordinatorRouting, creation: TopicCreation, context: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse:
    topic = _TOPICS.get(request.key_type)
    if topic is not None and topic not in routing.view.topics:
        creation.create([topic])
    keys = request.coordinator_keys if context.version >= _BATCHED_FROM else [request.key]
    found = [_found(routing, context.listener, topic, key) for key in keys]
    if context.version >= _BATCHED_FROM:
        return FindCoordinatorResponse(coordinators=found)
    (one,) = found
    return FindCoordinatorResponse(
        error_code=one.error_code, error_message=one.error_message, node_id=one.node_id, host=one.host, port=one.port
    )


def _found(routing: CoordinatorRouting, listener: str, topic: str | None, key: str) -> FoundCoordinator:
    try:
        return _coordinator(routing, listener, topic, key)
    except KafkaError as refusal:
        message = PROPERTIES[refusal.code].text
        return FoundCoordinator(key=key, node_id=_NONE, port=_NONE, error_code=refusal.code, error_message=message)


def _coordinator(routing: CoordinatorRouting, listener: str, topic: str | None, key: str) -> FoundCoordinator:
    if topic is None:
        raise KafkaError(KafkaCode.INVALID_REQUEST)
    name = key.encode("utf-8", "replace")
    leader = routing.leader(topic, name)
    endpoint = None if leader is None else routing.view.brokers[leader].endpoint(listener)
    if leader is None or endpoint is None:
        raise KafkaError(KafkaCode.COORDINATOR_NOT_AVAILABLE)
    # Asked for the refusal alone: whoever it is, its requests go to the leader.
    routing.owner(topic, name)
    return FoundCoordinator(key=key, node_id=leader, host=endpoint.host, port=endpoint.port)
