"""Who answers for a key, as the controller's word has it."""

from collections.abc import Callable
from uuid import UUID

import pytest

from tidelog.broker.core.coordinator_routing import CoordinatorRouting, kafka_endpoint
from tidelog.kafka.cluster import (
    CONSUMER_OFFSETS,
    TRANSACTION_STATE,
    ClusterView,
    Member,
    PartitionView,
    ShardOwner,
    TopicView,
)
from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.coordination.sharding import shard_of
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import BrokerEpoch, Endpoint, LeaderEpoch
from tidelog.runtime.settings import load_config

# Of four partitions, broker 1 leads the even ones and broker 2 the odd ones; coordinator 7 owns all but the last.
HERE, ELSEWHERE, UNOWNED = 0, 1, 3
COORDINATOR = Member(
    7, BrokerEpoch(70), (Endpoint("GRPC", "h", 1), Endpoint("PLAINTEXT", "h", 2), Endpoint("OTHER", "h", 3))
)


def key_in(shard: int, count: int = 4) -> bytes:
    return next(f"k{number}".encode() for number in range(1000) if shard_of(f"k{number}", count) == shard)


@pytest.fixture
def view() -> ClusterView:
    leaders = (1, 2, 1, 1)
    partitions = {
        index: PartitionView(index, leader, LeaderEpoch(0), (leader,), (leader,))
        for index, leader in enumerate(leaders)
    }
    return ClusterView(
        brokers={id: Member(id, BrokerEpoch(id), ()) for id in (1, 2)},
        coordinators={7: COORDINATOR},
        topics={CONSUMER_OFFSETS: TopicView(CONSUMER_OFFSETS, UUID(int=1), partitions)},
        shards={(CONSUMER_OFFSETS, index): ShardOwner(CONSUMER_OFFSETS, index, 7, 0) for index in range(3)},
    )


@pytest.fixture
def routing(view: ClusterView) -> CoordinatorRouting:
    overrides = {"broker.id": "1", "zookeeper.connect": "z:1", "log.dirs": "d", "offsets.topic.num.partitions": "9"}
    return CoordinatorRouting(load_config(BrokerConfig, file=None, environ={}, overrides=overrides).config, view)


def refusal(call: Callable[[], object]) -> KafkaCode:
    with pytest.raises(KafkaError) as refused:
        call()
    return refused.value.code


def test_the_leader_of_the_shard_passes_requests_to_its_owner(routing: CoordinatorRouting) -> None:
    assert routing.owner_behind(CONSUMER_OFFSETS, key_in(HERE)) is COORDINATOR


def test_other_brokers_refuse(routing: CoordinatorRouting) -> None:
    assert refusal(lambda: routing.owner_behind(CONSUMER_OFFSETS, key_in(ELSEWHERE))) is KafkaCode.NOT_COORDINATOR
    assert routing.owner(CONSUMER_OFFSETS, key_in(ELSEWHERE)) is COORDINATOR


def test_a_shard_without_a_live_owner(routing: CoordinatorRouting, view: ClusterView) -> None:
    not_available = KafkaCode.COORDINATOR_NOT_AVAILABLE
    assert refusal(lambda: routing.owner_behind(CONSUMER_OFFSETS, key_in(UNOWNED))) is not_available
    view.coordinators.clear()
    assert refusal(lambda: routing.owner_behind(CONSUMER_OFFSETS, key_in(HERE))) is not_available


def test_a_topic_that_does_not_exist_has_the_configured_shards_and_no_coordinator(routing: CoordinatorRouting) -> None:
    routing.view.topics.clear()
    assert routing.shard(CONSUMER_OFFSETS, b"some") == shard_of("some", 9)
    assert routing.shard(TRANSACTION_STATE, b"some") == shard_of("some", 50)
    assert routing.leader(CONSUMER_OFFSETS, b"some") is None
    assert refusal(lambda: routing.owner_behind(CONSUMER_OFFSETS, b"some")) is KafkaCode.NOT_COORDINATOR


def test_the_leader_that_clients_are_told_is_alive(routing: CoordinatorRouting, view: ClusterView) -> None:
    assert [routing.leader(CONSUMER_OFFSETS, key_in(shard)) for shard in range(4)] == [1, 2, 1, 1]
    del view.brokers[2]
    assert routing.leader(CONSUMER_OFFSETS, key_in(ELSEWHERE)) is None


def test_the_owners_of_everything_that_is_led_here(routing: CoordinatorRouting, view: ClusterView) -> None:
    assert refusal(lambda: routing.owners_behind(CONSUMER_OFFSETS)) is KafkaCode.COORDINATOR_NOT_AVAILABLE
    view.shards[CONSUMER_OFFSETS, UNOWNED] = ShardOwner(CONSUMER_OFFSETS, UNOWNED, 7, 0)
    assert routing.owners_behind(CONSUMER_OFFSETS) == [COORDINATOR]
    assert routing.owners_behind(TRANSACTION_STATE) == []


def test_partitions_exist_or_not(routing: CoordinatorRouting) -> None:
    asked = [(CONSUMER_OFFSETS, 3), (CONSUMER_OFFSETS, 4), ("t", 0)]
    assert [routing.partition_exists(*one) for one in asked] == [True, False, False]


def test_a_coordinator_speaks_kafka_where_it_does_not_speak_grpc() -> None:
    assert kafka_endpoint(COORDINATOR) == Endpoint("PLAINTEXT", "h", 2)
    assert kafka_endpoint(Member(1, BrokerEpoch(1), COORDINATOR.endpoints[:1])) is None
