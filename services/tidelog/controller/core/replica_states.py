"""What happens when replicas enter a state. The table of which state may follow which is in `states`.

NEW                  the broker is told to create it, if the partition has a leader
ONLINE               from NEW: nothing but a place in the assignment; else the broker is told the partition's state
OFFLINE              the broker is told to stop it; it leaves the ISR; the other replicas are told of that
DELETION_STARTED     the broker is told to delete it
DELETION_SUCCESSFUL  nothing
DELETION_INELIGIBLE  nothing
NON_EXISTENT         it leaves the assignment in memory
"""

from collections.abc import Iterable
from dataclasses import replace

from tidelog.controller.core.context import Replica
from tidelog.controller.core.effects import What
from tidelog.controller.core.state_changes import at_once, change_states
from tidelog.controller.core.states import REPLICA_PREVIOUS, ReplicaStatus
from tidelog.controller.core.work import Work
from tidelog.controller.core.zk_requests import Task
from tidelog.kafka.types import TopicPartition


def enter(work: Work, replicas: Iterable[Replica], status: ReplicaStatus) -> Task[None]:
    """Change the state of these replicas and tell the brokers."""
    for broker, partitions in sorted(_by_broker(work, replicas, status).items()):
        if status is ReplicaStatus.OFFLINE:
            yield from _take_offline(work, broker, partitions)
        else:
            for partition in partitions:
                _enter_one(work, broker, partition, status)
    work.send()


def _by_broker(work: Work, replicas: Iterable[Replica], status: ReplicaStatus) -> dict[int, list[TopicPartition]]:
    grouped: dict[int, list[TopicPartition]] = {}
    for partition, broker in replicas:
        current = work.context.replica_status_of(partition, broker)
        if current in REPLICA_PREVIOUS[status]:
            grouped.setdefault(broker, []).append(partition)
        else:
            why = f"replica {broker} cannot become {status.name} from {current.name}"
            work.note(What.INVALID_TRANSITION, partition, why)
    return grouped


def _enter_one(work: Work, broker: int, partition: TopicPartition, status: ReplicaStatus) -> None:
    match status:
        case ReplicaStatus.NEW:
            if not _introduce(work, broker, partition):
                return
        case ReplicaStatus.ONLINE:
            _bring_online(work, broker, partition)
        case ReplicaStatus.DELETION_STARTED:
            work.batch.add_stop_replica(broker, partition, delete=True)
        case ReplicaStatus.NON_EXISTENT:
            _forget(work, broker, partition)
            return
    work.context.replica_status[partition, broker] = status


def _introduce(work: Work, broker: int, partition: TopicPartition) -> bool:
    leadership = work.context.leaderships.get(partition)
    if leadership is None:
        return True
    if leadership.leader == broker:
        work.note(What.INVALID_TRANSITION, partition, f"replica {broker} leads, so it cannot be new")
        return False
    work.batch.add_leader_and_isr((broker,), partition, is_new=True)
    return True


def _bring_online(work: Work, broker: int, partition: TopicPartition) -> None:
    context, assignment = work.context, work.context.assignment(partition)
    if context.replica_status_of(partition, broker) is ReplicaStatus.NEW:
        if assignment is not None and broker not in assignment.replicas:
            context.assign(partition, replace(assignment, replicas=(*assignment.replicas, broker)))
    elif partition in context.leaderships:
        work.batch.add_leader_and_isr((broker,), partition, is_new=False)


def _forget(work: Work, broker: int, partition: TopicPartition) -> None:
    assignment = work.context.assignment(partition)
    if assignment is not None:
        work.context.assign(partition, assignment.without(broker))
    work.context.replica_status.pop((partition, broker), None)


def _take_offline(work: Work, broker: int, partitions: list[TopicPartition]) -> Task[None]:
    context = work.context
    for partition in partitions:
        work.batch.add_stop_replica(broker, partition, delete=False)
    led = [partition for partition in partitions if partition in context.leaderships]
    yield from _leave_isr(work, broker, led)
    for partition in partitions:
        context.replica_status[partition, broker] = ReplicaStatus.OFFLINE
        if partition not in context.leaderships:
            work.batch.add_metadata((partition,))
        elif not context.is_deleting(partition.topic):
            others = [id for id in context.replicas(partition) if id != broker]
            work.batch.add_leader_and_isr(others, partition, is_new=False)


def _leave_isr(work: Work, broker: int, partitions: list[TopicPartition]) -> Task[None]:
    """A replica that is not in the ISR has nothing to leave: no write, and the epoch stays."""
    decide = at_once(lambda _, state: state.without(broker) if broker in state.isr else None)
    changed = yield from change_states(work, partitions, decide)
    for partition, state in changed.written.items():
        why = f"without replica {broker}: leader {state.leader} epoch {state.leader_epoch} isr {list(state.isr)}"
        work.note(What.ISR_SHRUNK, partition, why, _cause(work, broker, partition))


def _cause(work: Work, broker: int, partition: TopicPartition) -> str:
    """Why the controller takes a replica that it does not know to lag out of the in-sync set."""
    context = work.context
    if broker not in context.replicas(partition):
        return "reassigned"
    if broker in context.shutting_down:
        return "shutting down"
    return "log directory failed" if broker in context.brokers else "broker is gone"
