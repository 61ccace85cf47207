"""Reassignment, step by step; its requests and refusals; and controllers that die on the way."""

import pytest

from tests.support.controller_driver import Driven, ModelCluster, tp
from tests.support.controller_scenes import ask, cluster_of, forget_effects, roles_sent, running, stops_sent
from tidelog.controller.core.answers import PartitionsAnswered, ReassignmentsAnswered
from tidelog.controller.core.assignment import Assignment
from tidelog.controller.core.effects import Unwatch, Watch, WatchKind, What
from tidelog.controller.core.events import DeleteTopicsRequested, ReassignmentsListRequested, ReassignmentsRequested
from tidelog.controller.core.states import ReplicaStatus
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.types import BrokerId, TopicPartition
from tidelog.zk.znodes import PartitionStateZnode, ReassignPartitionsZnode, ReplicaAssignment

T0 = tp("t")


@pytest.fixture
def cluster() -> ModelCluster:
    return cluster_of(1, 2, 3, 4, topics={"t": {0: (1, 2), 1: (2, 3)}})


def stored(cluster: ModelCluster, partition: TopicPartition = T0) -> ReplicaAssignment:
    return cluster.topic(partition.topic).partitions[partition.partition]


def assigned(
    replicas: tuple[int, ...], adding: tuple[int, ...] = (), removing: tuple[int, ...] = ()
) -> ReplicaAssignment:
    return ReplicaAssignment(
        tuple(map(BrokerId, replicas)), tuple(map(BrokerId, adding)), tuple(map(BrokerId, removing))
    )


def reassign(
    driven: Driven, target: tuple[int, ...] | None, partition: TopicPartition = T0, request: int = 1
) -> KafkaCode:
    answer = ask(driven, ReassignmentsRequested(request, {partition: target}))
    assert isinstance(answer, PartitionsAnswered)
    return answer.results[partition].code


def test_target_first_then_origin() -> None:
    wanted = Assignment((1, 2, 3)).reassigned_to((4, 2))
    assert wanted == Assignment((4, 2, 1, 3), adding=(4,), removing=(1, 3))
    assert (wanted.target, wanted.origin) == ((4, 2), (2, 1, 3))
    replaced = wanted.reassigned_to((5, 1))
    assert replaced == Assignment((5, 1, 2, 3), adding=(5,), removing=(2, 3))
    assert Assignment((1,)).reassigned_to((1,)) == Assignment((1,))


def test_phase_a_writes_bumps_tells_and_starts_the_new_replicas(cluster: ModelCluster) -> None:
    driven = running(cluster)
    forget_effects(driven)
    assert reassign(driven, (3, 4)) is KafkaCode.NONE
    assert stored(cluster) == assigned((3, 4, 1, 2), adding=(3, 4), removing=(1, 2))
    assert cluster.lead(T0) == (1, (1, 2), 1)
    told = {(broker, each.is_new, each.state.replicas) for broker, each in roles_sent(driven, T0)}
    whole = (3, 4, 1, 2)
    assert told == {(1, False, whole), (2, False, whole), (3, True, whole), (4, True, whole)}
    assert driven.context.replica_status_of(T0, 3) is ReplicaStatus.NEW
    assert [note.cause for note in driven.notes(What.REASSIGNMENT_STEP)] == ["waiting"]
    assert Watch(PartitionStateZnode.path(T0), WatchKind.DATA) in driven.effects
    assert stored(cluster, tp("t", 1)) == assigned((2, 3)), "other partitions keep what they have"


def test_it_waits_until_the_whole_target_is_in_sync(cluster: ModelCluster) -> None:
    driven = running(cluster)
    reassign(driven, (3, 4))
    cluster.write_isr(T0, 1, 2, 3)
    driven.run()
    assert stored(cluster).adding == (3, 4)
    assert cluster.lead(T0) == (1, (1, 2, 3), 1)


@pytest.mark.parametrize("announce", [True, False], ids=["by notification", "by watch"])
def test_phase_b_ends_with_the_target_alone(cluster: ModelCluster, announce: bool) -> None:
    driven = running(cluster)
    reassign(driven, (3, 4))
    forget_effects(driven)
    cluster.write_isr(T0, 1, 2, 3, 4, announce=announce)
    driven.run()
    assert stored(cluster) == assigned((3, 4))
    assert cluster.lead(T0) == (3, (3, 4), 4), "elected, then each old replica leaves with an epoch of its own"
    stops = [(broker, stop.delete, stop.leader_epoch) for broker, stop in stops_sent(driven, T0)]
    assert [(broker, delete) for broker, delete, _ in stops] == [(1, False), (2, False), (1, True), (2, True)]
    assert all(epoch >= 2 for _, _, epoch in stops)
    assert driven.context.reassigning == set()
    assert driven.context.replica_status_of(T0, 1) is ReplicaStatus.NON_EXISTENT
    assert driven.context.replica_status_of(T0, 3) is ReplicaStatus.ONLINE
    assert Unwatch(PartitionStateZnode.path(T0)) in driven.effects
    assert [note.why for note in driven.notes(What.REASSIGNMENT_COMPLETED)] == ["on [3, 4]"]
    assert [note.cause for note in driven.notes(What.REASSIGNMENT_STEP)] == ["in sync", "removed"]
    assert [note.cause for note in driven.notes(What.ISR_SHRUNK)] == ["reassigned", "reassigned"]


def test_a_leader_in_the_target_stays_with_a_higher_epoch(cluster: ModelCluster) -> None:
    driven = running(cluster)
    reassign(driven, (3, 1))
    forget_effects(driven)
    cluster.write_isr(T0, 1, 2, 3)
    driven.run()
    assert cluster.lead(T0) == (1, (1, 3), 3)
    assert stored(cluster) == assigned((3, 1))
    first = {(broker, each.state.replicas, each.state.leader_epoch) for broker, each in roles_sent(driven, T0)[:3]}
    assert (1, (3, 1), 2) in first


def test_the_topic_znode_is_written_last(cluster: ModelCluster) -> None:
    driven = running(cluster)
    reassign(driven, (3, 4))
    cluster.write_isr(T0, 1, 2, 3, 4)
    while cluster.lead(T0)[1] != (3, 4):
        assert stored(cluster).adding == (3, 4), "the only lasting copy of the origin"
        assert driven.step()
    driven.run()
    assert stored(cluster) == assigned((3, 4))


def test_a_mere_change_of_order_is_done_at_once(cluster: ModelCluster) -> None:
    driven = running(cluster)
    reassign(driven, (2, 1))
    assert stored(cluster) == assigned((2, 1))
    assert cluster.lead(T0) == (1, (1, 2), 1)


def test_the_target_must_be_a_subset_of_the_isr_not_equal(cluster: ModelCluster) -> None:
    driven = running(cluster)
    reassign(driven, (2,))
    assert stored(cluster) == assigned((2,))
    assert cluster.lead(T0) == (2, (2,), 2)


def test_cancel_goes_back_and_deletes_what_was_added(cluster: ModelCluster) -> None:
    driven = running(cluster)
    reassign(driven, (3, 4))
    cluster.write_isr(T0, 1, 2, 3)
    driven.run()
    forget_effects(driven)
    assert reassign(driven, None, request=2) is KafkaCode.NONE
    assert stored(cluster) == assigned((1, 2))
    leader, isr, _ = cluster.lead(T0)
    assert (leader, isr) == (1, (1, 2))
    assert {(broker, stop.delete) for broker, stop in stops_sent(driven, T0)} >= {(3, True), (4, True)}
    assert driven.context.reassigning == set()


def test_a_newer_reassignment_replaces_the_older(cluster: ModelCluster) -> None:
    cluster.start_broker(5)
    driven = running(cluster)
    reassign(driven, (3, 4))
    forget_effects(driven)
    assert reassign(driven, (4, 5), request=2) is KafkaCode.NONE
    assert stored(cluster) == assigned((4, 5, 1, 2), adding=(4, 5), removing=(1, 2))
    assert {broker for broker, stop in stops_sent(driven, T0) if stop.delete} == {3}
    cluster.write_isr(T0, 1, 2, 4, 5)
    driven.run()
    assert stored(cluster) == assigned((4, 5))


@pytest.mark.parametrize(
    ("partition", "target", "code"),
    [
        (tp("t"), None, KafkaCode.NO_REASSIGNMENT_IN_PROGRESS),
        (tp("t"), (), KafkaCode.INVALID_REPLICA_ASSIGNMENT),
        (tp("t"), (1, 1), KafkaCode.INVALID_REPLICA_ASSIGNMENT),
        (tp("t"), (-1, 1), KafkaCode.INVALID_REPLICA_ASSIGNMENT),
        (tp("t"), (9, 1), KafkaCode.INVALID_REPLICA_ASSIGNMENT),
        (tp("t", 7), (1,), KafkaCode.UNKNOWN_TOPIC_OR_PARTITION),
        (tp("no"), (1,), KafkaCode.UNKNOWN_TOPIC_OR_PARTITION),
        (tp("doomed"), (1,), KafkaCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_refusals(
    cluster: ModelCluster, partition: TopicPartition, target: tuple[int, ...] | None, code: KafkaCode
) -> None:
    cluster.write_topic("doomed", {0: (1, 9)})
    driven = running(cluster)
    ask(driven, DeleteTopicsRequested(9, ("doomed",), 1000))
    before = dict(cluster.zk.nodes)
    assert reassign(driven, target, partition) is code
    assert cluster.zk.nodes == before


def test_a_dead_replica_that_was_there_before_may_stay(cluster: ModelCluster) -> None:
    driven = running(cluster)
    cluster.kill_broker(2)
    driven.run()
    assert reassign(driven, (2, 3)) is KafkaCode.NONE


def test_reassignments_are_listed(cluster: ModelCluster) -> None:
    driven = running(cluster)
    reassign(driven, (3, 1))
    both = ask(driven, ReassignmentsListRequested(2))
    assert both == ReassignmentsAnswered({T0: Assignment((3, 1, 2), adding=(3,), removing=(2,))})
    assert ask(driven, ReassignmentsListRequested(3, (tp("t", 1),))) == ReassignmentsAnswered({})


def write_legacy(cluster: ModelCluster, targets: dict[TopicPartition, tuple[int, ...]]) -> None:
    data = ReassignPartitionsZnode.encode({p: tuple(map(BrokerId, ids)) for p, ids in targets.items()})
    cluster.zk.put(ReassignPartitionsZnode.PATH, data)


def test_the_legacy_znode_starts_reassignments_and_goes_when_they_are_done(cluster: ModelCluster) -> None:
    driven = running(cluster)
    write_legacy(cluster, {T0: (3, 4), tp("t", 1): (3, 2), tp("no"): (1,), tp("t", 5): (1,)})
    driven.run()
    node = cluster.zk.get(ReassignPartitionsZnode.PATH)
    assert node is not None
    assert ReassignPartitionsZnode.decode(node.data) == {T0: (3, 4)}, "the unknown are refused, the reordered is done"
    assert stored(cluster).adding == (3, 4)
    epoch = cluster.lead(T0)[2]
    assert epoch == 1, "writing the rest back does not start it again"
    cluster.write_isr(T0, 1, 2, 3, 4)
    driven.run()
    assert cluster.zk.get(ReassignPartitionsZnode.PATH) is None
    assert stored(cluster) == assigned((3, 4))


def test_the_legacy_znode_accepts_an_absent_broker_and_waits_for_it(cluster: ModelCluster) -> None:
    driven = running(cluster)
    write_legacy(cluster, {T0: (9, 1)})
    driven.run()
    assert stored(cluster).adding == (9,)
    forget_effects(driven)
    cluster.start_broker(9)
    driven.run()
    assert (9, True) in [(broker, each.is_new) for broker, each in roles_sent(driven, T0)]
    cluster.write_isr(T0, 1, 2, 9)
    driven.run()
    assert stored(cluster) == assigned((9, 1))
    assert cluster.zk.get(ReassignPartitionsZnode.PATH) is None


def test_a_malformed_legacy_znode_is_left_alone(cluster: ModelCluster) -> None:
    driven = running(cluster)
    cluster.zk.put(ReassignPartitionsZnode.PATH, b"nonsense")
    driven.run()
    assert driven.notes(What.MALFORMED_ZNODE)
    assert driven.core.is_active


def test_the_api_overtakes_the_legacy_znode(cluster: ModelCluster) -> None:
    driven = running(cluster)
    write_legacy(cluster, {T0: (3, 4)})
    driven.run()
    reassign(driven, (4, 1))
    assert cluster.zk.get(ReassignPartitionsZnode.PATH) is None
    assert stored(cluster) == assigned((4, 1, 2), adding=(4,), removing=(2,))


def run_until_settled(cluster: ModelCluster, driven: Driven) -> None:
    driven.run()
    if stored(cluster).adding:
        cluster.write_isr(T0, *dict.fromkeys((*cluster.state(T0).isr, 3, 4)))
        driven.run()


@pytest.mark.parametrize("steps", range(45))
def test_the_next_controller_goes_on_from_wherever_the_first_died(cluster: ModelCluster, steps: int) -> None:
    """Killed after every single request, in both phases: the end is the same, and epochs only grow."""
    first = running(cluster)
    write_legacy(cluster, {T0: (3, 4)})
    for at in range(steps):
        if at == 20:
            cluster.write_isr(T0, *dict.fromkeys((*cluster.state(T0).isr, 3, 4)))
        first.step()
    epoch = cluster.lead(T0)[2]
    second = cluster.controller(1)
    run_until_settled(cluster, second)
    assert stored(cluster) == assigned((3, 4))
    leader, isr, after = cluster.lead(T0)
    assert (leader, isr) == (3, (3, 4))
    assert after >= epoch
    assert cluster.zk.get(ReassignPartitionsZnode.PATH) is None
    before = dict(cluster.zk.nodes)
    first.run()
    assert cluster.zk.nodes == before, "the first one can do nothing any more"
