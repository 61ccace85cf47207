"""Topics with a real controller: made, grown, deleted, and through the death of a controller."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cluster_view import Zookeeper, zookeeper_at
from tests.support.kafka_calls import call
from tests.support.services import Service, Services
from tests.support.waiting import eventually
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from tidelog.kafka.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.kafka.wire.messages.delete_topics import DeleteTopicsRequest
from tidelog.kafka.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

TIMEOUT_MS = 20_000


@pytest.fixture
def zk(services: Services) -> Iterator[Zookeeper]:
    with zookeeper_at(services.zookeeper) as view:
        yield view


@pytest.fixture
def brokers(services: Services) -> list[Service]:
    """Two controllers and two brokers, ready."""
    services.common = {"zookeeper.session.timeout.ms": "30000"}
    for id in (0, 1):
        services.start("controller", id)
    started = [services.start("broker", id) for id in (1, 2)]
    for service in services.all:
        service.wait_ready()
    return started


def create(broker: Service, *names: str, partitions: int = 2) -> list[int]:
    topics = [CreatableTopic(name=name, num_partitions=partitions, replication_factor=1) for name in names]
    request = CreateTopicsRequest(topics=topics, timeout_ms=TIMEOUT_MS)
    return [topic.error_code for topic in call(broker, request, 7).topics]


def leaders(broker: Service, name: str) -> dict[int, int]:
    """Partition to leader, as this broker tells; empty if it does not know the topic."""
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    return {p.partition_index: p.leader_id for p in call(broker, request, 12).topics[0].partitions}


def folders(brokers: list[Service], name: str) -> set[str]:
    found = (path for broker in brokers for path in Path(broker.settings["log.dirs"]).iterdir())
    return {path.name for path in found if path.name.startswith(f"{name}-")}


def test_a_topic_is_made_on_disk_in_zookeeper_and_in_everybodys_metadata(brokers: list[Service], zk: Zookeeper) -> None:
    assert create(brokers[1], "t", partitions=4) == [KafkaCode.NONE]
    assert set(leaders(brokers[1], "t").values()) == {1, 2}, "the broker that was asked knows when it answers"
    eventually(lambda: leaders(brokers[0], "t") == leaders(brokers[1], "t"))
    assert folders(brokers, "t") == {"t-0", "t-1", "t-2", "t-3"}
    assert set(zk.client.get_children("/brokers/topics/t/partitions")) == {"0", "1", "2", "3"}


def test_a_topic_grows(brokers: list[Service]) -> None:
    create(brokers[0], "t", partitions=1)
    grown = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="t", count=3, assignments=None)], timeout_ms=TIMEOUT_MS
    )
    assert [topic.error_code for topic in call(brokers[0], grown, 2).results] == [KafkaCode.NONE]
    assert sorted(leaders(brokers[0], "t")) == [0, 1, 2]


def test_a_deleted_topic_is_gone_everywhere(brokers: list[Service], zk: Zookeeper) -> None:
    create(brokers[0], "gone", "stays")
    request = DeleteTopicsRequest(topic_names=["gone"], timeout_ms=TIMEOUT_MS)
    assert [topic.error_code for topic in call(brokers[1], request, 5).responses] == [KafkaCode.NONE]
    eventually(lambda: not leaders(brokers[0], "gone"))
    eventually(lambda: zk.client.get_children("/brokers/topics") == ["stays"])
    eventually(lambda: not zk.client.get_children("/admin/delete_topics"))
    assert not {name for name in folders(brokers, "gone") if not name.endswith("-delete")}
    assert folders(brokers, "stays") == {"stays-0", "stays-1"}


def test_topics_survive_the_death_of_the_controller_that_made_them(
    brokers: list[Service], services: Services, zk: Zookeeper
) -> None:
    create(brokers[0], "before")
    told = leaders(brokers[0], "before")
    active = next(each for each in services.of("controller") if each.id == zk.active_controller())
    active.kill()
    eventually(lambda: zk.active_controller() not in (None, active.id))
    assert create(brokers[1], "after") == [KafkaCode.NONE]
    assert leaders(brokers[1], "before") == told
    assert leaders(brokers[1], "after")


def test_a_restarted_broker_leads_what_it_led(brokers: list[Service]) -> None:
    create(brokers[0], "t", partitions=2)
    led = leaders(brokers[0], "t")
    brokers[1].kill()
    eventually(lambda: -1 in leaders(brokers[0], "t").values())
    brokers[1].start().wait_ready()
    eventually(lambda: leaders(brokers[0], "t") == led == leaders(brokers[1], "t"))
