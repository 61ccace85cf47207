"""Topics that are created because a client asks for them."""

import pytest

from tests.support.waiting import eventually
from tests.support.wire_client import WireClient
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponseTopic


def look_up(client: WireClient, name: str, version: int, *, allowed: bool = True) -> MetadataResponseTopic:
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=allowed)
    return client.call(asked, version).topics[0]


@pytest.mark.parametrize("version", [1, 9])
def test_a_topic_comes_into_being_when_it_is_asked_for(client: WireClient, version: int) -> None:
    name = f"wanted-{version}"
    assert look_up(client, name, version).error_code == KafkaCode.LEADER_NOT_AVAILABLE
    eventually(lambda: look_up(client, name, version).error_code == KafkaCode.NONE)
    assert len(look_up(client, name, version).partitions) == 1
    assert client.produce(name).base_offset == 0


def test_not_if_the_client_does_not_want_it(client: WireClient) -> None:
    for _ in range(3):
        code = look_up(client, "unwanted", 9, allowed=False).error_code
        assert code == KafkaCode.UNKNOWN_TOPIC_OR_PARTITION


def test_too_few_brokers_for_an_internal_topic(client: WireClient) -> None:
    """Its replication factor is three, and there is one broker."""
    found = look_up(client, "__consumer_offsets", 9)
    assert (found.error_code, found.is_internal) == (KafkaCode.INVALID_REPLICATION_FACTOR, True)
