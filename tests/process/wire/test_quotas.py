"""Client quotas over the wire: who takes too much is told so at once, and then not read from for a while."""

import itertools
import time
from collections.abc import Iterator

import pytest

from tests.support.batches import plain
from tests.support.services import Service
from tests.support.wire_client import WireClient, create, fetch_request, produce_request
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    QuotaAlteration,
    QuotaEntity,
    QuotaOperation,
)
from tidelog.kafka.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from tidelog.kafka.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from tidelog.kafka.wire.messages.delete_topics import DeleteTopicsRequest
from tidelog.kafka.wire.messages.metadata import MetadataRequest

_names = itertools.count()


@pytest.fixture
def limited(broker: Service) -> Iterator["Limited"]:
    made = Limited(broker, f"limited-{next(_names)}")
    yield made
    made.set(**dict.fromkeys(made.keys))
    made.client.socket.close()


class Limited:
    """A client, and its quotas."""

    def __init__(self, broker: Service, client_id: str) -> None:
        self.broker = broker
        self.client_id = client_id
        self.client = WireClient(broker, client_id)
        self.keys: set[str] = set()

    def set(self, **quotas: float | None) -> None:
        self.keys |= quotas.keys()
        ops = [QuotaOperation(key=key, value=value or 0.0, remove=value is None) for key, value in quotas.items()]
        entity = QuotaEntity(entity_type="client-id", entity_name=self.client_id)
        with WireClient(self.broker) as admin:
            answer = admin.call(AlterClientQuotasRequest(entries=[QuotaAlteration(entity=[entity], ops=ops)]), 1)
        assert [entry.error_code for entry in answer.entries] == [0]

    def waits_for(self, throttle_ms: int) -> None:
        """The next request is answered after this time."""
        began = time.monotonic()
        assert self.client.call(MetadataRequest(topics=[]), 9).brokers
        assert throttle_ms / 1000 * 0.8 < time.monotonic() - began < throttle_ms / 1000 + 5


def test_producing_too_much(limited: Limited, topic: str) -> None:
    limited.set(producer_byte_rate=50_000.0)
    throttled = 0
    for expected in range(100):
        answer = limited.client.call(produce_request(topic, bytes(plain(b"x" * 120_000))), 9)
        found = answer.responses[0].partition_responses[0]
        assert (found.error_code, found.base_offset) == (0, expected), "what is too much is appended all the same"
        throttled = answer.throttle_time_ms
        if throttled:
            break
    assert throttled > 300
    limited.waits_for(throttled)


def test_producing_too_much_without_answers(limited: Limited, topic: str) -> None:
    limited.set(producer_byte_rate=50_000.0)
    for _ in range(6):
        limited.client.ask(produce_request(topic, bytes(plain(b"x" * 100_000)), acks=0), 9)
    limited.waits_for(500)


def test_fetching_too_much(limited: Limited, topic: str) -> None:
    with WireClient(limited.broker) as other:
        for _ in range(3):
            assert other.produce(topic, bytes(plain(b"x" * 200_000))).error_code == 0
    limited.set(consumer_byte_rate=50_000.0)
    first = limited.client.call(fetch_request(topic), 11)
    assert first.throttle_time_ms == 0
    assert len(first.responses[0].partitions[0].records or b"") == 500_000, "no more than ten seconds' worth"
    limited.set(consumer_byte_rate=400_000.0)
    second = limited.client.call(fetch_request(topic), 11)
    assert second.throttle_time_ms == 0
    limited.set(consumer_byte_rate=100_000.0)
    third = limited.client.call(fetch_request(topic), 11)
    assert (third.responses, third.error_code) == ([], 0)
    assert third.throttle_time_ms > 300


def test_taking_too_much_time(limited: Limited) -> None:
    limited.set(request_percentage=0.01)
    until = time.monotonic() + 20
    throttled = 0
    while not throttled and time.monotonic() < until:
        throttled = limited.client.call(MetadataRequest(topics=[]), 9).throttle_time_ms
    assert 0 < throttled <= 1000
    limited.waits_for(throttled)


def creating(limited: Limited, version: int, partitions: int) -> tuple[str, CreateTopicsResponse]:
    name = f"changed-{next(_names)}"
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    with WireClient(limited.broker, limited.client_id) as client:
        return name, client.call(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), version)


def test_changing_too_much(limited: Limited) -> None:
    limited.set(controller_mutation_rate=1.0)
    name, allowed = creating(limited, 6, 30)
    assert (allowed.topics[0].error_code, allowed.throttle_time_ms) == (0, 0), "overdrawn once"
    _, refused = creating(limited, 6, 1)
    assert refused.topics[0].error_code == KafkaCode.THROTTLING_QUOTA_EXCEEDED
    assert 15_000 < refused.throttle_time_ms <= 19_000
    more = CreatePartitionsTopic(name=name, count=31, assignments=None)
    with WireClient(limited.broker, limited.client_id) as client:
        grown = client.call(CreatePartitionsRequest(topics=[more], timeout_ms=5000), 3)
    assert grown.results[0].error_code == KafkaCode.THROTTLING_QUOTA_EXCEEDED
    assert grown.throttle_time_ms > 15_000
    with WireClient(limited.broker, limited.client_id) as client:
        deleted = client.call(DeleteTopicsRequest(topic_names=[name], timeout_ms=5000), 5)
    assert deleted.responses[0].error_code == KafkaCode.THROTTLING_QUOTA_EXCEEDED
    _, older = creating(limited, 5, 1)
    assert older.topics[0].error_code == 0, "older clients do not know the error"
    assert older.throttle_time_ms > 15_000


def test_changes_that_are_refused_anyway_cost_nothing(limited: Limited) -> None:
    limited.set(controller_mutation_rate=1.0)
    for _ in range(3):
        assert creating(limited, 6, 0)[1].topics[0].error_code == KafkaCode.INVALID_PARTITIONS
    with WireClient(limited.broker, limited.client_id) as client:
        asked = DeleteTopicsRequest(topic_names=["nowhere"] * 30, timeout_ms=5000)
        client.call(asked, 5)
    assert creating(limited, 6, 5)[1].throttle_time_ms == 0


def test_growing_and_deleting_within_the_quota(limited: Limited) -> None:
    limited.set(controller_mutation_rate=2.0)
    name = f"grown-{next(_names)}"
    create(limited.client, name)
    more = CreatePartitionsTopic(name=name, count=3, assignments=None)
    grown = limited.client.call(CreatePartitionsRequest(topics=[more], timeout_ms=5000), 3)
    assert [one.error_code for one in grown.results] == [0]
    deleted = limited.client.call(DeleteTopicsRequest(topic_names=[name], timeout_ms=5000), 5)
    assert [one.error_code for one in deleted.responses] == [0]
