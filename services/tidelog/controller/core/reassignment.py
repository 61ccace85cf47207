"""One partition's way from its replicas to others.

    U  The topic znode names target and origin together, so that any controller can go on from here. Replicas that an
       earlier reassignment was adding, and that this one does not want, are stopped and deleted.
    A  While the target is not in sync: the leader epoch is raised and all replicas are told; the new ones start.
    B  Once the target is in sync: the new replicas are ONLINE; only the target counts; a leader outside of it is
       replaced; the others leave the ISR, are stopped and deleted; and last the topic znode names the target alone.

The ISR may hold more than the target when B begins. The topic znode comes last in B because it is the only lasting copy of
the origin: a controller that dies on the way leaves everything that the next one needs to do B again.
"""

from collections.abc import Callable, Iterable

from tidelog.controller.core import deletion, legacy_reassignments, partition_states, replica_states, store
from tidelog.controller.core.assignment import Assignment
from tidelog.controller.core.effects import Unwatch, Watch, WatchKind, What
from tidelog.controller.core.elections import Strategy
from tidelog.controller.core.state_changes import bump_epoch
from tidelog.controller.core.states import PartitionStatus, ReplicaStatus
from tidelog.controller.core.store import StoredTopic
from tidelog.controller.core.work import Work
from tidelog.controller.core.zk_requests import Task
from tidelog.kafka.types import TopicPartition
from tidelog.zk.znodes import PartitionStateZnode


def reassign(work: Work, partition: TopicPartition, wanted: Assignment) -> Task[None]:
    """Go as far towards this assignment as can be gone now; called again whenever that may have changed."""
    deletion.mark_ineligible(work, (partition.topic,), "it is being reassigned")
    yield from _record(work, partition, wanted)
    if (yield from _is_complete(work, partition, wanted)):
        yield from _complete(work, partition, wanted)
    else:
        yield from _tell_all(work, partition, wanted)
        _note_step(work, partition, "waiting", f"until {list(wanted.target)} are in sync")
        new = [id for id in wanted.adding if _is_unknown(work, partition, id)]
        yield from replica_states.enter(work, _replicas(partition, new), ReplicaStatus.NEW)


def resume_where(work: Work, concerns: Callable[[Assignment], bool]) -> Task[None]:
    """Go on with the reassignments whose assignment is concerned."""
    for partition in sorted(work.context.reassigning):
        assignment = work.context.assignment(partition)
        if assignment is not None and concerns(assignment):
            yield from reassign(work, partition, assignment)


def complete_where_in_sync(work: Work, partitions: Iterable[TopicPartition]) -> Task[None]:
    """ISRs have changed: finish the reassignments that waited for it."""
    for partition in sorted(work.context.reassigning.intersection(partitions)):
        assignment = work.context.assignment(partition)
        if assignment is not None and (yield from _is_complete(work, partition, assignment)):
            yield from reassign(work, partition, assignment)


def _is_unknown(work: Work, partition: TopicPartition, broker: int) -> bool:
    return work.context.replica_status_of(partition, broker) is ReplicaStatus.NON_EXISTENT


def _replicas(partition: TopicPartition, brokers: Iterable[int]) -> list[tuple[TopicPartition, int]]:
    return [(partition, broker) for broker in brokers]


def _record(work: Work, partition: TopicPartition, wanted: Assignment) -> Task[None]:
    current = work.context.assignment(partition)
    assert current is not None, f"{partition} is known"
    if current != wanted:
        yield from _write(work, partition, wanted)
        work.context.assign(partition, wanted)
        yield from _drop(work, partition, [id for id in current.replicas if id not in wanted.replicas])
        why = f"{list(current.origin)} to {list(wanted.target)}"
        work.note(What.REASSIGNMENT_STARTED, partition, why)
    if partition not in work.context.reassigning:
        work.context.reassigning.add(partition)
        # Leaders announce changes of the ISR in batches, seconds later; the watch tells at once.
        work.outbox.append(Watch(PartitionStateZnode.path(partition), WatchKind.DATA))


def _is_complete(work: Work, partition: TopicPartition, wanted: Assignment) -> Task[bool]:
    if not wanted.is_reassigned:
        return True
    found = yield from store.read_states(work, (partition,))
    work.context.leaderships.update(found)
    return partition in found and set(wanted.target) <= set(found[partition].isr)


def _tell_all(work: Work, partition: TopicPartition, assignment: Assignment) -> Task[None]:
    """A higher epoch to every replica. Only those being added may be created: an old one may be on a failed disk."""
    if (yield from bump_epoch(work, partition)):
        work.batch.add_leader_and_isr(assignment.origin, partition, is_new=False)
        work.batch.add_leader_and_isr(assignment.adding, partition, is_new=True)
    work.send()


def _complete(work: Work, partition: TopicPartition, wanted: Assignment) -> Task[None]:
    context, target = work.context, Assignment(wanted.target)
    if wanted.is_reassigned:
        _note_step(work, partition, "in sync", f"{list(wanted.target)} are, so one of them leads")
    yield from replica_states.enter(work, _replicas(partition, wanted.adding), ReplicaStatus.ONLINE)
    context.assign(partition, target)
    yield from _lead_from_target(work, partition, target)
    yield from _drop(work, partition, wanted.removing)
    if wanted.removing:
        _note_step(work, partition, "removed", f"{list(wanted.removing)} are stopped and deleted")
    yield from _write(work, partition, target)
    yield from legacy_reassignments.remove(work, lambda other, ids: other == partition and ids == target.replicas)
    context.reassigning.discard(partition)
    work.outbox.append(Unwatch(PartitionStateZnode.path(partition)))
    work.batch.add_metadata((partition,))
    work.send()
    work.note(What.REASSIGNMENT_COMPLETED, partition, f"on {list(target.replicas)}")
    if context.is_deleting(partition.topic) and not context.is_being_reassigned(partition.topic):
        yield from deletion.resume_for(work, (partition.topic,))


def _note_step(work: Work, partition: TopicPartition, step: str, why: str) -> None:
    work.note(What.REASSIGNMENT_STEP, partition, f"{step}: {why}", step)


def _lead_from_target(work: Work, partition: TopicPartition, target: Assignment) -> Task[None]:
    leadership = work.context.leaderships.get(partition)
    leader = leadership.leader if leadership else None
    if leader in target.replicas and leader is not None and work.context.is_live(leader, partition):
        yield from _tell_all(work, partition, target)
    else:
        yield from partition_states.enter(work, (partition,), PartitionStatus.ONLINE, Strategy.REASSIGN)


def _drop(work: Work, partition: TopicPartition, brokers: Iterable[int]) -> Task[None]:
    """Stop and delete these replicas, without waiting for their brokers: whoever is away finds out when it returns."""
    replicas = _replicas(partition, brokers)
    for status in (
        ReplicaStatus.OFFLINE,
        ReplicaStatus.DELETION_STARTED,
        ReplicaStatus.DELETION_SUCCESSFUL,
        ReplicaStatus.NON_EXISTENT,
    ):
        yield from replica_states.enter(work, replicas, status)


def _write(work: Work, partition: TopicPartition, assignment: Assignment) -> Task[None]:
    topic = partition.topic
    whole = {**work.context.assignments[topic], partition.partition: assignment}
    yield from store.write_topics({topic: StoredTopic(work.context.topic_ids[topic], whole)})
