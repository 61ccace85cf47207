"""Brokers that fail, restart, come back, move, lose a disk or shut down: leaders, ISRs and epochs, exactly."""

from dataclasses import replace

import pytest

from tests.support.controller_driver import Driven, ModelCluster, tp
from tests.support.controller_scenes import ask, cluster_of, forget_effects, roles_sent, running, stops_sent
from tidelog.controller.core.answers import Refused, ShutdownAnswered
from tidelog.controller.core.effects import OpenSender, Send, Tell, TellOne, What
from tidelog.controller.core.events import (
    ControlledShutdownRequested,
    ElectionsDue,
    LeaderAndIsrAnswered,
    MembersChanged,
)
from tidelog.controller.core.states import PartitionStatus, ReplicaStatus
from tidelog.kafka.cluster import Role
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.types import BrokerId, Endpoint, TopicName
from tidelog.zk.operations import Create
from tidelog.zk.znodes import CONFIG_CHANGES, LOG_DIR_EVENTS, ConfigEntity, ConfigZnode, LogDirEventZnode

T0, T1 = tp("t", 0), tp("t", 1)


@pytest.fixture
def cluster() -> ModelCluster:
    return cluster_of(1, 2, 3, topics={"t": {0: (1, 2, 3), 1: (2, 3, 1)}})


def test_a_dead_leader_is_replaced_and_leaves_the_isr(cluster: ModelCluster) -> None:
    driven = running(cluster)
    assert cluster.lead(T0) == (1, (1, 2, 3), 0)
    cluster.kill_broker(1)
    driven.run()
    assert cluster.lead(T0) == (2, (2, 3), 1), "one election, which also shrinks the ISR"
    assert cluster.lead(T1) == (2, (2, 3), 1), "a follower's death is an ISR change with a higher epoch"
    assert [(note.subject, note.cause) for note in driven.notes(What.ELECTION)] == [("t-0", "OFFLINE")]
    assert [(note.subject, note.cause) for note in driven.notes(What.ISR_SHRUNK)] == [("t-1", "broker is gone")]


def test_the_election_comes_before_the_isr_shrinks_of_others(cluster: ModelCluster) -> None:
    driven = running(cluster)
    forget_effects(driven)
    cluster.kill_broker(1)
    driven.run()
    first = next(effect for effect in driven.effects if isinstance(effect, Send))
    assert [each.partition for each in first.request.partitions] == [T0]


def test_the_last_in_sync_replica_stays_in_the_isr_of_a_leaderless_partition(cluster: ModelCluster) -> None:
    driven = running(cluster)
    cluster.write_isr(T0, 1)
    driven.run()
    cluster.kill_broker(1)
    driven.run()
    assert cluster.lead(T0) == (-1, (1,), 1)
    assert driven.context.status_of(T0) is PartitionStatus.OFFLINE
    assert [note.subject for note in driven.notes(What.ELECTION_FAILED)] == ["t-0"]
    cluster.start_broker(1)
    driven.run()
    assert cluster.lead(T0) == (1, (1,), 2)


def test_an_unclean_election_happens_where_the_topic_allows_it(cluster: ModelCluster) -> None:
    driven = running(cluster)
    allowed = ConfigZnode.encode({"unclean.leader.election.enable": "true"})
    cluster.zk.put(ConfigZnode.path(ConfigEntity.topic("t")), allowed)
    cluster.write_isr(T0, 1)
    driven.run()
    cluster.kill_broker(1)
    driven.run()
    assert cluster.lead(T0) == (2, (2,), 1)
    assert cluster.state(T0).recovering
    assert len(driven.notes(What.UNCLEAN_ELECTION)) == 1


def test_an_unclean_election_allowed_later_is_found_when_due(cluster: ModelCluster) -> None:
    driven = running(cluster)
    cluster.write_isr(T0, 1)
    driven.run()
    cluster.kill_broker(1)
    driven.run()
    shared = ConfigZnode.encode({"unclean.leader.election.enable": "true"})
    cluster.zk.put(ConfigZnode.path(ConfigEntity.broker(None)), shared)
    driven.post(ElectionsDue())
    driven.run()
    assert cluster.lead(T0) == (2, (2,), 2)


def test_an_unclean_election_happens_at_once_when_the_topic_comes_to_allow_it(cluster: ModelCluster) -> None:
    driven = running(cluster)
    cluster.write_isr(T0, 1)
    driven.run()
    cluster.kill_broker(1)
    driven.run()
    entity = ConfigEntity.topic("t")
    cluster.zk.put(ConfigZnode.path(entity), ConfigZnode.encode({"unclean.leader.election.enable": "true"}))
    cluster.zk.put(f"{CONFIG_CHANGES}/config_change_0000000000", b"{}")
    driven.run()
    assert cluster.lead(T0) == (2, (2,), 2)


def test_a_bounced_broker_is_a_death_and_a_start(cluster: ModelCluster) -> None:
    driven = running(cluster)
    forget_effects(driven)
    cluster.start_broker(1)
    driven.run()
    assert cluster.lead(T0) == (2, (2, 3), 1)
    assert [note.subject for note in driven.notes(What.BROKER_FAILED)] == ["1"]
    assert not [stop for stop in stops_sent(driven, T0) if stop[0] == 1], "the new incarnation has nothing to stop"
    told = [(broker, each.state.leader, each.state.leader_epoch) for broker, each in roles_sent(driven, T0)]
    assert told[-1] == (1, 2, 1), "it learns what it is now"


def test_a_started_broker_gets_the_whole_picture_before_its_roles(cluster: ModelCluster) -> None:
    driven = running(cluster)
    cluster.kill_broker(3)
    driven.run()
    forget_effects(driven)
    cluster.start_broker(3)
    driven.run()
    mine = [
        effect
        for effect in driven.effects
        if isinstance(effect, TellOne) or (isinstance(effect, Send) and effect.broker == 3)
    ]
    assert isinstance(mine[0], TellOne)
    assert mine[0].update.topics_complete
    assert {topic.name: sorted(topic.partitions) for topic in mine[0].update.topics} == {"t": [0, 1]}
    assert isinstance(mine[1], Send)
    assert cluster.lead(T0)[1] == (1, 2), "it enters the ISR when its leader says so"


def test_a_broker_that_moves_is_told_everything_again(cluster: ModelCluster) -> None:
    driven = running(cluster)
    forget_effects(driven)
    members = dict(cluster.members[Role.BROKER])
    members[2] = replace(members[2], endpoints=(Endpoint("PLAINTEXT", "elsewhere", 1),))
    driven.post(MembersChanged(Role.BROKER, members))
    driven.run()
    assert [effect.member.id for effect in driven.effects if isinstance(effect, OpenSender)] == [2]
    assert [effect.id for effect in driven.effects if isinstance(effect, TellOne)] == [2]
    assert [broker for broker, _ in roles_sent(driven, T0)] == [2]
    assert cluster.lead(T0) == (1, (1, 2, 3), 0), "and nothing else changes"


def test_somebody_who_wrote_in_between_is_not_overwritten(cluster: ModelCluster) -> None:
    driven = running(cluster)
    cluster.kill_broker(1)
    while driven.zk_request is None or "Write" not in type(driven.zk_request).__name__:
        assert driven.step()
    cluster.write_isr(T0, 1, 3)
    driven.run()
    assert cluster.lead(T0) == (3, (3,), 1), "the election was held again on what the leader wrote last"


def test_a_failed_log_directory_moves_leaders_away_and_its_return_brings_the_replica_back(
    cluster: ModelCluster,
) -> None:
    driven = running(cluster)
    cluster.brokers[1].failed_dirs = {T0}
    fail_dir(cluster, 1)
    driven.run()
    assert cluster.lead(T0) == (2, (2, 3), 1)
    assert cluster.lead(T1) == (2, (2, 3, 1), 0), "the other partition is in another directory"
    assert driven.context.offline_dirs == {1: {T0}}
    assert driven.context.replica_status_of(T0, 1) is ReplicaStatus.OFFLINE
    assert cluster.zk.children(LOG_DIR_EVENTS) == ()
    last = [
        e.update
        for e in driven.effects
        if isinstance(e, Tell) and e.update.topics and e.update.topics[0].partitions.get(0)
    ]
    assert last[-1].topics[0].partitions[0].offline_replicas == (1,)
    cluster.brokers[1].failed_dirs = set()
    fail_dir(cluster, 1)
    driven.run()
    assert driven.context.offline_dirs == {1: set()}


def fail_dir(cluster: ModelCluster, broker: int) -> None:
    cluster.zk.multi([Create(LogDirEventZnode.CREATE_PATH, LogDirEventZnode.encode(BrokerId(broker)), sequence=True)])


def test_controlled_shutdown_moves_leaders_and_leaves_isrs(cluster: ModelCluster) -> None:
    driven = running(cluster)
    forget_effects(driven)
    answer = ask(driven, shutdown(cluster, 2))
    assert answer == ShutdownAnswered(())
    assert cluster.lead(T1) == (3, (3, 1), 1)
    assert cluster.lead(T0) == (1, (1, 3), 1)
    assert [(note.subject, note.cause) for note in driven.notes(What.ELECTION)] == [("t-1", "CONTROLLED_SHUTDOWN")]
    assert [(note.subject, note.cause) for note in driven.notes(What.ISR_SHRUNK)] == [("t-0", "shutting down")]
    assert [broker for broker, _ in roles_sent(driven, T1)] == [1, 2, 3], "the old leader learns that it follows"
    assert [(broker, stop.delete) for broker, stop in stops_sent(driven, T0)] == [(2, False), (2, False)]
    cluster.kill_broker(2)
    driven.run()
    assert cluster.lead(T0) == (1, (1, 3), 1), "its death changes nothing any more"
    assert driven.context.shutting_down == set()


def test_controlled_shutdown_tells_what_cannot_be_moved(cluster: ModelCluster) -> None:
    driven = running(cluster)
    cluster.write_isr(T1, 2)
    driven.run()
    assert ask(driven, shutdown(cluster, 2)) == ShutdownAnswered((T1,))
    assert cluster.lead(T1) == (2, (2,), 0)


def test_controlled_shutdown_refuses_strangers_and_former_incarnations(cluster: ModelCluster) -> None:
    driven = running(cluster)
    unknown = ask(driven, ControlledShutdownRequested(1, 9, 1))
    assert isinstance(unknown, Refused)
    assert unknown.code is KafkaCode.BROKER_NOT_AVAILABLE
    stale = ask(driven, replace(shutdown(cluster, 1), request=2, broker_epoch=1))
    assert isinstance(stale, Refused)
    assert stale.code is KafkaCode.STALE_BROKER_EPOCH
    assert driven.context.shutting_down == set()


def test_a_process_that_is_not_active_refuses_a_shutdown_with_stale_epoch(cluster: ModelCluster) -> None:
    driven = running(cluster)
    cluster.controller(1)
    driven.context.assign(tp("t", 5), driven.context.assignments[TopicName("t")][T0.partition])
    driven.post(shutdown(cluster, 1))
    driven.run()
    answer = driven.answers[1]
    assert isinstance(answer, Refused)
    assert answer.code is KafkaCode.STALE_CONTROLLER_EPOCH


def shutdown(cluster: ModelCluster, broker: int) -> ControlledShutdownRequested:
    return ControlledShutdownRequested(1, broker, cluster.members[Role.BROKER][broker].epoch)


def test_answers_of_a_former_incarnation_are_not_heeded(cluster: ModelCluster) -> None:
    driven = running(cluster)
    former = cluster.members[Role.BROKER][1].epoch
    cluster.start_broker(1)
    driven.run()
    driven.post(LeaderAndIsrAnswered(1, former, KafkaCode.NONE, {T0: KafkaCode.KAFKA_STORAGE_ERROR}))
    driven.run()
    assert driven.context.offline_dirs == {}


def test_a_restarted_broker_may_have_its_disk_back(cluster: ModelCluster) -> None:
    driven = running(cluster)
    cluster.brokers[1].failed_dirs = {T0}
    fail_dir(cluster, 1)
    driven.run()
    assert not driven.context.is_live(1, T0)
    cluster.start_broker(1)
    driven.run()
    assert driven.context.is_live(1, T0)


def test_what_a_leader_wrote_last_is_told_also_if_nothing_has_to_be_written(cluster: ModelCluster) -> None:
    driven = running(cluster)
    cluster.write_isr(T0, 1, 2, announce=False)
    forget_effects(driven)
    cluster.kill_broker(3)
    driven.run()
    assert cluster.lead(T0) == (1, (1, 2), 0)
    assert {(broker, each.state.isr, each.state.partition_epoch) for broker, each in roles_sent(driven, T0)} == {
        (1, (1, 2), 1),
        (2, (1, 2), 1),
    }


def test_resting_controllers_have_nothing_to_say(cluster: ModelCluster) -> None:
    driven: Driven = running(cluster)
    forget_effects(driven)
    driven.post(MembersChanged(Role.BROKER, dict(cluster.members[Role.BROKER])))
    driven.run()
    assert driven.effects == []
