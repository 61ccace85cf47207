"""What people read about: each election, change of an in-sync set, fencing, truncation and step of a reassignment is one
line of a log, and one more in a counter that tells the cause."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.kafka_calls import call
from tests.support.replicated import Replicated
from tests.support.services import Service, Services, get_text
from tests.support.waiting import eventually
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)


@pytest.fixture
def services(services: Services) -> Services:
    """They write their logs as JSON."""
    services.common = {"log.format": "json"}
    return services


def counted(services: Sequence[Service], name: str, **labels: str) -> float:
    """The sum over processes."""
    return sum(
        sample.value
        for service in services
        for family in text_string_to_metric_families(get_text(f"http://{service.http}/metrics"))
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )


def told(services: Sequence[Service], event: str, subject: str) -> list[dict[str, Any]]:
    """What lines of this kind say about this partition or process."""
    lines = [json.loads(line) for service in services for line in service.text().splitlines() if line.startswith("{")]
    said = [line["fields"] for line in lines if line["event"] == event]
    return [fields for fields in said if subject in (fields.get("subject"), fields.get("partition"))]


def happened(services: Services, what: str, cause: str) -> float:
    controllers = services.of("controller")
    return counted(controllers, "tidelog_controller_happenings_total", what=what, cause=cause)


def test_the_death_of_a_leader_is_told(cluster: Replicated, services: Services) -> None:
    topic = cluster.create("t", 1, 2, 3)
    controllers = services.of("controller")
    cluster.brokers[1].kill()
    eventually(lambda: cluster.state(topic)["isr"] == [2, 3])
    eventually(lambda: happened(services, "fenced", "found dead") == 1)
    assert len(told(controllers, "fenced", "broker 1")) == 1
    eventually(lambda: happened(services, "election", "OFFLINE") == 1)
    (election,) = told(controllers, "election", "t-0")
    assert (election["cause"], election["why"]) == ("OFFLINE", "leader 2 epoch 1 isr [2, 3]")
    assert happened(services, "broker failed", "is gone") == 1


def test_changes_of_an_in_sync_set_and_a_truncation_are_told(cluster: Replicated, services: Services) -> None:
    topic = cluster.create("t", 1, 2, configs={"unclean.leader.election.enable": "true"})
    one, two = cluster.brokers[1], cluster.brokers[2]
    assert cluster.produce(topic, b"on both") is KafkaCode.NONE
    two.kill()
    eventually(lambda: happened(services, "isr shrunk", "broker is gone") == 1)
    assert cluster.produce(topic, b"on one") is KafkaCode.NONE
    one.kill()
    eventually(lambda: cluster.leader(topic) == -1)
    two.start().wait_ready()
    eventually(lambda: cluster.leader(topic) == 2)
    assert happened(services, "unclean election", "OFFLINE") == 1
    assert cluster.produce(topic, b"instead") is KafkaCode.NONE
    one.start().wait_ready()
    (cut,) = told([one], "log truncated", "t-0")
    assert cut["why"] == "differs from the leader's"
    assert counted([one], "tidelog_replica_truncations_total", topic=topic, why=cut["why"]) == 1
    grown = [line for line in told([two], "isr changed", "t-0") if line["isr"] == [2, 1]]
    assert [line["why"] for line in grown] == ["caught up"]
    assert counted([two], "kafka_server_replicamanager_isrexpands_total") >= 1


def test_the_steps_of_a_reassignment_are_told(cluster: Replicated, services: Services) -> None:
    topic = cluster.create("t", 1, 2)
    asked = ReassignableTopic(name=topic, partitions=[ReassignablePartition(partition_index=0, replicas=[3, 2])])
    call(cluster.brokers[1], AlterPartitionReassignmentsRequest(timeout_ms=20_000, topics=[asked]), 0)
    eventually(lambda: cluster.isr(topic) == {2, 3} and happened(services, "reassignment completed", "") == 1)
    steps = [line["cause"] for line in told(services.of("controller"), "reassignment step", "t-0")]
    assert steps == ["waiting", "in sync", "removed"]
    for step in steps:
        assert happened(services, "reassignment step", step) == 1
    assert happened(services, "election", "REASSIGN") == 1
    assert happened(services, "isr shrunk", "reassigned") == 1
