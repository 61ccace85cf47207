"""Topics that are created and grow: by the API with its refusals, and by whoever writes znodes."""

from uuid import UUID

import pytest

from tests.support.controller_driver import Driven, ModelCluster, tp
from tests.support.controller_scenes import ask, cluster_of, forget_effects, roles_sent, running
from tidelog.controller.core.answers import TopicResult, TopicsAnswered
from tidelog.controller.core.effects import Send, Tell, Watch, WatchKind, What
from tidelog.controller.core.events import (
    CreatePartitionsRequested,
    CreateTopicsRequested,
    DeleteTopicsRequested,
    ReassignmentsRequested,
    Ticked,
)
from tidelog.controller.core.requests import LeaderAndIsr
from tidelog.controller.core.topic_checks import MorePartitions, NewTopic
from tidelog.controller.core.work import Settings
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.types import TopicName
from tidelog.zk.znodes import ConfigEntity, ConfigZnode, TopicZnode

LATER_MS = 1000


@pytest.fixture
def cluster() -> ModelCluster:
    return cluster_of(1, 2, 3, topics={}, settings=Settings(num_partitions=4, default_replication_factor=2))


def create(driven: Driven, *topics: NewTopic, request: int = 1, validate_only: bool = False) -> tuple[TopicResult, ...]:
    answer = ask(driven, CreateTopicsRequested(request, topics, LATER_MS, validate_only))
    assert isinstance(answer, TopicsAnswered)
    return answer.topics


def grow(driven: Driven, *topics: MorePartitions, validate_only: bool = False) -> tuple[TopicResult, ...]:
    answer = ask(driven, CreatePartitionsRequested(2, topics, LATER_MS, validate_only))
    assert isinstance(answer, TopicsAnswered)
    return answer.topics


def test_a_topic_is_written_led_and_told(cluster: ModelCluster) -> None:
    driven = running(cluster)
    forget_effects(driven)
    (result,) = create(driven, NewTopic("t", 3, 3, configs={"retention.ms": "1000"}))
    assert (result.code, result.partitions, result.replication_factor) == (KafkaCode.NONE, 3, 3)
    stored = cluster.topic("t")
    assert stored.topic_id == result.topic_id
    for index, assignment in stored.partitions.items():
        replicas = assignment.replicas
        assert cluster.lead(tp("t", index)) == (replicas[0], replicas, 0)
        told = roles_sent(driven, tp("t", index))
        assert sorted(broker for broker, _ in told) == sorted(replicas)
        assert all(each.is_new for _, each in told)
    config = cluster.zk.get(ConfigZnode.path(ConfigEntity.topic("t")))
    assert config is not None
    assert ConfigZnode.decode(config.data) == {"retention.ms": "1000"}
    assert Watch(TopicZnode.path(TopicName("t")), WatchKind.DATA) in driven.effects


def test_roles_go_out_before_the_metadata(cluster: ModelCluster) -> None:
    driven = running(cluster)
    forget_effects(driven)
    create(driven, NewTopic("t", 1, 3))
    kinds = [type(effect) for effect in driven.effects if isinstance(effect, (Send, Tell))]
    assert kinds == [Send, Send, Send, Tell]
    sends = [effect.request for effect in driven.effects if isinstance(effect, Send)]
    assert all(isinstance(each, LeaderAndIsr) and len(each.live_leaders) == 1 for each in sends)


def test_numbers_left_out_are_the_clusters(cluster: ModelCluster) -> None:
    (result,) = create(running(cluster), NewTopic("t"))
    assert (result.partitions, result.replication_factor) == (4, 2)


def test_assignments_are_taken_as_given_and_the_first_live_replica_leads(cluster: ModelCluster) -> None:
    create(running(cluster), NewTopic("t", assignments={0: (9, 3, 1), 1: (2, 1, 3)}))
    assert cluster.lead(tp("t", 0)) == (3, (3, 1), 0)
    assert cluster.lead(tp("t", 1)) == (2, (2, 1, 3), 0)


def test_a_topic_without_live_replicas_times_out_and_stays(cluster: ModelCluster) -> None:
    driven = running(cluster)
    driven.post(CreateTopicsRequested(1, (NewTopic("t", assignments={0: (8, 9)}), NewTopic("u", 1, 1)), LATER_MS))
    driven.run()
    assert driven.answers == {}
    driven.post(Ticked(LATER_MS - 1))
    driven.run()
    assert driven.answers == {}
    driven.post(Ticked(LATER_MS))
    driven.run()
    answer = driven.answers[1]
    assert isinstance(answer, TopicsAnswered)
    assert [(each.name, each.code) for each in answer.topics] == [
        ("t", KafkaCode.REQUEST_TIMED_OUT),
        ("u", KafkaCode.NONE),
    ]
    cluster.start_broker(9)
    driven.run()
    assert cluster.lead(tp("t")) == (9, (9,), 0)


def test_a_waiting_answer_comes_when_the_leader_does(cluster: ModelCluster) -> None:
    driven = running(cluster)
    driven.post(CreateTopicsRequested(1, (NewTopic("t", assignments={0: (8, 9)}),), LATER_MS))
    driven.run()
    cluster.start_broker(8)
    driven.run()
    answer = driven.answers[1]
    assert isinstance(answer, TopicsAnswered)
    assert answer.topics[0].code is KafkaCode.NONE


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        (NewTopic("there"), KafkaCode.TOPIC_ALREADY_EXISTS),
        (NewTopic(""), KafkaCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic(".."), KafkaCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("a b"), KafkaCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("x" * 250), KafkaCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("with_dot"), KafkaCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("t", 0, 1), KafkaCode.INVALID_PARTITIONS),
        (NewTopic("t", -3, 1), KafkaCode.INVALID_PARTITIONS),
        (NewTopic("t", 1, 0), KafkaCode.INVALID_REPLICATION_FACTOR),
        (NewTopic("t", 1, 4), KafkaCode.INVALID_REPLICATION_FACTOR),
        (NewTopic("t", 1, -1, {0: (1,)}), KafkaCode.INVALID_REQUEST),
        (NewTopic("t", -1, 1, {0: (1,)}), KafkaCode.INVALID_REQUEST),
        (NewTopic("t", assignments={1: (1,)}), KafkaCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", assignments={0: (1,), 2: (1,)}), KafkaCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", assignments={0: (1, 2), 1: (1,)}), KafkaCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", assignments={0: (1, 1)}), KafkaCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", assignments={0: ()}), KafkaCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", assignments={0: (-1,)}), KafkaCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", 1, 1, configs={"no.such": "1"}), KafkaCode.INVALID_CONFIG),
        (NewTopic("t", 1, 1, configs={"retention.ms": "soon"}), KafkaCode.INVALID_CONFIG),
    ],
)
def test_refusals_change_nothing(cluster: ModelCluster, topic: NewTopic, code: KafkaCode) -> None:
    cluster.write_topic("there", {0: (1,)})
    cluster.write_topic("with.dot", {0: (1,)})
    driven = running(cluster)
    before = dict(cluster.zk.nodes)
    (result,) = create(driven, topic)
    assert result.code is code
    assert cluster.zk.nodes == before


def test_one_refusal_does_not_hold_up_the_others(cluster: ModelCluster) -> None:
    results = create(running(cluster), NewTopic("bad", 0, 1), NewTopic("good", 1, 1))
    assert [each.code for each in results] == [KafkaCode.INVALID_PARTITIONS, KafkaCode.NONE]


def test_a_topic_asked_for_twice_in_a_request_is_refused(cluster: ModelCluster) -> None:
    results = create(running(cluster), NewTopic("t", 1, 1), NewTopic("t", 2, 1))
    assert {each.code for each in results} == {KafkaCode.INVALID_REQUEST}


def test_a_topic_that_a_tool_created_a_moment_ago_exists(cluster: ModelCluster) -> None:
    driven = running(cluster)
    driven.post(CreateTopicsRequested(1, (NewTopic("t", 1, 1),), LATER_MS))
    driven.step()
    cluster.write_topic("t", {0: (3,)})
    driven.run()
    answer = driven.answers[1]
    assert isinstance(answer, TopicsAnswered)
    assert answer.topics[0].code is KafkaCode.TOPIC_ALREADY_EXISTS
    assert cluster.lead(tp("t")) == (3, (3,), 0), "theirs, not ours"


def test_validation_alone_writes_nothing(cluster: ModelCluster) -> None:
    driven = running(cluster)
    before = dict(cluster.zk.nodes)
    (good, bad) = create(driven, NewTopic("t", 3, 2), NewTopic("u", 0, 1), validate_only=True)
    assert (good.code, good.partitions, bad.code) == (KafkaCode.NONE, 3, KafkaCode.INVALID_PARTITIONS)
    assert cluster.zk.nodes == before


def test_a_topic_that_a_tool_writes_comes_to_life_and_gets_an_id(cluster: ModelCluster) -> None:
    driven = running(cluster)
    cluster.write_topic("t", {0: (2, 3)})
    driven.run()
    assert cluster.lead(tp("t")) == (2, (2, 3), 0)
    assert isinstance(cluster.topic("t").topic_id, UUID)
    assert driven.context.topic_ids[TopicName("t")] == cluster.topic("t").topic_id


def test_a_malformed_topic_is_left_out(cluster: ModelCluster) -> None:
    driven = running(cluster)
    cluster.zk.put(TopicZnode.path(TopicName("broken")), b"{]")
    cluster.write_topic("t", {0: (2,)})
    driven.run()
    assert cluster.lead(tp("t")) == (2, (2,), 0)
    assert [note.subject for note in driven.notes(What.MALFORMED_ZNODE)][:1] == ["broken"]


def test_a_topic_removed_by_hand_is_forgotten(cluster: ModelCluster) -> None:
    cluster.write_topic("t", {0: (2,)})
    driven = running(cluster)
    cluster.zk.delete_tree(TopicZnode.path(TopicName("t")))
    driven.run()
    assert driven.context.assignments == {}
    assert driven.context.leaderships == {}


def test_growth_places_new_partitions_after_the_old(cluster: ModelCluster) -> None:
    cluster.write_topic("t", {0: (2, 3)})
    driven = running(cluster)
    (result,) = grow(driven, MorePartitions("t", 4))
    assert result.code is KafkaCode.NONE
    replicas = {index: each.replicas for index, each in cluster.topic("t").partitions.items()}
    assert replicas == {0: (2, 3), 1: (3, 2), 2: (1, 3), 3: (2, 3)}
    assert cluster.lead(tp("t", 3)) == (2, (2, 3), 0)


def test_growth_by_assignments_and_by_znode(cluster: ModelCluster) -> None:
    cluster.write_topic("t", {0: (2, 3)})
    driven = running(cluster)
    grow(driven, MorePartitions("t", 2, ((1, 3),)))
    assert cluster.lead(tp("t", 1)) == (1, (1, 3), 0)
    cluster.write_topic("t", {0: (2, 3), 1: (1, 3), 2: (3, 1)})
    driven.run()
    assert cluster.lead(tp("t", 2)) == (3, (3, 1), 0)
    assert cluster.lead(tp("t", 0)) == (2, (2, 3), 0)


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (MorePartitions("no", 2), KafkaCode.UNKNOWN_TOPIC_OR_PARTITION),
        (MorePartitions("t", 1), KafkaCode.INVALID_PARTITIONS),
        (MorePartitions("t", 2), KafkaCode.INVALID_PARTITIONS),
        (MorePartitions("t", 3, ((9, 1),)), KafkaCode.INVALID_REPLICA_ASSIGNMENT),
        (MorePartitions("t", 3, ((1, 2), (2, 3))), KafkaCode.INVALID_REPLICA_ASSIGNMENT),
        (MorePartitions("t", 3, ((1, 1),)), KafkaCode.INVALID_REPLICA_ASSIGNMENT),
        (MorePartitions("t", 3, ((1, 2, 3),)), KafkaCode.INVALID_REPLICA_ASSIGNMENT),
        (MorePartitions("doomed", 3), KafkaCode.INVALID_TOPIC_EXCEPTION),
        (MorePartitions("moving", 3), KafkaCode.REASSIGNMENT_IN_PROGRESS),
    ],
)
def test_growth_refusals(cluster: ModelCluster, more: MorePartitions, code: KafkaCode) -> None:
    for topic in ("t", "moving"):
        cluster.write_topic(topic, {0: (1, 2), 1: (2, 3)})
    cluster.write_topic("doomed", {0: (1, 9)})
    driven = running(cluster)
    ask(driven, DeleteTopicsRequested(8, ("doomed",), LATER_MS))
    ask(driven, ReassignmentsRequested(9, {tp("moving"): (3, 1)}))
    (result,) = grow(driven, more)
    assert result.code is code


def test_validating_growth_writes_nothing(cluster: ModelCluster) -> None:
    cluster.write_topic("t", {0: (2, 3)})
    driven = running(cluster)
    grow(driven, MorePartitions("t", 4), validate_only=True)
    assert sorted(cluster.topic("t").partitions) == [0]
