"""Metadata, DescribeCluster and ApiVersions as a broker answers them, without a socket."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import pytest

from tests.support.served_api import ask
from tidelog.broker.wire import describe_cluster, metadata
from tidelog.kafka.cluster import ClusterView, Member, MetadataUpdate, PartitionView, TopicView
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.types import BrokerEpoch, ControllerEpoch, ControllerId, Endpoint, LeaderEpoch
from tidelog.kafka.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tidelog.kafka.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from tidelog.kafka.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tidelog.net import api_versions

if TYPE_CHECKING:
    from collections.abc import Iterable

NOT_ASKED = -(2**31)
ORDERS_ID, OFFSETS_ID = uuid4(), uuid4()


def member(id: int, *listeners: str, rack: str | None = None) -> Member:
    endpoints = [Endpoint(name, f"{name.lower()}-{id}", 9000 + id) for name in (*listeners, "GRPC")]
    return Member(id, BrokerEpoch(1), tuple(endpoints), rack)


def partition(index: int, leader: int, replicas: tuple[int, ...], isr: tuple[int, ...] | None = None) -> PartitionView:
    return PartitionView(index, leader, LeaderEpoch(4), replicas if isr is None else isr, replicas)


@pytest.fixture
def view() -> ClusterView:
    """Brokers 2 and 5 are alive, 7 is not; 5 has no INTERNAL listener."""
    made = ClusterView()
    made.apply(
        MetadataUpdate(
            ControllerId(1),
            ControllerEpoch(1),
            "cluster",
            brokers=(member(5, "PLAINTEXT"), member(2, "PLAINTEXT", "INTERNAL", rack="east")),
            topics=(
                TopicView(
                    "orders",
                    ORDERS_ID,
                    {0: partition(0, 2, (2, 7, 5), (2, 5)), 1: partition(1, 5, (5, 2)), 2: partition(2, 7, (7,))},
                ),
                TopicView("__consumer_offsets", OFFSETS_ID, {0: partition(0, 2, (2,))}),
            ),
            topics_complete=True,
        )
    )
    return made


@dataclass
class FakeCreation:
    """Notes what is to be created."""

    is_enabled: bool = True
    code: KafkaCode = KafkaCode.LEADER_NOT_AVAILABLE
    created: list[str] = field(default_factory=list)

    def create(self, names: Iterable[str]) -> dict[str, KafkaCode]:
        self.created += names
        return dict.fromkeys(self.created, self.code)


NO_CREATION = FakeCreation(is_enabled=False)


@dataclass
class FakeDepartures:
    lost: frozenset[int] = frozenset()
    still_listed: tuple[Member, ...] = ()

    def lost_leaders(self) -> frozenset[int]:
        return self.lost


NO_DEPARTURES = FakeDepartures()


def ask_metadata(
    view: ClusterView, version: int, *names: str, listener: str = "PLAINTEXT", **more: Any
) -> MetadataResponse:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names], **more)
    answer: MetadataResponse = ask(metadata.served(view, NO_CREATION, NO_DEPARTURES), version, request, listener)
    return answer


def partitions(answer: MetadataResponse) -> dict[int, MetadataResponsePartition]:
    return {one.partition_index: one for one in answer.topics[0].partitions}


@pytest.mark.parametrize("version", range(13))
def test_brokers_controller_and_cluster(view: ClusterView, version: int) -> None:
    answer = ask_metadata(view, version, "orders")
    assert [(b.node_id, b.host, b.port) for b in answer.brokers] == [(2, "plaintext-2", 9002), (5, "plaintext-5", 9005)]
    assert [b.rack for b in answer.brokers] == (["east", None] if version >= 1 else [None, None])
    assert answer.controller_id == (2 if version >= 1 else -1)
    assert answer.cluster_id == ("cluster" if version >= 2 else None)


def test_the_address_is_that_of_the_listener_that_was_asked_on(view: ClusterView) -> None:
    answer = ask_metadata(view, 9, listener="INTERNAL")
    assert [(b.node_id, b.host) for b in answer.brokers] == [(2, "internal-2")]


@pytest.mark.parametrize("version", range(1, 13))
def test_a_topic_with_partitions(view: ClusterView, version: int) -> None:
    answer = ask_metadata(view, version, "orders")
    topic, parts = answer.topics[0], partitions(answer)
    assert (topic.name, topic.error_code, topic.is_internal) == ("orders", 0, False)
    assert topic.topic_id == (ORDERS_ID if version >= 10 else UUID(int=0))
    assert (parts[0].leader_id, parts[0].error_code, parts[0].replica_nodes, parts[0].isr_nodes) == (
        2,
        0,
        [2, 7, 5],
        [2, 5],
    )
    assert parts[0].offline_replicas == ([7] if version >= 5 else [])
    assert parts[0].leader_epoch == (4 if version >= 7 else -1)


@pytest.mark.parametrize("version", range(13))
def test_a_partition_whose_leader_is_dead(view: ClusterView, version: int) -> None:
    dead = partitions(ask_metadata(view, version, "orders"))[2]
    assert (dead.error_code, dead.leader_id) == (KafkaCode.LEADER_NOT_AVAILABLE, -1)


@pytest.mark.parametrize("version", range(13))
def test_a_leader_that_died_a_moment_ago_is_none(view: ClusterView, version: int) -> None:
    served = metadata.served(view, NO_CREATION, FakeDepartures(lost=frozenset({2})))
    answer = ask(served, version, MetadataRequest(topics=[MetadataRequestTopic(name="orders")]))
    lost = partitions(answer)[0]
    assert (lost.error_code, lost.leader_id) == (KafkaCode.LEADER_NOT_AVAILABLE, -1)
    assert partitions(answer)[1].leader_id == 5
    assert [broker.node_id for broker in answer.brokers] == [2, 5]


def test_a_broker_that_left_a_moment_ago_is_listed_but_leads_nothing(view: ClusterView) -> None:
    left = view.brokers.pop(2)
    served = metadata.served(view, NO_CREATION, FakeDepartures(still_listed=(left,)))
    answer = ask(served, 12, MetadataRequest(topics=[MetadataRequestTopic(name="orders")]))
    assert [broker.node_id for broker in answer.brokers] == [2, 5]
    assert partitions(answer)[0].error_code == KafkaCode.LEADER_NOT_AVAILABLE
    assert 2 in partitions(answer)[0].offline_replicas


@pytest.mark.parametrize(("version", "code"), [(5, KafkaCode.LEADER_NOT_AVAILABLE), (6, KafkaCode.LISTENER_NOT_FOUND)])
def test_a_partition_whose_leader_lacks_the_listener(view: ClusterView, version: int, code: KafkaCode) -> None:
    unreachable = partitions(ask_metadata(view, version, "orders", listener="INTERNAL"))[1]
    assert (unreachable.error_code, unreachable.leader_id) == (code, -1)


def test_the_oldest_clients_are_not_told_of_replicas_on_dead_brokers(view: ClusterView) -> None:
    parts = partitions(ask_metadata(view, 0, "orders"))
    assert (parts[0].error_code, parts[0].replica_nodes, parts[0].leader_id) == (
        KafkaCode.REPLICA_NOT_AVAILABLE,
        [2, 5],
        2,
    )
    assert (parts[1].error_code, parts[1].replica_nodes) == (0, [5, 2])


@pytest.mark.parametrize("version", range(13))
def test_all_topics_are_asked_for_with_null_or_in_v0_with_an_empty_list(view: ClusterView, version: int) -> None:
    request = MetadataRequest(topics=[] if version == 0 else None)
    answer = ask(metadata.served(view, NO_CREATION, NO_DEPARTURES), version, request)
    assert {topic.name: topic.is_internal for topic in answer.topics} == {
        "orders": False,
        "__consumer_offsets": version >= 1,
    }


@pytest.mark.parametrize("version", range(1, 13))
def test_an_empty_list_asks_for_no_topics(view: ClusterView, version: int) -> None:
    assert ask_metadata(view, version).topics == []


@pytest.mark.parametrize("version", range(13))
def test_unknown_and_invalid_names_are_errors_of_those_topics_only(view: ClusterView, version: int) -> None:
    answer = ask_metadata(view, version, "missing", "orders", "a b", "orders", "bad\ufffd")
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [
        ("missing", KafkaCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("orders", KafkaCode.NONE),
        ("a b", KafkaCode.INVALID_TOPIC_EXCEPTION),
        ("bad\ufffd", KafkaCode.INVALID_TOPIC_EXCEPTION),
    ]
    assert answer.topics[0].partitions == []
    assert answer.topics[0].topic_id == UUID(int=0)


def ask_with(creation: FakeCreation, view: ClusterView, version: int, **more: Any) -> dict[str | None, int]:
    names = ["orders", "new", "a/b"]
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names], **more)
    answer: MetadataResponse = ask(metadata.served(view, creation, NO_DEPARTURES), version, request)
    return {topic.name: topic.error_code for topic in answer.topics}


@pytest.mark.parametrize("version", range(13))
def test_an_unknown_topic_is_created_where_the_client_allows_it(view: ClusterView, version: int) -> None:
    for allowed in (True, False):
        creation = FakeCreation()
        codes = ask_with(creation, view, version, allow_auto_topic_creation=allowed)
        is_created = allowed or version < 4
        assert creation.created == (["new"] if is_created else [])
        assert codes == {"orders": 0, "new": 5 if is_created else 3, "a/b": KafkaCode.INVALID_TOPIC_EXCEPTION}


def test_an_unknown_topic_is_not_created_where_that_is_off(view: ClusterView) -> None:
    creation = FakeCreation(is_enabled=False)
    assert ask_with(creation, view, 9)["new"] == KafkaCode.UNKNOWN_TOPIC_OR_PARTITION
    assert creation.created == []


def ask_by_id(view: ClusterView, version: int, topic_id: UUID, name: str | None) -> MetadataResponseTopic:
    request = MetadataRequest(topics=[MetadataRequestTopic(topic_id=topic_id, name=name)])
    answer: MetadataResponse = ask(metadata.served(view, NO_CREATION, NO_DEPARTURES), version, request)
    return answer.topics[0]


def test_a_broker_that_was_not_told_of_topics_yet_does_not_deny_them() -> None:
    """A client that hears that its topic does not exist may give it up, and this broker has but started."""
    creation = FakeCreation(is_enabled=True)
    asked = [MetadataRequestTopic(name="orders"), MetadataRequestTopic(name="no good")]
    answer = ask(
        metadata.served(ClusterView(), creation, NO_DEPARTURES),
        9,
        MetadataRequest(topics=asked, allow_auto_topic_creation=True),
    )
    codes = [topic.error_code for topic in answer.topics]
    assert codes == [KafkaCode.LEADER_NOT_AVAILABLE, KafkaCode.INVALID_TOPIC_EXCEPTION]
    assert creation.created == []
    assert ask_by_id(ClusterView(), 12, ORDERS_ID, None).error_code == KafkaCode.LEADER_NOT_AVAILABLE


def test_topics_by_id(view: ClusterView) -> None:
    known = ask_by_id(view, 12, ORDERS_ID, None)
    assert (known.name, known.topic_id, known.error_code, len(known.partitions)) == ("orders", ORDERS_ID, 0, 3)
    unknown_id = uuid4()
    unknown = ask_by_id(view, 12, unknown_id, None)
    assert (unknown.name, unknown.topic_id, unknown.error_code) == (None, unknown_id, KafkaCode.UNKNOWN_TOPIC_ID)


@pytest.mark.parametrize("version", [10, 11])
def test_topics_by_id_are_refused_before_v12(view: ClusterView, version: int) -> None:
    assert ask_by_id(view, version, ORDERS_ID, "orders").error_code == KafkaCode.INVALID_REQUEST
    assert ask_by_id(view, version, ORDERS_ID, None).error_code == KafkaCode.INVALID_REQUEST


def test_authorized_operations_are_told_to_those_who_ask(view: ClusterView) -> None:
    plain = ask_metadata(view, 9, "orders")
    assert (plain.topics[0].topic_authorized_operations, plain.cluster_authorized_operations) == (NOT_ASKED, NOT_ASKED)
    asked = ask_metadata(
        view, 9, "orders", include_topic_authorized_operations=True, include_cluster_authorized_operations=True
    )
    assert asked.topics[0].topic_authorized_operations == sum(1 << n for n in (3, 4, 5, 6, 7, 8, 10, 11))
    assert asked.cluster_authorized_operations == sum(1 << n for n in (5, 7, 8, 9, 10, 11, 12))


@pytest.mark.parametrize("version", [0, 1])
def test_describe_cluster(view: ClusterView, version: int) -> None:
    answer: DescribeClusterResponse = ask(describe_cluster.served(view), version, DescribeClusterRequest())
    assert (answer.error_code, answer.error_message) == (0, None)
    assert (answer.cluster_id, answer.controller_id, answer.cluster_authorized_operations) == ("cluster", 2, NOT_ASKED)
    assert [(b.broker_id, b.host, b.port, b.rack) for b in answer.brokers] == [
        (2, "plaintext-2", 9002, "east"),
        (5, "plaintext-5", 9005, None),
    ]


@pytest.mark.parametrize(
    ("endpoint_type", "code"), [(2, KafkaCode.MISMATCHED_ENDPOINT_TYPE), (9, KafkaCode.UNSUPPORTED_ENDPOINT_TYPE)]
)
def test_describe_cluster_knows_brokers_only(view: ClusterView, endpoint_type: int, code: KafkaCode) -> None:
    answer = ask(describe_cluster.served(view), 1, DescribeClusterRequest(endpoint_type=endpoint_type))
    assert answer.error_code == code
    assert answer.brokers == []


def ask_versions(view: ClusterView, version: int, name: str = "client", software: str = "1.0") -> ApiVersionsResponse:
    served = api_versions.served([metadata.served(view, NO_CREATION, NO_DEPARTURES), describe_cluster.served(view)])
    request = ApiVersionsRequest(client_software_name=name, client_software_version=software)
    answer: ApiVersionsResponse = ask(served, version, request)
    return answer


@pytest.mark.parametrize("version", range(5))
def test_api_versions_offers_exactly_what_is_served(view: ClusterView, version: int) -> None:
    answer = ask_versions(view, version)
    assert answer.error_code == 0
    offered = [(one.api_key, one.min_version, one.max_version) for one in answer.api_keys]
    assert offered == [(3, 0, 12), (18, 0, 4), (60, 0, 1)]


@pytest.mark.parametrize("name", ["", "-a", "a-", ".a", "a b", "a_b", "é", "a/b", "a\n"])
def test_an_illegal_software_name_or_version_is_refused(view: ClusterView, name: str) -> None:
    for answer in (ask_versions(view, 3, name, "1.0"), ask_versions(view, 3, "a", name)):
        assert answer.error_code == KafkaCode.INVALID_REQUEST
        assert answer.api_keys == []


@pytest.mark.parametrize("name", ["a", "0", "apache-kafka-java", "a.b-c.1", "A--b..C"])
def test_a_legal_software_name_is_accepted(view: ClusterView, name: str) -> None:
    assert ask_versions(view, 3, name, name).error_code == 0
