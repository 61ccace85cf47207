"""The end of topics, at once and with obstacles."""

import pytest

from tests.support.controller_driver import Driven, ModelCluster, tp
from tests.support.controller_scenes import ask, cluster_of, forget_effects, roles_sent, running, stops_sent
from tidelog.controller.core.answers import TopicResult, TopicsAnswered
from tidelog.controller.core.effects import Tell, Unwatch, What
from tidelog.controller.core.events import (
    CreateTopicsRequested,
    DeleteTopicsRequested,
    ReassignmentsRequested,
    Ticked,
)
from tidelog.controller.core.states import ReplicaStatus
from tidelog.controller.core.topic_checks import NewTopic
from tidelog.controller.core.work import Settings
from tidelog.kafka.cluster import LEADER_DURING_DELETE
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.types import TopicId, TopicName
from tidelog.zk.znodes import DELETE_TOPICS, ConfigEntity, ConfigZnode, DeleteTopicZnode, TopicZnode

T0 = tp("t")
T = TopicName("t")
LATER_MS = 1000


@pytest.fixture
def cluster() -> ModelCluster:
    return cluster_of(1, 2, 3, topics={"t": {0: (1, 2), 1: (2, 3)}, "other": {0: (1, 2, 3)}})


def delete(driven: Driven, *topics: str | TopicId, request: int = 1) -> tuple[TopicResult, ...]:
    answer = ask(driven, DeleteTopicsRequested(request, topics, LATER_MS))
    assert isinstance(answer, TopicsAnswered)
    return answer.topics


def is_gone(cluster: ModelCluster, topic: str) -> bool:
    paths = (
        TopicZnode.path(TopicName(topic)),
        ConfigZnode.path(ConfigEntity.topic(topic)),
        DeleteTopicZnode.path(TopicName(topic)),
    )
    return not any(cluster.zk.get(path) for path in paths)


def test_a_deleted_topic_leaves_nothing_behind(cluster: ModelCluster) -> None:
    cluster.zk.ensure(ConfigZnode.path(ConfigEntity.topic("t")), ConfigZnode.encode({}))
    driven = running(cluster)
    forget_effects(driven)
    (result,) = delete(driven, "t")
    assert result.code is KafkaCode.NONE
    assert is_gone(cluster, "t")
    assert T not in driven.context.assignments
    assert not [key for key in driven.context.replica_status if key[0].topic == T]
    assert Unwatch(TopicZnode.path(T)) in driven.effects
    assert cluster.lead(tp("other")) == (1, (1, 2, 3), 0)


def test_brokers_are_told_to_forget_then_to_stop_then_to_delete(cluster: ModelCluster) -> None:
    driven = running(cluster)
    forget_effects(driven)
    delete(driven, "t")
    views = [
        t.partitions[0] for e in driven.effects if isinstance(e, Tell) for t in e.update.topics if 0 in t.partitions
    ]
    assert {(view.leader, view.leader_epoch) for view in views} == {(LEADER_DURING_DELETE, 0)}
    stops = [(broker, stop.leader_epoch, stop.delete) for broker, stop in stops_sent(driven, T0)]
    assert stops == [(1, -2, False), (2, -2, False), (1, -2, True), (2, -2, True)]
    assert roles_sent(driven, T0) == [], "nobody gets a role in a topic that goes"


def test_by_id_and_unknown(cluster: ModelCluster) -> None:
    driven = running(cluster)
    topic_id = driven.context.topic_ids[T]
    (by_id, no_name, no_id) = delete(driven, topic_id, "nope", TopicId(int=5))
    assert (by_id.name, by_id.code) == ("t", KafkaCode.NONE)
    assert no_name.code is KafkaCode.UNKNOWN_TOPIC_OR_PARTITION
    assert no_id.code is KafkaCode.UNKNOWN_TOPIC_ID
    assert is_gone(cluster, "t")


def test_switched_off_it_is_refused_and_wishes_are_removed(cluster: ModelCluster) -> None:
    cluster.settings = Settings(delete_topic_enable=False)
    driven = running(cluster)
    (result,) = delete(driven, "t")
    assert result.code is KafkaCode.TOPIC_DELETION_DISABLED
    cluster.zk.ensure(DeleteTopicZnode.path(T))
    driven.run()
    assert cluster.zk.children(DELETE_TOPICS) == ()
    assert cluster.zk.get(TopicZnode.path(T)) is not None


def test_a_tool_deletes_by_znode_and_wishes_about_nothing_are_removed(cluster: ModelCluster) -> None:
    driven = running(cluster)
    cluster.zk.ensure(DeleteTopicZnode.path(T))
    cluster.zk.ensure(DeleteTopicZnode.path(TopicName("never")))
    driven.run()
    assert is_gone(cluster, "t")
    assert cluster.zk.children(DELETE_TOPICS) == ()


def test_with_a_replica_away_it_is_answered_waits_and_ends_when_the_broker_returns(cluster: ModelCluster) -> None:
    driven = running(cluster)
    cluster.kill_broker(3)
    driven.run()
    (result,) = delete(driven, "t")
    assert result.code is KafkaCode.NONE
    assert not is_gone(cluster, "t")
    assert driven.context.topics_ineligible == {T}
    assert driven.context.replica_status_of(tp("t", 1), 3) is ReplicaStatus.OFFLINE, "ready for another attempt"
    assert driven.context.replica_status_of(T0, 1) is ReplicaStatus.DELETION_SUCCESSFUL
    again = ask(driven, CreateTopicsRequested(2, (NewTopic("t", 1, 1),), LATER_MS))
    assert isinstance(again, TopicsAnswered)
    assert again.topics[0].code is KafkaCode.TOPIC_ALREADY_EXISTS, "the name is taken until the last replica is gone"
    cluster.start_broker(3)
    driven.run()
    assert is_gone(cluster, "t")


def test_a_broker_that_dies_during_the_deletion_holds_it_up(cluster: ModelCluster) -> None:
    driven = running(cluster)
    driven.post(DeleteTopicsRequested(1, ("t",), LATER_MS))
    while not stops_sent(driven, T0) or not any(stop.delete for _, stop in stops_sent(driven, T0)):
        assert driven.step()
    driven.events = type(driven.events)(e for e in driven.events if getattr(e, "broker", None) != 2)
    cluster.kill_broker(2)
    driven.run()
    assert driven.context.topics_ineligible == {T}
    cluster.start_broker(2)
    driven.run()
    assert is_gone(cluster, "t")


def test_a_broker_that_fails_to_delete_holds_it_up_until_it_returns(cluster: ModelCluster) -> None:
    driven = running(cluster)
    cluster.brokers[2].refuses_deletion = True
    delete(driven, "t")
    assert driven.context.topics_ineligible == {T}
    assert [note.subject for note in driven.notes(What.TOPIC_DELETION_INELIGIBLE)] == ["t"]
    cluster.start_broker(2)
    driven.run()
    assert is_gone(cluster, "t")


def test_a_reassignment_holds_it_up(cluster: ModelCluster) -> None:
    driven = running(cluster)
    ask(driven, ReassignmentsRequested(7, {T0: (2, 3)}))
    driven.post(DeleteTopicsRequested(1, ("t",), LATER_MS))
    driven.run()
    assert driven.answers.keys() == {7}, "not even begun"
    driven.post(Ticked(LATER_MS))
    driven.run()
    answer = driven.answers[1]
    assert isinstance(answer, TopicsAnswered)
    assert answer.topics[0].code is KafkaCode.REQUEST_TIMED_OUT
    cluster.write_isr(T0, 1, 2, 3)
    driven.run()
    assert is_gone(cluster, "t")


def test_partitions_added_to_a_doomed_topic_are_taken_back(cluster: ModelCluster) -> None:
    driven = running(cluster)
    cluster.kill_broker(3)
    driven.run()
    delete(driven, "t")
    cluster.write_topic("t", {0: (1, 2), 1: (2, 3), 2: (1, 2)})
    driven.run()
    assert sorted(cluster.topic("t").partitions) == [0, 1]


@pytest.mark.parametrize("steps", range(0, 40, 3))
def test_the_next_controller_finishes_it(cluster: ModelCluster, steps: int) -> None:
    first = running(cluster)
    first.post(DeleteTopicsRequested(1, ("t",), LATER_MS))
    for _ in range(steps):
        first.step()
    wished = steps > 0 and cluster.zk.get(DeleteTopicZnode.path(T)) is not None
    second = cluster.controller(1)
    for driven in (second, first, second):
        driven.run()
    assert is_gone(cluster, "t") == (wished or cluster.zk.get(TopicZnode.path(T)) is None)
    assert cluster.lead(tp("other"))[:2] == (1, (1, 2, 3))


def test_a_failover_with_a_replica_away_waits_as_before(cluster: ModelCluster) -> None:
    first = running(cluster)
    cluster.kill_broker(3)
    first.run()
    delete(first, "t")
    second = running(cluster, 1)
    assert second.context.topics_ineligible == {T}
    cluster.start_broker(3)
    second.run()
    assert is_gone(cluster, "t")
