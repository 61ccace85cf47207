"""Elections on demand, by the API or the legacy znode, and the rebalance that happens by itself."""

import pytest

from tests.support.controller_driver import Driven, ModelCluster, tp
from tests.support.controller_scenes import ask, cluster_of, running
from tidelog.controller.core.answers import PartitionsAnswered
from tidelog.controller.core.events import (
    DeleteTopicsRequested,
    ElectLeadersRequested,
    ReassignmentsRequested,
    RebalanceDue,
)
from tidelog.controller.core.work import Settings
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.types import TopicPartition
from tidelog.zk.znodes import PreferredElectionZnode

T0, T1 = tp("t", 0), tp("t", 1)


@pytest.fixture
def cluster() -> ModelCluster:
    return cluster_of(1, 2, 3, topics={"t": {0: (1, 2), 1: (2, 3)}})


def moved(cluster: ModelCluster) -> Driven:
    """Broker 1 was away: partition 0 is led by 2, and 1 is in sync again."""
    driven = running(cluster)
    cluster.kill_broker(1)
    driven.run()
    cluster.start_broker(1)
    driven.run()
    cluster.write_isr(T0, 2, 1)
    driven.run()
    assert cluster.lead(T0) == (2, (2, 1), 1)
    return driven


def elect(driven: Driven, *partitions: TopicPartition, unclean: bool = False) -> dict[TopicPartition, KafkaCode]:
    answer = ask(driven, ElectLeadersRequested(1, partitions or None, unclean))
    assert isinstance(answer, PartitionsAnswered)
    return {partition: result.code for partition, result in answer.results.items()}


def test_the_preferred_leader_is_elected_and_who_leads_already_needs_nothing(cluster: ModelCluster) -> None:
    driven = moved(cluster)
    assert elect(driven, T0, T1) == {T0: KafkaCode.NONE, T1: KafkaCode.ELECTION_NOT_NEEDED}
    assert cluster.lead(T0) == (1, (2, 1), 2)


def test_all_partitions_are_asked_for_without_naming_those_that_need_nothing(cluster: ModelCluster) -> None:
    assert elect(moved(cluster)) == {T0: KafkaCode.NONE}


def test_unknown_deleted_and_unavailable(cluster: ModelCluster) -> None:
    cluster.write_topic("doomed", {0: (1, 9)})
    driven = running(cluster)
    ask(driven, DeleteTopicsRequested(2, ("doomed",), 1000))
    cluster.kill_broker(1)
    driven.run()
    assert elect(driven, T0, tp("no"), tp("doomed")) == {
        T0: KafkaCode.PREFERRED_LEADER_NOT_AVAILABLE,
        tp("no"): KafkaCode.UNKNOWN_TOPIC_OR_PARTITION,
        tp("doomed"): KafkaCode.INVALID_TOPIC_EXCEPTION,
    }


def test_an_unclean_election_takes_any_live_replica_of_a_leaderless_partition(cluster: ModelCluster) -> None:
    driven = running(cluster)
    cluster.write_isr(T0, 1)
    driven.run()
    cluster.kill_broker(1)
    driven.run()
    assert elect(driven, T0, T1, unclean=True) == {T0: KafkaCode.NONE, T1: KafkaCode.ELECTION_NOT_NEEDED}
    assert cluster.lead(T0) == (2, (2,), 2)


def test_an_unclean_election_without_any_live_replica_fails(cluster: ModelCluster) -> None:
    driven = running(cluster)
    for id in (2, 1):
        cluster.kill_broker(id)
        driven.run()
    assert elect(driven, T0, unclean=True) == {T0: KafkaCode.ELIGIBLE_LEADERS_NOT_AVAILABLE}


def test_the_legacy_znode_elects_and_goes(cluster: ModelCluster) -> None:
    driven = moved(cluster)
    cluster.zk.put(PreferredElectionZnode.PATH, PreferredElectionZnode.encode([T0, tp("no")]))
    driven.run()
    assert cluster.lead(T0) == (1, (2, 1), 2)
    assert cluster.zk.get(PreferredElectionZnode.PATH) is None


def test_a_legacy_election_left_over_from_another_controller_is_done(cluster: ModelCluster) -> None:
    moved(cluster)
    cluster.zk.put(PreferredElectionZnode.PATH, PreferredElectionZnode.encode([T0]))
    running(cluster, 1)
    assert cluster.lead(T0) == (1, (2, 1), 2)
    assert cluster.zk.get(PreferredElectionZnode.PATH) is None


def test_a_malformed_legacy_election_goes(cluster: ModelCluster) -> None:
    driven = running(cluster)
    cluster.zk.put(PreferredElectionZnode.PATH, b"[")
    driven.run()
    assert cluster.zk.get(PreferredElectionZnode.PATH) is None


def rebalance(driven: Driven) -> None:
    driven.post(RebalanceDue())
    driven.run()


def test_rebalance_gives_leadership_back(cluster: ModelCluster) -> None:
    driven = moved(cluster)
    rebalance(driven)
    assert cluster.lead(T0) == (1, (2, 1), 2)
    assert cluster.lead(T1)[0] == 2
    rebalance(driven)
    assert cluster.lead(T0) == (1, (2, 1), 2), "once"


@pytest.mark.parametrize(("percentage", "moves"), [(49, True), (50, False)])
def test_rebalance_begins_above_the_percentage(percentage: int, moves: bool) -> None:
    settings = Settings(leader_imbalance_per_broker_percentage=percentage)
    cluster = cluster_of(1, 2, topics={"t": {0: (1, 2), 1: (1, 2)}}, settings=settings)
    driven = running(cluster)
    cluster.kill_broker(1)
    driven.run()
    cluster.start_broker(1)
    driven.run()
    for partition in (T0, T1):
        cluster.write_isr(partition, 2, 1)
    driven.run()
    elect(driven, T1)
    rebalance(driven)
    assert cluster.lead(T0)[0] == (1 if moves else 2)


def test_rebalance_leaves_replicas_that_are_not_in_sync(cluster: ModelCluster) -> None:
    driven = moved(cluster)
    cluster.write_isr(T0, 2)
    driven.run()
    rebalance(driven)
    assert cluster.lead(T0) == (2, (2,), 1)


def test_rebalance_waits_for_reassignments(cluster: ModelCluster) -> None:
    driven = moved(cluster)
    ask(driven, ReassignmentsRequested(3, {T1: (1, 2)}))
    rebalance(driven)
    assert cluster.lead(T0)[0] == 2
