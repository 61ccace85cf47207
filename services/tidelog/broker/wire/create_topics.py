"""CreateTopics (19), served in versions 0 to 7.

- v0: topics with counts or assignments, and configs.  v1: messages beside errors, and validate_only.  v2: throttle time.
- v3: the same.  v4: -1 asks for the cluster's defaults.  v5: flexible; answers tell counts and configs.
- v6: quotas may refuse.  v7: topic ids.

Any broker passes the request on to the active controller, and answers once it has heard of a leader for every partition.
A client with a quota of changes has the request checked by the controller first: what is refused anyway costs nothing.
The broker counts by itself, but clients go to the one that is told to be the controller.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from tidelog.broker.core.config_entries import topic_entries
from tidelog.broker.wire.remaining_time import RemainingTime
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.messages.create_topics import (
    CREATE_TOPICS,
    CreatableTopic,
    CreatableTopicResult,
    CreatedTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi
from tidelog.rpc import controller_pb2

if TYPE_CHECKING:
    from tidelog.broker.core.live_config import LiveConfig
    from tidelog.broker.shell.client_throttling import ClientThrottling, MutationCharge
    from tidelog.kafka.cluster import ClusterView
    from tidelog.runtime.controller_client import ControllerClient

_QUOTAS_REFUSE_FROM = 6


def served(controller: ControllerClient, live: LiveConfig, throttling: ClientThrottling) -> ServedApi:
    return ServedApi(CREATE_TOPICS, parse_versions("0-7"), partial(_answer, controller, live, throttling))


async def _answer(
    controller: ControllerClient,
    live: LiveConfig,
    throttling: ClientThrottling,
    context: RequestContext,
    request: CreateTopicsRequest,
) -> CreateTopicsResponse:
    time = RemainingTime(request.timeout_ms)
    results = _refused_here(request.topics)
    wanted = [topic for topic in request.topics if topic.name not in results]
    charge = throttling.mutations(context, _QUOTAS_REFUSE_FROM)
    if charge is not None and wanted and not request.validate_only:
        results |= await _refused_by_quota(controller, charge, wanted, request, time)
        wanted = [topic for topic in wanted if topic.name not in results]
    if wanted:
        results |= await _created(controller, wanted, request, time)
    for topic in wanted:
        if (result := results.get(topic.name)) is not None and result.error_code == KafkaCode.NONE:
            result.configs = _configs(live, topic)
    throttle_ms = 0 if charge is None else charge.throttle_time_ms
    return CreateTopicsResponse(topics=list(results.values()), throttle_time_ms=throttle_ms)


async def _refused_by_quota(
    controller: ControllerClient,
    charge: MutationCharge,
    topics: list[CreatableTopic],
    request: CreateTopicsRequest,
    time: RemainingTime,
) -> dict[str, CreatableTopicResult]:
    """What the quota does not allow, and what the controller would not do anyway."""
    trial = CreateTopicsRequest(topics=topics, timeout_ms=request.timeout_ms, validate_only=True)
    refused = {}
    for name, result in (await _created(controller, topics, trial, time)).items():
        try:
            if result.error_code == KafkaCode.NONE:
                charge.admit(result.num_partitions)
                continue
        except KafkaError as refusal:
            result = _refusal(name, refusal.code, refusal.message)
        refused[name] = result
    return refused


def _configs(live: LiveConfig, topic: CreatableTopic) -> list[CreatedTopicConfig]:
    """What the topic was created with, and what holds for the rest."""
    given = {config.name: config.value or "" for config in topic.configs}
    return [
        CreatedTopicConfig(
            name=entry.name,
            value=entry.value,
            read_only=entry.read_only,
            config_source=entry.source,
            is_sensitive=entry.sensitive,
        )
        for entry in topic_entries(live, given)
    ]


def _refused_here(topics: list[CreatableTopic]) -> dict[str, CreatableTopicResult]:
    """What cannot be passed on: a name that stands twice, and a config without a value."""
    counts = Counter(topic.name for topic in topics)
    refused = {
        name: _refusal(name, KafkaCode.INVALID_REQUEST, "The topic stands twice in the request.")
        for name, count in counts.items()
        if count > 1
    }
    for topic in topics:
        null = [config.name for config in topic.configs if config.value is None]
        if null and topic.name not in refused:
            message = f"A topic's config must have a value: {', '.join(null)}."
            refused[topic.name] = _refusal(topic.name, KafkaCode.INVALID_CONFIG, message)
    return refused


async def _created(
    controller: ControllerClient, topics: list[CreatableTopic], request: CreateTopicsRequest, time: RemainingTime
) -> dict[str, CreatableTopicResult]:
    try:
        answer = await controller.call("CreateTopics", _to_rpc(topics, request), time.ms)
    except KafkaError as refusal:
        return {topic.name: _refusal(topic.name, refusal.code, refusal.message) for topic in topics}
    results = {one.name: _result(one) for one in answer.topics}
    made = {name: one.num_partitions for name, one in results.items() if one.error_code == KafkaCode.NONE}
    if made and not request.validate_only:
        await controller.mirror.until(lambda view: all(_led(view, *one) for one in made.items()), time.ms)
        for name in made:
            if request.timeout_ms <= 0 or not _led(controller.mirror.view, name, made[name]):
                results[name] = _refusal(name, KafkaCode.REQUEST_TIMED_OUT, "The topic is being created.")
    return results


def _led(view: ClusterView, name: str, partitions: int) -> bool:
    """Whether every partition has a leader, as far as this broker knows."""
    topic = view.topics.get(name)
    return (
        topic is not None
        and len(topic.partitions) >= partitions
        and all(partition.leader >= 0 for partition in topic.partitions.values())
    )


def _to_rpc(topics: list[CreatableTopic], request: CreateTopicsRequest) -> controller_pb2.CreateTopicsRequest:
    return controller_pb2.CreateTopicsRequest(
        topics=[
            controller_pb2.NewTopic(
                name=topic.name,
                partitions=topic.num_partitions,
                replication_factor=topic.replication_factor,
                assignments=[
                    controller_pb2.ReplicaAssignment(partition=one.partition_index, replicas=one.broker_ids)
                    for one in topic.assignments
                ],
                configs={config.name: config.value or "" for config in topic.configs},
            )
            for topic in topics
        ],
        timeout_ms=request.timeout_ms,
        validate_only=request.validate_only,
    )


def _result(answer: controller_pb2.TopicResult) -> CreatableTopicResult:
    if answer.error_code != KafkaCode.NONE:
        return _refusal(answer.name, KafkaCode(answer.error_code), answer.error_message)
    return CreatableTopicResult(
        name=answer.name,
        topic_id=UUID(bytes=answer.topic_id) if answer.topic_id else UUID(int=0),
        num_partitions=answer.partitions,
        replication_factor=answer.replication_factor,
    )


def _refusal(name: str, code: KafkaCode, message: str) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=code, error_message=message, configs=None)
