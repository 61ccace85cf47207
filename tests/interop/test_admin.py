"""Topics and their configuration in the hands of stock clients."""

import pytest

from tests.support.stock_clients.every import STOCK_CLIENTS
from tests.support.stock_clients.interface import Message, StockClient
from tests.support.waiting import eventually

CLIENTS = pytest.mark.parametrize("client", STOCK_CLIENTS, ids=lambda client: client.name)


@CLIENTS
def test_a_topic_is_created_listed_and_deleted(bootstrap: str, topic: str, client: StockClient) -> None:
    client.create(bootstrap, topic, 3, {"retention.ms": "3600000"})
    for other in STOCK_CLIENTS:
        assert other.topics(bootstrap)[topic] == 3
        assert other.config(bootstrap, topic, "retention.ms") == "3600000"
    client.delete(bootstrap, topic)
    eventually(lambda: topic not in client.topics(bootstrap))
    client.create(bootstrap, topic, 1, {})
    assert client.produce(bootstrap, topic, [Message(b"k", b"v", 1000)]) == [0], "nothing of the former one is left"


@CLIENTS
def test_a_config_is_changed_and_in_force(bootstrap: str, topic: str, client: StockClient) -> None:
    client.create(bootstrap, topic, 1, {})
    assert client.config(bootstrap, topic, "compression.type") == "producer"
    client.set_config(bootstrap, topic, "compression.type", "gzip")
    eventually(lambda: client.config(bootstrap, topic, "compression.type") == "gzip")
    client.set_config(bootstrap, topic, "message.timestamp.type", "LogAppendTime")
    eventually(lambda: client.config(bootstrap, topic, "message.timestamp.type") == "LogAppendTime")
    client.produce(bootstrap, topic, [Message(b"k", b"v", 1000)])
    (found,) = client.consume(bootstrap, topic, 0, 1)
    assert found.timestamp_ms > 1000
