"""Every row of the two tables of states: what may follow what, and what is refused."""

import pytest

from tests.support.controller_driver import Driven, ModelCluster, tp
from tidelog.controller.core import partition_states, replica_states
from tidelog.controller.core.effects import Effect, Note, Send, What
from tidelog.controller.core.requests import LeaderAndIsr, StopReplica
from tidelog.controller.core.states import PARTITION_PREVIOUS, REPLICA_PREVIOUS, PartitionStatus, ReplicaStatus
from tidelog.controller.core.zk_requests import Task

P, R = PartitionStatus, ReplicaStatus

PARTITION_TABLE = {
    P.NON_EXISTENT: {P.OFFLINE},
    P.NEW: {P.NON_EXISTENT},
    P.ONLINE: {P.NEW, P.ONLINE, P.OFFLINE},
    P.OFFLINE: {P.NEW, P.ONLINE, P.OFFLINE},
}
REPLICA_TABLE = {
    R.NEW: {R.NON_EXISTENT},
    R.ONLINE: {R.NEW, R.ONLINE, R.OFFLINE, R.DELETION_INELIGIBLE},
    R.OFFLINE: {R.NEW, R.ONLINE, R.OFFLINE, R.DELETION_INELIGIBLE},
    R.DELETION_STARTED: {R.OFFLINE},
    R.DELETION_SUCCESSFUL: {R.DELETION_STARTED},
    R.DELETION_INELIGIBLE: {R.OFFLINE, R.DELETION_STARTED},
    R.NON_EXISTENT: {R.DELETION_SUCCESSFUL},
}

T0 = tp("t")


@pytest.fixture
def driven() -> Driven:
    """Brokers 1 to 3, and a topic with one partition that 1 leads."""
    cluster = ModelCluster()
    for id in (1, 2, 3):
        cluster.start_broker(id)
    cluster.write_topic("t", {0: (1, 2, 3)})
    driven = cluster.controller()
    driven.run()
    return driven


def finish(driven: Driven, task: Task[object]) -> list[Effect]:
    """Run a task of the state machines by itself, and give what it wants done."""
    assert driven.core.machine is not None
    work = driven.core.machine.work
    answer = None
    try:
        while True:
            request = next(task) if answer is None else task.send(answer)
            answer = driven._execute(request)
    except StopIteration:
        effects, work.outbox = work.outbox, []
        return effects


def enter_partition(driven: Driven, status: PartitionStatus) -> list[Effect]:
    assert driven.core.machine is not None
    return finish(driven, partition_states.enter(driven.core.machine.work, [T0], status))


def enter_replica(driven: Driven, broker: int, status: ReplicaStatus) -> list[Effect]:
    assert driven.core.machine is not None
    return finish(driven, replica_states.enter(driven.core.machine.work, [(T0, broker)], status))


def sent(effects: list[Effect]) -> list[tuple[int, str]]:
    """To whom, and what: roles with new or old replicas, stops with or without deletion."""
    described = []
    for effect in effects:
        if isinstance(effect, Send) and isinstance(effect.request, LeaderAndIsr):
            described.append((effect.broker, "new" if effect.request.partitions[0].is_new else "roles"))
        elif isinstance(effect, Send) and isinstance(effect.request, StopReplica):
            described.append((effect.broker, "delete" if effect.request.partitions[0].delete else "stop"))
    return described


def refused(effects: list[Effect]) -> bool:
    return any(isinstance(effect, Note) and effect.what is What.INVALID_TRANSITION for effect in effects)


def test_the_tables_are_kafkas() -> None:
    assert PARTITION_PREVIOUS == PARTITION_TABLE
    assert REPLICA_PREVIOUS == REPLICA_TABLE


@pytest.mark.parametrize("target", PartitionStatus)
@pytest.mark.parametrize("current", PartitionStatus)
def test_partitions_change_as_the_table_allows(
    driven: Driven, current: PartitionStatus, target: PartitionStatus
) -> None:
    driven.context.partition_status[T0] = current
    effects = enter_partition(driven, target)
    allowed = current in PARTITION_TABLE[target]
    assert refused(effects) != allowed
    assert driven.context.status_of(T0) is (target if allowed else current)


@pytest.mark.parametrize("target", ReplicaStatus)
@pytest.mark.parametrize("current", ReplicaStatus)
def test_replicas_change_as_the_table_allows(driven: Driven, current: ReplicaStatus, target: ReplicaStatus) -> None:
    driven.context.replica_status[T0, 2] = current
    effects = enter_replica(driven, 2, target)
    allowed = current in REPLICA_TABLE[target]
    assert refused(effects) != allowed
    assert driven.context.replica_status_of(T0, 2) is (target if allowed else current)


def test_a_new_replica_is_created_by_its_broker(driven: Driven) -> None:
    del driven.context.replica_status[T0, 3]
    assert sent(enter_replica(driven, 3, R.NEW)) == [(3, "new")]


def test_a_leader_cannot_be_new(driven: Driven) -> None:
    del driven.context.replica_status[T0, 1]
    effects = enter_replica(driven, 1, R.NEW)
    assert refused(effects)
    assert driven.context.replica_status_of(T0, 1) is R.NON_EXISTENT


def test_a_new_replica_comes_online_silently_and_others_are_told_their_roles(driven: Driven) -> None:
    driven.context.replica_status[T0, 3] = R.NEW
    assert sent(enter_replica(driven, 3, R.ONLINE)) == []
    assert sent(enter_replica(driven, 3, R.ONLINE)) == [(3, "roles")]


def test_an_offline_replica_is_stopped_after_the_others_have_heard(driven: Driven) -> None:
    effects = enter_replica(driven, 3, R.OFFLINE)
    assert sent(effects) == [(1, "roles"), (2, "roles"), (3, "stop")]
    leadership = driven.context.leaderships[T0]
    assert (leadership.leader, leadership.isr, leadership.leader_epoch) == (1, (1, 2), 1)


def test_a_replica_that_is_not_in_sync_leaves_without_a_write(driven: Driven) -> None:
    enter_replica(driven, 3, R.OFFLINE)
    before = driven.context.leaderships[T0]
    enter_replica(driven, 3, R.OFFLINE)
    assert driven.context.leaderships[T0] == before


def test_deletion_tells_the_broker_once_and_ends_outside_the_assignment(driven: Driven) -> None:
    enter_replica(driven, 3, R.OFFLINE)
    assert sent(enter_replica(driven, 3, R.DELETION_STARTED)) == [(3, "delete")]
    assert sent(enter_replica(driven, 3, R.DELETION_SUCCESSFUL)) == []
    assert sent(enter_replica(driven, 3, R.NON_EXISTENT)) == []
    assert driven.context.replicas(T0) == (1, 2)


def test_bringing_a_partition_online_again_elects_with_a_higher_epoch(driven: Driven) -> None:
    effects = enter_partition(driven, P.ONLINE)
    assert sent(effects) == [(1, "roles"), (2, "roles"), (3, "roles")]
    assert driven.context.leaderships[T0].leader_epoch == 1


def test_a_new_partition_without_live_replicas_stays_new() -> None:
    cluster = ModelCluster()
    cluster.start_broker(1)
    cluster.write_topic("t", {0: (8, 9)})
    driven = cluster.controller()
    driven.run()
    assert driven.context.status_of(T0) is P.NEW
    assert T0 not in driven.context.leaderships
