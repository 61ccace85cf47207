"""CreateTopics, CreatePartitions and DeleteTopics: each topic is carried out or refused on its own account."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from tidelog.controller.core import deletion, store, topics
from tidelog.controller.core import zk_requests as zk
from tidelog.controller.core.answers import TopicResult
from tidelog.controller.core.assignment import Assignment
from tidelog.controller.core.placement import place
from tidelog.controller.core.store import StoredTopic
from tidelog.controller.core.topic_checks import (
    DEFAULT,
    MorePartitions,
    NewTopic,
    Replicas,
    check_either,
    check_growth,
    check_new_topic,
    check_not_known,
    duplicates,
)
from tidelog.controller.core.work import Work
from tidelog.controller.core.zk_requests import Task
from tidelog.kafka.cluster import NO_LEADER
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import PartitionIndex, TopicId, TopicName
from tidelog.zk.operations import Create
from tidelog.zk.znodes import DeleteTopicZnode

Wanted = TypeVar("Wanted", NewTopic, MorePartitions)
Plan = TypeVar("Plan")
Results = tuple[TopicResult, ...]


def create_topics(work: Work, wanted: Iterable[NewTopic], *, validate_only: bool) -> Task[Results]:
    def planned(topic: NewTopic) -> StoredTopic:
        return StoredTopic(work.new_topic_id(), _numbered(plan_topic(work, topic)))

    wanted = tuple(wanted)
    plans, refusals = _planned(wanted, planned)
    if not validate_only:
        configs = {TopicName(topic.name): topic.configs for topic in wanted}
        stored = {TopicName(name): plan for name, plan in plans.items()}
        created = yield from store.create_topics(stored, configs)
        for name in stored.keys() - created:
            refusals[name] = _refusal(name, KafkaCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        yield from topics.on_new_topics(work, {name: stored[name] for name in sorted(created)})
    return tuple(refusals.get(topic.name) or _result(topic.name, plans[topic.name]) for topic in wanted)


def plan_topic(work: Work, topic: NewTopic) -> Replicas:
    """Where the replicas of a new topic go; raises what is wrong with it."""
    check_not_known(work.context, topic.name)
    check_either(topic)
    assignments = topic.assignments or _placed(work, topic)
    check_new_topic(work.context, topic, assignments)
    return assignments


def create_partitions(work: Work, wanted: Iterable[MorePartitions], *, validate_only: bool) -> Task[Results]:
    def planned(more: MorePartitions) -> Mapping[PartitionIndex, Assignment]:
        return _numbered(plan_growth(work, more))

    wanted = tuple(wanted)
    plans, refusals = _planned(wanted, planned)
    if not validate_only:
        for name, added in plans.items():
            yield from topics.grow(work, TopicName(name), added)
    return tuple(refusals.get(more.name) or TopicResult(more.name, partitions=more.total) for more in wanted)


def plan_growth(work: Work, more: MorePartitions) -> Replicas:
    """Where the replicas of added partitions go. Placement goes on where the topic's first partition began."""
    present = check_growth(work.context, more)
    if more.assignments is not None:
        return dict(enumerate(more.assignments, len(present)))
    brokers, first = _racks(work), present[PartitionIndex(0)].replicas
    start = next((at for at, id in enumerate(sorted(brokers)) if id >= first[0]), 0)
    increment = more.total - len(present)
    return place(brokers, increment, len(first), start=start, shift=start, first_partition=len(present))


def delete_topics(work: Work, wanted: Iterable[str | TopicId]) -> Task[Results]:
    results = [_deletable(work, reference) for reference in wanted]
    doomed = sorted({each.name for each in results if each.code is KafkaCode.NONE})
    # Whether the wish is new or was there already makes no difference.
    yield from zk.write(Create(DeleteTopicZnode.path(TopicName(name))) for name in doomed)
    if doomed:
        yield from deletion.on_deletions_wanted(work)
    return tuple(results)


def is_created(work: Work, topic: TopicName) -> bool:
    """Every partition has a leader."""
    leaderships = map(work.context.leaderships.get, work.context.partitions_of(topic))
    return all(leadership is not None and leadership.leader != NO_LEADER for leadership in leaderships)


def is_deleted(work: Work, topic: TopicName) -> bool:
    """Nobody is told of it any more; its data may still be on its way out."""
    return topic not in work.context.assignments or topic in work.context.deletions_started


def _planned(
    wanted: tuple[Wanted, ...], plan: Callable[[Wanted], Plan]
) -> tuple[dict[str, Plan], dict[str, TopicResult]]:
    plans: dict[str, Plan] = {}
    refusals: dict[str, TopicResult] = {}
    for name in duplicates(each.name for each in wanted):
        refusals[name] = _refusal(name, KafkaCode.INVALID_REQUEST, "Duplicate topic name.")
    for each in wanted:
        try:
            if each.name not in refusals:
                plans[each.name] = plan(each)
        except KafkaError as refusal:
            refusals[each.name] = _refusal(each.name, refusal.code, refusal.message)
    return plans, refusals


def _placed(work: Work, topic: NewTopic) -> Replicas:
    settings = work.settings
    partitions = settings.num_partitions if topic.partitions == DEFAULT else topic.partitions
    factor = settings.default_replication_factor if topic.replication_factor == DEFAULT else topic.replication_factor
    brokers = _racks(work)
    start, shift = (work.randomness.randrange(max(len(brokers), 1)) for _ in range(2))
    return place(brokers, partitions, factor, start=start, shift=shift)


def _racks(work: Work) -> dict[int, str | None]:
    return {id: member.rack for id, member in work.context.brokers.items()}


def _numbered(assignments: Replicas) -> dict[PartitionIndex, Assignment]:
    return {PartitionIndex(index): Assignment(tuple(replicas)) for index, replicas in sorted(assignments.items())}


def _result(name: str, stored: StoredTopic) -> TopicResult:
    factor = len(stored.partitions[PartitionIndex(0)].replicas)
    return TopicResult(name, topic_id=stored.topic_id, partitions=len(stored.partitions), replication_factor=factor)


def _refusal(name: str, code: KafkaCode, message: str) -> TopicResult:
    return TopicResult(name, code, message)


def _deletable(work: Work, reference: str | TopicId) -> TopicResult:
    if not work.settings.delete_topic_enable:
        name = reference if isinstance(reference, str) else ""
        return _refusal(name, KafkaCode.TOPIC_DELETION_DISABLED, "Topic deletion is disabled.")
    if isinstance(reference, str):
        topic_id = work.context.topic_ids.get(TopicName(reference))
        if topic_id is not None:
            return TopicResult(reference, topic_id=topic_id)
        return _refusal(reference, KafkaCode.UNKNOWN_TOPIC_OR_PARTITION, "This topic does not exist.")
    for name, topic_id in work.context.topic_ids.items():
        if topic_id == reference:
            return TopicResult(name, topic_id=topic_id)
    return TopicResult("", KafkaCode.UNKNOWN_TOPIC_ID, "No topic has this id.", topic_id=reference)
