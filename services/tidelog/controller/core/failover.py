"""What a controller does first: learn everything, tell who is there, put the state machines in motion.

The order matters. Watches come before reading, so that no change falls in between. Brokers hear of each other before they
hear of leaders among them. Dead replicas leave the ISRs before partitions look for leaders. Reassignments go on before
deletions, which they hold up.
"""

from collections.abc import Iterable

from tidelog.controller.core import (
    brokers,
    deletion,
    partition_states,
    preferred,
    reassignment,
    reassignment_requests,
    replica_states,
    shards,
    store,
    topics,
)
from tidelog.controller.core import zk_requests as zk
from tidelog.controller.core.effects import Tell, Watch, WatchKind, What
from tidelog.controller.core.states import PartitionStatus, ReplicaStatus
from tidelog.controller.core.work import Work
from tidelog.controller.core.zk_requests import Found, Task
from tidelog.zk.operations import Delete
from tidelog.zk.znodes import (
    BROKER_IDS,
    CONFIG_CHANGES,
    DELETE_TOPICS,
    ISR_CHANGES,
    LOG_DIR_EVENTS,
    TOPICS,
    MalformedZnode,
    PartitionStateZnode,
    PreferredElectionZnode,
    ReassignPartitionsZnode,
    decode_registration,
)

WATCHED_CHILDREN = (TOPICS, DELETE_TOPICS, LOG_DIR_EVENTS, ISR_CHANGES, CONFIG_CHANGES)
WATCHED_NODES = (PreferredElectionZnode.PATH, ReassignPartitionsZnode.PATH)


def knows_all_brokers(known: Iterable[int]) -> Task[bool]:
    """Whether the registrations that were followed are those that are there now.

    A controller that begins with too few brokers would take the others out of every ISR.
    """
    names = yield from zk.children(BROKER_IDS)
    known, registered = set(known), {int(name) for name in names if name.isdecimal()}
    unknown = sorted(registered - known)
    found = yield from zk.read(f"{BROKER_IDS}/{id}" for id in unknown)
    return known <= registered and not any(node is not None and _is_registration(node) for node in found)


def _is_registration(node: Found) -> bool:
    try:
        decode_registration(node.data)
    except MalformedZnode:
        return False
    return True


def take_over(work: Work) -> Task[None]:
    """With brokers and coordinators in memory already, and senders to them open."""
    work.outbox += [Watch(path, WatchKind.CHILDREN) for path in WATCHED_CHILDREN]
    work.outbox += [Watch(path, WatchKind.DATA) for path in WATCHED_NODES]
    yield from _drop_notifications()
    yield from _load(work)
    yield from _queue_deletions(work)
    work.batch.add_metadata()
    work.send()
    yield from _start_replicas(work)
    yield from _start_partitions(work)
    started = yield from reassignment_requests.on_legacy_reassignments(work)
    for partition in sorted(work.context.reassigning - started):
        yield from reassignment.reassign(
            work, partition, work.context.assignments[partition.topic][partition.partition]
        )
    yield from deletion.resume(work)
    yield from preferred.on_legacy_elections(work)
    yield from shards.place_where_needed(work)
    # Whoever remembers a topic that has gone since forgets it now.
    work.outbox.append(Tell(brokers.whole_update(work)))
    count = sum(1 for _ in work.context.partitions())
    work.note(
        What.FAILOVER, f"epoch {work.controller_epoch}", f"{len(work.context.assignments)} topics, {count} partitions"
    )


def _drop_notifications() -> Task[None]:
    """Everything is read anyway, and what comes later is announced anew."""
    for parent in (LOG_DIR_EVENTS, ISR_CHANGES):
        names = yield from zk.children(parent)
        yield from zk.write(Delete(f"{parent}/{name}") for name in names)


def _load(work: Work) -> Task[None]:
    names = yield from store.read_topic_names()
    stored = yield from store.read_topics(work, names)
    yield from topics.take_in(work, stored)
    context = work.context
    for partition in context.partitions():
        if context.assignments[partition.topic][partition.partition].is_reassigned:
            context.reassigning.add(partition)
            work.outbox.append(Watch(PartitionStateZnode.path(partition), WatchKind.DATA))
    states = yield from store.read_states(work, context.partitions())
    context.leaderships.update(states)
    yield from shards.load_shards(work)


def _queue_deletions(work: Work) -> Task[None]:
    context = work.context
    context.topics_to_delete |= yield from deletion.read_wanted(work)
    for topic in sorted(context.topics_to_delete):
        replicas = context.replicas_of(context.partitions_of(topic))
        if not all(context.is_live(broker, partition) for partition, broker in replicas):
            deletion.mark_ineligible(work, (topic,), "a replica is offline")
        elif context.is_being_reassigned(topic):
            deletion.mark_ineligible(work, (topic,), "it is being reassigned")


def _start_replicas(work: Work) -> Task[None]:
    """Replicas that are away start as ineligible, the one state from which every way is open."""
    context = work.context
    replicas = context.replicas_of(context.partitions())
    live = [replica for replica in replicas if context.is_live(replica[1], replica[0])]
    context.replica_status.update(dict.fromkeys(replicas, ReplicaStatus.DELETION_INELIGIBLE))
    context.replica_status.update(dict.fromkeys(live, ReplicaStatus.ONLINE))
    yield from replica_states.enter(work, live, ReplicaStatus.ONLINE)
    online = set(live)
    yield from replica_states.enter(work, [each for each in replicas if each not in online], ReplicaStatus.OFFLINE)


def _start_partitions(work: Work) -> Task[None]:
    context = work.context
    for partition in context.partitions():
        leadership = context.leaderships.get(partition)
        status = PartitionStatus.NEW
        if leadership is not None:
            is_led = context.is_live(leadership.leader, partition)
            status = PartitionStatus.ONLINE if is_led else PartitionStatus.OFFLINE
        context.partition_status[partition] = status
    yield from partition_states.elect_where_needed(work)
