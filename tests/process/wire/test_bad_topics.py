"""Topics that cannot be: refused with their code, and not there afterwards."""

import pytest

from tests.support.wire_client import WireClient
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from tidelog.kafka.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tidelog.kafka.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

pytestmark = pytest.mark.usefixtures("unharmed")

BAD_NAMES = ["", ".", "..", "a/b", "a b", "a\0b", "ä", "x" * 250, "../../etc"]


def creation(client: WireClient, **fields: object) -> int:
    wanted = CreatableTopic(**{"name": "bad", "num_partitions": 1, "replication_factor": 1, **fields})  # type: ignore[arg-type]
    answer = client.call(CreateTopicsRequest(topics=[wanted], timeout_ms=10_000), 5)
    return answer.topics[0].error_code


def is_there(client: WireClient, name: str) -> bool:
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    return client.call(asked, 9).topics[0].error_code == KafkaCode.NONE


@pytest.mark.parametrize("name", BAD_NAMES, ids=repr)
def test_names(client: WireClient, name: str) -> None:
    assert creation(client, name=name) == KafkaCode.INVALID_TOPIC_EXCEPTION
    assert not is_there(client, name)
    assert client.produce(name).error_code in (
        KafkaCode.UNKNOWN_TOPIC_OR_PARTITION,
        KafkaCode.INVALID_TOPIC_EXCEPTION,
    )


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"num_partitions": 10**9}, KafkaCode.INVALID_PARTITIONS),
        ({"num_partitions": 0}, KafkaCode.INVALID_PARTITIONS),
        ({"num_partitions": -2}, KafkaCode.INVALID_PARTITIONS),
        ({"replication_factor": 2}, KafkaCode.INVALID_REPLICATION_FACTOR),
        ({"replication_factor": 32_767}, KafkaCode.INVALID_REPLICATION_FACTOR),
        ({"replication_factor": 0}, KafkaCode.INVALID_REPLICATION_FACTOR),
        ({"configs": [CreatableTopicConfig(name="no.such.config", value="1")]}, KafkaCode.INVALID_CONFIG),
        ({"configs": [CreatableTopicConfig(name="retention.ms", value="soon")]}, KafkaCode.INVALID_CONFIG),
        (
            {
                "num_partitions": -1,
                "replication_factor": -1,
                "assignments": [CreatableReplicaAssignment(partition_index=5, broker_ids=[1])],
            },
            KafkaCode.INVALID_REPLICA_ASSIGNMENT,
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_shapes(client: WireClient, fields: dict[str, object], code: KafkaCode) -> None:
    assert creation(client, **fields) == code
    assert not is_there(client, "bad")


def test_partitions_that_cannot_be_added(client: WireClient, topic: str) -> None:
    for count in (10**9, 1, 0, -1):
        asked = CreatePartitionsTopic(name=topic, count=count, assignments=None)
        answer = client.call(CreatePartitionsRequest(topics=[asked], timeout_ms=5000), 2)
        assert answer.results[0].error_code == KafkaCode.INVALID_PARTITIONS, count


def test_a_thousand_names_that_cannot_be(client: WireClient) -> None:
    topics = [CreatableTopic(name=f"a/{number}", num_partitions=1, replication_factor=1) for number in range(1000)]
    answer = client.call(CreateTopicsRequest(topics=topics, timeout_ms=10_000), 5)
    assert {one.error_code for one in answer.topics} == {KafkaCode.INVALID_TOPIC_EXCEPTION}
