"""The end of a topic.

A topic is *queued* once /admin/delete_topics names it: from then on it is told with the leader -2, and nothing may be
changed about it. Its deletion is *started* by stopping all replicas and asking their brokers to delete them. It is
*ineligible* while a broker with a replica is away, a broker failed to delete, or a partition is being reassigned; the
broker's return or the reassignment's end makes it eligible again. When every replica is deleted the znodes go.
"""

from collections.abc import Iterable

from tidelog.controller.core import partition_states, replica_states, store
from tidelog.controller.core import zk_requests as zk
from tidelog.controller.core.context import Replica
from tidelog.controller.core.effects import Unwatch, What
from tidelog.controller.core.states import PartitionStatus, ReplicaStatus
from tidelog.controller.core.work import Work
from tidelog.controller.core.zk_requests import Task
from tidelog.kafka.types import TopicName
from tidelog.zk.operations import Delete
from tidelog.zk.znodes import DELETE_TOPICS, DeleteTopicZnode, TopicZnode


def on_deletions_wanted(work: Work) -> Task[None]:
    """/admin/delete_topics has changed: queue what it names, and remove what cannot be meant."""
    wanted = yield from read_wanted(work)
    context = work.context
    reassigned = {topic for topic in wanted if context.is_being_reassigned(topic)}
    context.topics_to_delete |= wanted
    mark_ineligible(work, reassigned, "it is being reassigned")
    if wanted:
        yield from resume(work)


def read_wanted(work: Work) -> Task[set[TopicName]]:
    """The topics to delete. Wishes about unknown topics, and all of them if deletion is off, are removed."""
    names = yield from zk.children(DELETE_TOPICS)
    topics = {TopicName(name) for name in names}
    wanted = topics & work.context.topics if work.settings.delete_topic_enable else set()
    yield from zk.write(Delete(DeleteTopicZnode.path(topic)) for topic in sorted(topics - wanted))
    return wanted


def mark_ineligible(work: Work, topics: Iterable[TopicName], why: str) -> None:
    for topic in sorted(work.context.topics_to_delete.intersection(topics)):
        work.context.topics_ineligible.add(topic)
        work.note(What.TOPIC_DELETION_INELIGIBLE, topic, why)


def resume_for(work: Work, topics: Iterable[TopicName]) -> Task[None]:
    """What held up the deletion of these topics is over."""
    work.context.topics_ineligible.difference_update(topics)
    yield from resume(work)


def resume(work: Work) -> Task[None]:
    """Finish, retry or start the deletions that are due."""
    for topic in sorted(work.context.topics_to_delete):
        statuses = work.context.replica_statuses(topic)
        if all(status is ReplicaStatus.DELETION_SUCCESSFUL for status in statuses.values()):
            yield from _complete(work, topic)
        elif ReplicaStatus.DELETION_STARTED not in statuses.values():
            failed = [each for each, status in statuses.items() if status is ReplicaStatus.DELETION_INELIGIBLE]
            yield from replica_states.enter(work, failed, ReplicaStatus.OFFLINE)
            if topic not in work.context.topics_ineligible:
                yield from _start(work, topic)


def on_replicas_deleted(work: Work, replicas: Iterable[Replica]) -> Task[None]:
    deleted = _of_queued_topics(work, replicas)
    if deleted:
        yield from replica_states.enter(work, deleted, ReplicaStatus.DELETION_SUCCESSFUL)
        yield from resume(work)


def on_replicas_not_deleted(work: Work, replicas: Iterable[Replica], why: str) -> Task[None]:
    failed = _of_queued_topics(work, replicas)
    if failed:
        yield from replica_states.enter(work, failed, ReplicaStatus.DELETION_INELIGIBLE)
        mark_ineligible(work, {partition.topic for partition, _ in failed}, why)
        yield from resume(work)


def _of_queued_topics(work: Work, replicas: Iterable[Replica]) -> list[Replica]:
    return [replica for replica in replicas if work.context.is_deleting(replica[0].topic)]


def _start(work: Work, topic: TopicName) -> Task[None]:
    context = work.context
    partitions = context.partitions_of(topic)
    if topic not in context.deletions_started:
        yield from partition_states.enter(work, partitions, PartitionStatus.OFFLINE)
        yield from partition_states.enter(work, partitions, PartitionStatus.NON_EXISTENT)
        context.deletions_started.add(topic)
        work.note(What.TOPIC_DELETION_STARTED, topic)
    work.batch.add_metadata(partitions)
    work.send()
    yield from _delete_replicas(work, topic)


def _delete_replicas(work: Work, topic: TopicName) -> Task[None]:
    statuses = work.context.replica_statuses(topic)
    dead = [replica for replica in statuses if not work.context.is_live(replica[1], replica[0])]
    left = [
        replica
        for replica, status in statuses.items()
        if replica not in dead and status is not ReplicaStatus.DELETION_SUCCESSFUL
    ]
    yield from replica_states.enter(work, dead, ReplicaStatus.DELETION_INELIGIBLE)
    # Stopped first, so that no follower fetches from a leader that is gone; then deleted.
    yield from replica_states.enter(work, left, ReplicaStatus.OFFLINE)
    yield from replica_states.enter(work, left, ReplicaStatus.DELETION_STARTED)
    if dead:
        mark_ineligible(work, (topic,), f"brokers {sorted({id for _, id in dead})} are away")


def _complete(work: Work, topic: TopicName) -> Task[None]:
    replicas = work.context.replica_statuses(topic)
    yield from replica_states.enter(work, replicas, ReplicaStatus.NON_EXISTENT)
    work.outbox.append(Unwatch(TopicZnode.path(topic)))
    yield from store.delete_topics((topic,))
    work.context.forget_topic(topic)
    work.note(What.TOPIC_DELETED, topic)
