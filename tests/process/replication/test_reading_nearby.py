"""Consumers read from the replica in their own rack (KIP-392), and copying keeps within its quota (KIP-73)."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from prometheus_client.parser import text_string_to_metric_families

from tests.support.cluster_view import zookeeper_at
from tests.support.kafka_calls import call
from tests.support.replicated import Replicated
from tests.support.services import Service, Services, get_text
from tests.support.waiting import eventually
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
    IncrementalConfig,
)

SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
# One record a second.
RATE, RECORD, RECORDS = 10_000, 10_000, 12
UNHURRIED_S = 8.0
BROKER = 4


@pytest.fixture
def cluster(services: Services) -> Iterator[Replicated]:
    """Every broker is in a rack of its own."""
    services.common = {"zookeeper.session.timeout.ms": "6000"}
    services.start("controller", 0)
    shared = {"replica_selector_class": SELECTOR, "replica_fetch_max_bytes": str(RECORD)}
    brokers = {id: services.start("broker", id, broker_rack=f"rack-{id}", **shared) for id in (1, 2)}
    with zookeeper_at(services.zookeeper) as zk:
        for service in services.all:
            service.wait_ready()
        yield Replicated(brokers, zk)


def bytes_out(broker: Service, topic: str) -> float:
    return sum(
        sample.value
        for family in text_string_to_metric_families(get_text(f"http://{broker.http}/metrics"))
        for sample in family.samples
        if sample.name == "kafka_server_brokertopicmetrics_bytesout_total" and sample.labels["topic"] == topic
    )


def test_a_consumer_reads_from_the_follower_in_its_rack(cluster: Replicated) -> None:
    topic = cluster.create("t", 1, 2)
    for number in range(10):
        assert cluster.produce(topic, str(number).encode()) is KafkaCode.NONE
    settings: dict[str, Any] = {
        "bootstrap.servers": cluster.bootstrap,
        "group.id": "none",
        "client.rack": "rack-2",
        # There is no coordinator here, and closing would wait for one.
        "enable.auto.commit": False,
    }
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, 0, 0)])
    values: list[bytes] = []

    def has_read() -> bool:
        values.extend(one.value() or b"" for one in consumer.consume(10, 0.2) if one.error() is None)
        return len(values) == 10

    eventually(has_read)
    consumer.close()
    assert values == [str(number).encode() for number in range(10)]
    assert (bytes_out(cluster.brokers[1], topic), bytes_out(cluster.brokers[2], topic) > 0) == (0, True)


def test_a_throttled_follower_catches_up_no_faster_than_its_quota(cluster: Replicated) -> None:
    topic = cluster.create("t", 1, 2, configs={"follower.replication.throttled.replicas": "0:2"})
    limit = IncrementalConfig(name="follower.replication.throttled.rate", value=str(RATE))
    asked = [IncrementalAlterConfigsResource(resource_type=BROKER, resource_name="2", configs=[limit])]
    answer = call(cluster.brokers[2], IncrementalAlterConfigsRequest(resources=asked), 1)
    assert [one.error_code for one in answer.responses] == [KafkaCode.NONE]
    cluster.brokers[2].kill()
    eventually(lambda: cluster.isr(topic) == {1})
    for _ in range(RECORDS):
        assert cluster.produce(topic, b"x" * RECORD) is KafkaCode.NONE
    started = time.monotonic()
    cluster.brokers[2].start().wait_ready(60)
    eventually(lambda: cluster.isr(topic) == {1, 2}, 60)
    assert time.monotonic() - started > UNHURRIED_S, "a dozen records, each a second's worth"
    assert len(cluster.logs(topic)) == 1
