"""Taking over: what is read, in which order things are told, what is mended, and when a controller gives up."""

import pytest

from tests.support.controller_driver import Driven, ModelCluster, tp
from tests.support.controller_scenes import ask, cluster_of, roles_sent, running
from tidelog.controller.core.answers import Refused
from tidelog.controller.core.effects import Effect, Resign, Send, Tell, Watch, Zk
from tidelog.controller.core.events import (
    CreateTopicsRequested,
    ElectLeadersRequested,
    MembersChanged,
    ZkAnswered,
    ZnodeChanged,
)
from tidelog.controller.core.states import PartitionStatus, ReplicaStatus
from tidelog.controller.core.topic_checks import NewTopic
from tidelog.controller.core.zk_requests import Names, Read
from tidelog.kafka.cluster import Role
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.types import BrokerId
from tidelog.zk.znodes import BROKER_IDS, TOPICS, BrokerIdZnode

T0, T1 = tp("t", 0), tp("t", 1)


@pytest.fixture
def cluster() -> ModelCluster:
    return cluster_of(1, 2, 3, topics={"t": {0: (1, 2, 3), 1: (2, 3, 1)}})


def position(effects: list[Effect], kind: type[Effect] | tuple[type[Effect], ...]) -> int:
    return next(at for at, effect in enumerate(effects) if isinstance(effect, kind))


def test_watches_then_members_then_roles_then_everything(cluster: ModelCluster) -> None:
    running(cluster)
    driven = running(cluster, 1)
    effects = driven.effects
    reads = [at for at, effect in enumerate(effects) if isinstance(effect, Zk) and TOPICS in str(effect.request)]
    assert position(effects, Watch) < reads[0], "no change falls between reading and watching"
    first_told = effects[position(effects, Tell)]
    assert isinstance(first_told, Tell)
    assert first_told.update.topics == ()
    assert not first_told.update.topics_complete
    assert position(effects, Tell) < position(effects, Send)
    last = [effect for effect in effects if isinstance(effect, Tell)][-1]
    assert last.update.topics_complete
    assert sorted(last.update.topics[0].partitions) == [0, 1]


def test_everything_in_order_is_left_as_it_is(cluster: ModelCluster) -> None:
    first = running(cluster)
    before = {path: node for path, node in cluster.zk.nodes.items() if "/brokers/" in path}
    second = running(cluster, 1)
    after = {path: node for path, node in cluster.zk.nodes.items() if "/brokers/" in path}
    assert before == after
    assert second.context.partition_status == first.context.partition_status
    assert second.context.leaderships == first.context.leaderships
    assert {broker for broker, _ in roles_sent(second, T0)} == {1, 2, 3}


def test_what_happened_meanwhile_is_mended(cluster: ModelCluster) -> None:
    """A broker died with the controller: it leaves the ISR first, then a leader is found; the epoch rises by two."""
    running(cluster)
    cluster.controllers.clear()
    cluster.kill_broker(1)
    driven = running(cluster, 1)
    assert cluster.lead(T0) == (2, (2, 3), 2)
    assert cluster.lead(T1) == (2, (2, 3), 1)
    assert driven.context.status_of(T0) is PartitionStatus.ONLINE
    assert driven.context.replica_status_of(T0, 1) is ReplicaStatus.OFFLINE


def test_a_partition_without_a_state_is_brought_online(cluster: ModelCluster) -> None:
    driven = running(cluster)
    assert cluster.lead(T0) == (1, (1, 2, 3), 0)
    assert driven.context.status_of(T0) is PartitionStatus.ONLINE


def test_a_state_that_turns_up_while_it_is_created_is_taken_over(cluster: ModelCluster) -> None:
    driven = cluster.controller()
    while not (driven.zk_request and "state" in str(driven.zk_request) and "Write" in type(driven.zk_request).__name__):
        assert driven.step()
    cluster.write_state(T0, 3, 5, (3, 2))
    driven.run()
    assert cluster.lead(T0) == (2, (3, 2), 6)


def test_it_waits_until_it_knows_every_broker_that_is_registered(cluster: ModelCluster) -> None:
    """Otherwise it would take the ones it does not know out of every ISR."""
    members = dict(cluster.members[Role.BROKER])
    cluster.members[Role.BROKER] = {}
    driven = cluster.controller()
    driven.run()
    assert not is_loaded(driven)
    assert cluster.zk.get("/brokers/topics/t/partitions") is None
    driven.post(ElectLeadersRequested(1, None))
    driven.run()
    assert driven.answers == {}, "requests wait for the take-over"
    driven.post(MembersChanged(Role.BROKER, members))
    driven.run()
    assert is_loaded(driven)
    assert cluster.lead(T0) == (1, (1, 2, 3), 0)
    assert driven.answers.keys() == {1}


def is_loaded(driven: Driven) -> bool:
    assert driven.core.machine is not None
    return driven.core.machine.loaded


def test_a_registration_that_cannot_be_read_does_not_hold_it_up(cluster: ModelCluster) -> None:
    cluster.zk.ensure(BrokerIdZnode.path(BrokerId(77)), b"nonsense")
    cluster.zk.ensure(f"{BROKER_IDS}/not-a-number")
    assert running(cluster).core.machine is not None
    assert cluster.lead(T0)[0] == 1


def test_a_state_of_a_later_controller_makes_it_resign(cluster: ModelCluster) -> None:
    driven = running(cluster)
    cluster.write_state(T0, 2, 4, (2,), by=99)
    cluster.kill_broker(1)
    driven.run()
    assert not driven.core.is_active
    assert any(isinstance(effect, Resign) for effect in driven.effects)
    assert cluster.lead(T0) == (2, (2,), 4)


def test_a_deposed_controller_writes_nothing_and_answers_that_it_is_none(cluster: ModelCluster) -> None:
    first = running(cluster)
    first.post(CreateTopicsRequested(1, (NewTopic("new", 1, 1),), 1000))
    first.step()
    running(cluster, 1)
    before = dict(cluster.zk.nodes)
    first.run()
    assert cluster.zk.nodes == before
    assert not first.core.is_active
    answer = first.answers[1]
    assert isinstance(answer, Refused)
    assert answer.code is KafkaCode.NOT_CONTROLLER
    later = ask(first, CreateTopicsRequested(2, (NewTopic("new", 1, 1),), 1000))
    assert isinstance(later, Refused)
    assert later.code is KafkaCode.NOT_CONTROLLER


def test_answers_to_a_former_epochs_requests_are_not_heeded(cluster: ModelCluster) -> None:
    driven = cluster.controller()
    assert driven.zk_request is not None
    assert driven.core.on(ZkAnswered(10_000, Names(((),)))) == []
    driven.run()
    assert cluster.lead(T0)[0] == 1


def test_tags_are_not_used_again_after_another_election(cluster: ModelCluster) -> None:
    tags = [effect.tag for id in range(2) for effect in running(cluster, id).effects if isinstance(effect, Zk)]
    assert len(set(tags)) == len(tags)


def test_changes_of_many_nodes_are_read_together() -> None:
    cluster = cluster_of(1, topics={f"t{index}": {0: (1,)} for index in range(20)})
    driven = running(cluster)
    driven.effects.clear()
    for index in range(20):
        driven.handle(ZnodeChanged(f"{TOPICS}/t{index}"))
    driven.run()
    requests = [effect.request for effect in driven.effects if isinstance(effect, Zk)]
    assert [len(request.paths) for request in requests if isinstance(request, Read)] == [1, 19]


@pytest.mark.parametrize("steps", range(0, 60, 2))
def test_any_number_of_failovers_ends_well(cluster: ModelCluster, steps: int) -> None:
    """Controllers that die one after the other in the middle of their work leave nothing that the last cannot mend."""
    cluster.write_topic("u", {0: (3, 1), 1: (1, 3)})
    for id in range(3):
        driven: Driven = cluster.controller(id)
        for _ in range(steps):
            driven.step()
    cluster.kill_broker(1)
    last = running(cluster, 9)
    for partition in last.context.partitions():
        leader, isr, _ = cluster.lead(partition)
        assert leader in isr
        assert 1 not in isr
        assert leader in last.context.replicas(partition)
