"""Topics that appear and grow, through the API or by whoever writes their znodes."""

from collections.abc import Iterable, Mapping

from tidelog.controller.core import partition_states, replica_states, shards, store
from tidelog.controller.core import zk_requests as zk
from tidelog.controller.core.assignment import Assignment
from tidelog.controller.core.effects import Unwatch, Watch, WatchKind, What
from tidelog.controller.core.states import PartitionStatus, ReplicaStatus
from tidelog.controller.core.store import StoredTopic
from tidelog.controller.core.work import Work
from tidelog.controller.core.zk_requests import Task
from tidelog.kafka.types import PartitionIndex, TopicName, TopicPartition
from tidelog.zk.znodes import TopicPartitionsZnode, TopicZnode


def on_topics_changed(work: Work) -> Task[None]:
    """The children of /brokers/topics have changed."""
    names = yield from store.read_topic_names()
    for gone in sorted(work.context.topics - names):
        work.context.forget_topic(gone)
        work.outbox.append(Unwatch(TopicZnode.path(gone)))
    stored = yield from store.read_topics(work, names - work.context.topics)
    yield from on_new_topics(work, stored)


def on_new_topics(work: Work, stored: Mapping[TopicName, StoredTopic]) -> Task[None]:
    """Take these topics into memory and bring their partitions online."""
    if not stored:
        return
    yield from take_in(work, stored)
    for topic in sorted(stored):
        work.note(What.TOPIC_CREATED, topic, f"{len(stored[topic].partitions)} partitions")
    yield from on_new_partitions(work, [p for topic in sorted(stored) for p in work.context.partitions_of(topic)])


def take_in(work: Work, stored: Mapping[TopicName, StoredTopic]) -> Task[None]:
    """Memory of these topics, and watches on them. Topics without an id, from before Kafka 2.8, are given one."""
    named = {
        topic: each if each.topic_id is not None else StoredTopic(work.new_topic_id(), each.partitions)
        for topic, each in stored.items()
    }
    yield from store.write_topics({topic: named[topic] for topic, each in stored.items() if each.topic_id is None})
    for topic, each in sorted(named.items()):
        assert each.topic_id is not None, "every topic has an id by now"
        work.context.topic_ids[topic] = each.topic_id
        work.context.assignments[topic] = dict(each.partitions)
        work.outbox.append(Watch(TopicZnode.path(topic), WatchKind.DATA))


def on_new_partitions(work: Work, partitions: Iterable[TopicPartition]) -> Task[None]:
    partitions = list(partitions)
    replicas = work.context.replicas_of(partitions)
    yield from partition_states.enter(work, partitions, PartitionStatus.NEW)
    yield from replica_states.enter(work, replicas, ReplicaStatus.NEW)
    yield from partition_states.enter(work, partitions, PartitionStatus.ONLINE)
    yield from replica_states.enter(work, replicas, ReplicaStatus.ONLINE)
    yield from shards.place_where_needed(work)


def on_topics_written(work: Work, topics: Iterable[TopicName]) -> Task[None]:
    """The znodes of these topics have changed: new partitions are brought online. Nothing else is taken from there."""
    stored = yield from store.read_topics(work, work.context.topic_ids.keys() & set(topics))
    added: list[TopicPartition] = []
    for topic, each in stored.items():
        new = {index: one for index, one in each.partitions.items() if index not in work.context.assignments[topic]}
        if new and work.context.is_deleting(topic):
            yield from _restore(topic, StoredTopic(work.context.topic_ids[topic], each.partitions))
        elif new:
            added += _assign(work, topic, new)
    if added:
        yield from on_new_partitions(work, added)


def _assign(work: Work, topic: TopicName, assignments: Mapping[PartitionIndex, Assignment]) -> list[TopicPartition]:
    partitions = {TopicPartition(topic, index): one for index, one in sorted(assignments.items())}
    for partition, assignment in partitions.items():
        work.context.assign(partition, assignment)
    return list(partitions)


def _restore(topic: TopicName, stored: StoredTopic) -> Task[None]:
    """A topic on its way out does not grow: only the partitions that have nodes of their own stay."""
    existing = yield from zk.children(TopicPartitionsZnode.path(topic))
    kept = {index: one for index, one in stored.partitions.items() if str(index) in existing}
    yield from store.write_topics({topic: StoredTopic(stored.topic_id, kept)})


def grow(work: Work, topic: TopicName, assignments: Mapping[PartitionIndex, Assignment]) -> Task[None]:
    """Write the topic with these partitions added, and bring them online."""
    whole = {**work.context.assignments[topic], **assignments}
    yield from store.write_topics({topic: StoredTopic(work.context.topic_ids[topic], whole)})
    yield from on_new_partitions(work, _assign(work, topic, assignments))
