"""Two thousand partitions: they are created, outlive their controller, and are in sync again after a broker was bounced."""

import pytest

from tests.support.kafka_calls import call
from tests.support.replicated import Replicated
from tests.support.services import Services
from tests.support.waiting import eventually
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.kafka.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponsePartition

pytestmark = pytest.mark.timeout(300)

PARTITIONS = 1000
# On two quiet cores all of it is a matter of a few seconds (docs/performance.md). The machines of tests are never quiet.
SECONDS = 90.0


def create(cluster: Replicated, name: str, partitions: int, replicas: int) -> KafkaCode:
    asked = CreatableTopic(name=name, num_partitions=partitions, replication_factor=replicas)
    (answer,) = call(cluster.brokers[3], CreateTopicsRequest(topics=[asked], timeout_ms=10_000), 7).topics
    return KafkaCode(answer.error_code)


def told(cluster: Replicated, name: str) -> list[MetadataResponsePartition]:
    """What broker 3 tells its clients of a topic."""
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    (topic,) = call(cluster.brokers[3], request, 12).topics
    return topic.partitions


def is_led(cluster: Replicated, name: str) -> bool:
    found = told(cluster, name)
    return len(found) == PARTITIONS and all(one.leader_id >= 0 for one in found)


def is_in_sync(cluster: Replicated, name: str) -> bool:
    return all(set(one.isr_nodes) == set(one.replica_nodes) for one in told(cluster, name))


def test_many_partitions(cluster: Replicated, services: Services) -> None:
    for name, replicas in (("alone", 1), ("copied", 3)):
        assert create(cluster, name, PARTITIONS, replicas) in (KafkaCode.NONE, KafkaCode.REQUEST_TIMED_OUT)
        eventually(lambda name=name: is_led(cluster, name), SECONDS)  # type: ignore[misc]
    eventually(lambda: is_in_sync(cluster, "copied"), SECONDS)
    active = next(each for each in services.of("controller") if each.id == cluster.zk.active_controller())
    epochs = {one.partition_index: one.leader_epoch for one in told(cluster, "copied")}
    active.kill()
    eventually(lambda: create(cluster, "next", 1, 3) in (KafkaCode.NONE, KafkaCode.TOPIC_ALREADY_EXISTS), SECONDS)
    assert {one.partition_index: one.leader_epoch for one in told(cluster, "copied")} == epochs, "nothing was moved"
    broker = cluster.brokers[1]
    assert broker.stop() == 0
    assert all(one.leader_id in (2, 3) for one in told(cluster, "copied"))
    broker.start().wait_ready(SECONDS)
    eventually(lambda: is_in_sync(cluster, "copied"), SECONDS)
    assert is_led(cluster, "alone")
