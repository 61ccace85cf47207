"""Brokers that come, go, restart, lose a log directory or are about to stop."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tidelog.controller.core import deletion, partition_states, reassignment, replica_states
from tidelog.controller.core import zk_requests as zk
from tidelog.controller.core.active import compare
from tidelog.controller.core.answers import ShutdownAnswered
from tidelog.controller.core.context import Replica
from tidelog.controller.core.effects import TellOne, What
from tidelog.controller.core.elections import Strategy
from tidelog.controller.core.states import PartitionStatus, ReplicaStatus
from tidelog.controller.core.views import topic_views
from tidelog.controller.core.work import Work
from tidelog.controller.core.zk_requests import Task
from tidelog.kafka.cluster import Member, MetadataUpdate, Role
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import TopicPartition
from tidelog.zk.operations import Delete
from tidelog.zk.znodes import LOG_DIR_EVENTS, LogDirEventZnode, MalformedZnode


def on_brokers_changed(work: Work, members: Mapping[int, Member]) -> Task[None]:
    """Compare with who was there: the new ones first, then those that restarted, the dead last."""
    context = work.context
    change = compare(context.brokers, members)
    context.brokers.update((member.id, member) for member in (*change.new, *change.moved))
    # One that moved gets a fresh sender, which knows nothing of what the old one had still to say.
    yield from _on_started(work, [*change.new, *change.moved])
    bounced = [member.id for member in change.bounced]
    for id in bounced:
        del context.brokers[id]
    yield from _on_failed(work, bounced, "restarted")
    context.brokers.update((member.id, member) for member in change.bounced)
    yield from _on_started(work, change.bounced)
    for id in change.gone:
        del context.brokers[id]
    yield from _on_failed(work, change.gone, "is gone")


def whole_update(work: Work) -> MetadataUpdate:
    """Everything there is to tell."""
    topics = topic_views(work.context, work.context.partitions_with_leaders())
    shards = tuple(work.context.shards.values())
    return replace(work.base_update(), topics=topics, topics_complete=True, shards=shards)


def _on_started(work: Work, members: Iterable[Member]) -> Task[None]:
    members = list(members)
    if not members:
        return
    context = work.context
    for member in members:
        work.note(What.BROKER_STARTED, member.id, f"epoch {member.epoch}")
    work.batch.add_metadata()
    work.send()
    # The whole picture comes before its own replicas: a follower must know where its leader is.
    update = whole_update(work)
    work.outbox += [TellOne(Role.BROKER, member.id, member.epoch, update) for member in members]
    ids = {member.id for member in members}
    replicas = [replica for id in sorted(ids) for replica in context.replicas_on(id)]
    yield from replica_states.enter(work, replicas, ReplicaStatus.ONLINE)
    yield from partition_states.elect_where_needed(work)
    yield from reassignment.resume_where(work, lambda assignment: not ids.isdisjoint(assignment.target))
    doomed = {partition.topic for partition, _ in replicas if context.is_deleting(partition.topic)}
    if doomed:
        yield from deletion.resume_for(work, doomed)


def _on_failed(work: Work, brokers: Iterable[int], why: str) -> Task[None]:
    brokers = list(brokers)
    if not brokers:
        return
    for id in brokers:
        work.context.offline_dirs.pop(id, None)
        work.context.shutting_down.discard(id)
        work.note(What.BROKER_FAILED, id, why, why)
    replicas = [replica for id in brokers for replica in work.context.replicas_on(id)]
    yield from on_replicas_offline(work, replicas)


def on_replicas_offline(work: Work, replicas: list[Replica]) -> Task[None]:
    """Find new leaders first, since clients wait for those; then take the dead out of the ISRs."""
    context = work.context
    leaderless = context.partitions_with_dead_leaders()
    yield from partition_states.enter(work, leaderless, PartitionStatus.OFFLINE)
    yield from partition_states.elect_where_needed(work)
    kept = [replica for replica in replicas if not context.is_deleting(replica[0].topic)]
    yield from replica_states.enter(work, kept, ReplicaStatus.OFFLINE)
    doomed = [replica for replica in replicas if context.is_deleting(replica[0].topic)]
    yield from deletion.on_replicas_not_deleted(work, doomed, "a replica is offline")
    if not leaderless:
        work.batch.add_metadata()
        work.send()


def on_log_dir_events(work: Work) -> Task[None]:
    """Brokers lost a log directory: each is told all its partitions again, and its answer says which it cannot serve."""
    names = yield from zk.children(LOG_DIR_EVENTS)
    paths = [f"{LOG_DIR_EVENTS}/{name}" for name in names]
    found = yield from zk.read(paths)
    brokers = sorted({id for node in found if node and (id := _failed_at(work, node)) is not None})
    replicas = [replica for id in brokers for replica in work.context.replicas_on(id)]
    yield from replica_states.enter(work, replicas, ReplicaStatus.ONLINE)
    yield from zk.write(map(Delete, paths))


def _failed_at(work: Work, node: zk.Found) -> int | None:
    try:
        return LogDirEventZnode.decode(node.data)
    except MalformedZnode as error:
        work.note(What.MALFORMED_ZNODE, LOG_DIR_EVENTS, str(error))
        return None


def on_leader_and_isr_answered(work: Work, broker: int, codes: Mapping[TopicPartition, KafkaCode]) -> Task[None]:
    """56 says that a replica's log directory is offline; 0 says that it is there, again."""
    offline = {p for p, code in codes.items() if code is KafkaCode.KAFKA_STORAGE_ERROR}
    online = {partition for partition, code in codes.items() if code is KafkaCode.NONE}
    before = work.context.offline_dirs.get(broker, set())
    after = (before - online) | offline
    if after == before:
        return
    work.context.offline_dirs[broker] = after
    failed = sorted(after - before)
    for partition in failed:
        work.note(What.REPLICA_OFFLINE, partition, f"a log directory of broker {broker} failed")
    if failed:
        yield from on_replicas_offline(work, [(partition, broker) for partition in failed])


def shut_down(work: Work, broker: int, broker_epoch: int) -> Task[ShutdownAnswered]:
    """Move what this broker leads to others and take it out of the ISRs, before it stops."""
    context = work.context
    _check_may_shut_down(work, broker, broker_epoch)
    context.shutting_down.add(broker)
    work.note(What.BROKER_SHUTTING_DOWN, broker)
    shared = [p for p in _shared_partitions(work, broker) if not context.is_deleting(p.topic)]
    led = {partition: None for partition in shared if context.leaderships[partition].leader == broker}
    yield from partition_states.enter(work, led, PartitionStatus.ONLINE, Strategy.CONTROLLED_SHUTDOWN)
    followed = [partition for partition in shared if partition not in led]
    for partition in followed:
        work.batch.add_stop_replica(broker, partition, delete=False)
    work.send()
    yield from replica_states.enter(work, [(partition, broker) for partition in followed], ReplicaStatus.OFFLINE)
    remaining = [p for p in _shared_partitions(work, broker) if context.leaderships[p].leader == broker]
    return ShutdownAnswered(tuple(p for p in remaining if not context.is_deleting(p.topic)))


def _shared_partitions(work: Work, broker: int) -> list[TopicPartition]:
    """Partitions of this broker that have a state and replicas elsewhere."""
    partitions = work.context.partitions_on(broker)
    return [p for p in partitions if p in work.context.leaderships and len(work.context.replicas(p)) > 1]


def _check_may_shut_down(work: Work, broker: int, broker_epoch: int) -> None:
    member = work.context.brokers.get(broker)
    if member is None:
        raise KafkaError(KafkaCode.BROKER_NOT_AVAILABLE, f"Broker {broker} is not registered.")
    if broker_epoch != -1 and broker_epoch < member.epoch:
        message = f"Broker epoch {broker_epoch} is older than {member.epoch}, which is registered."
        raise KafkaError(KafkaCode.STALE_BROKER_EPOCH, message)
