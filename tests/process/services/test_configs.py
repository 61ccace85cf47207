"""Configs and quotas of real brokers, over the Kafka wire: altered on one, seen on all, and kept over a restart."""

import json
from collections.abc import Iterator
from typing import Any, cast

import pytest

from tests.support.cluster_view import Zookeeper, zookeeper_at
from tests.support.kafka_calls import call
from tests.support.services import Service, Services
from tests.support.waiting import eventually
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages import alter_client_quotas, describe_client_quotas
from tidelog.kafka.wire.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from tidelog.kafka.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from tidelog.kafka.wire.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
    IncrementalConfig,
)

BROKER, LOGGER = 4, 8
SET, DELETE = 0, 1


@pytest.fixture
def brokers(services: Services) -> tuple[Service, Service]:
    services.start("controller", 0)
    made = services.start("broker", 1), services.start("broker", 2, message_max_bytes="777777")
    for broker in made:
        broker.wait_ready()
    return made


@pytest.fixture
def zk(services: Services) -> Iterator[Zookeeper]:
    with zookeeper_at(services.zookeeper) as view:
        yield view


def described(broker: Service, name: str, key: str, kind: int = BROKER) -> tuple[str | None, int] | None:
    """A setting's value and source; None if the broker does not tell it."""
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=[key])
    (result,) = call(broker, DescribeConfigsRequest(resources=[resource]), 4).results
    assert result.error_code == KafkaCode.NONE
    return next(((each.value, each.config_source) for each in result.configs), None)


def change(broker: Service, name: str, key: str, value: str | None, kind: int = BROKER) -> int:
    entry = IncrementalConfig(name=key, config_operation=DELETE if value is None else SET, value=value)
    resource = IncrementalAlterConfigsResource(resource_type=kind, resource_name=name, configs=[entry])
    (result,) = call(broker, IncrementalAlterConfigsRequest(resources=[resource]), 1).responses
    return int(result.error_code)


def replace(broker: Service, name: str, **entries: str) -> int:
    configs = [AlterableConfig(name=key.replace("_", "."), value=value) for key, value in entries.items()]
    resource = AlterConfigsResource(resource_type=BROKER, resource_name=name, configs=configs)
    (result,) = call(broker, AlterConfigsRequest(resources=[resource]), 2).responses
    return int(result.error_code)


def set_quota(broker: Service, client_id: str, rate: float) -> int:
    message = alter_client_quotas
    entry = message.QuotaAlteration(
        entity=[message.QuotaEntity(entity_type="client-id", entity_name=client_id)],
        ops=[message.QuotaOperation(key="producer_byte_rate", value=rate, remove=False)],
    )
    (result,) = call(broker, message.AlterClientQuotasRequest(entries=[entry]), 1).entries
    return int(result.error_code)


def quotas(broker: Service) -> dict[str | None, dict[str, float]]:
    entries = call(broker, describe_client_quotas.DescribeClientQuotasRequest(), 1).entries
    return {
        entry.entity[0].entity_name: {each.key: each.value for each in entry.values}
        for entry in cast("list[describe_client_quotas.QuotaEntry]", entries)
    }


def stored(zk: Zookeeper, path: str) -> Any:
    return json.loads(zk.client.get(path)[0])["config"]


KEY = "message.max.bytes"


def test_what_is_set_for_all_brokers_is_seen_by_all_and_outlives_them(
    brokers: tuple[Service, Service], zk: Zookeeper
) -> None:
    one, two = brokers
    assert (described(one, "1", KEY), described(two, "2", KEY)) == (("1048588", 5), ("777777", 4))
    assert change(two, "", KEY, "5000") == KafkaCode.NONE
    assert described(two, "2", KEY) == ("5000", 3)
    eventually(lambda: described(one, "1", KEY) == ("5000", 3))
    assert change(one, "1", KEY, "6000") == KafkaCode.NONE
    assert described(one, "1", KEY) == ("6000", 2)
    assert stored(zk, "/config/brokers/<default>") == {KEY: "5000"}
    assert stored(zk, "/config/brokers/1") == {KEY: "6000"}
    for broker in brokers:
        broker.stop()
        broker.start().wait_ready()
    assert (described(one, "1", KEY), described(two, "2", KEY)) == (("6000", 2), ("5000", 3))
    assert replace(one, "1", log_segment_bytes="70000") == KafkaCode.NONE
    assert described(one, "1", KEY) == ("5000", 3)
    assert change(one, "", KEY, None) == KafkaCode.NONE
    eventually(lambda: described(two, "2", KEY) == ("777777", 4))


def test_quotas_are_seen_by_all_and_outlive_them(brokers: tuple[Service, Service], zk: Zookeeper) -> None:
    one, two = brokers
    assert set_quota(one, "an app", 1000.0) == KafkaCode.NONE
    assert quotas(one) == {"an app": {"producer_byte_rate": 1000.0}}
    assert quotas(two) == quotas(one)
    assert stored(zk, "/config/clients/an%20app") == {"producer_byte_rate": "1000"}
    two.kill()
    two.start().wait_ready()
    assert quotas(two) == {"an app": {"producer_byte_rate": 1000.0}}


@pytest.mark.parametrize(
    ("name", "key", "value", "code"),
    [
        ("1", "broker.id", "9", KafkaCode.INVALID_REQUEST),
        ("1", "listeners", "PLAINTEXT://:1", KafkaCode.INVALID_REQUEST),
        ("1", KEY, "x", KafkaCode.INVALID_REQUEST),
        ("1", KEY, "\0", KafkaCode.INVALID_REQUEST),
        ("1", "log.cleaner.threads", "0", KafkaCode.INVALID_REQUEST),
        ("1", "", "1", KafkaCode.INVALID_REQUEST),
        ("2", KEY, "5000", KafkaCode.INVALID_REQUEST),
        ("../../topics/t", KEY, "5000", KafkaCode.INVALID_REQUEST),
        ("", "leader.replication.throttled.rate", "5000", KafkaCode.INVALID_REQUEST),
    ],
)
def test_bad_changes_change_nothing(
    services: Services, zk: Zookeeper, name: str, key: str, value: str, code: KafkaCode
) -> None:
    # One broker is enough, and no controller is needed: changes work wherever ZooKeeper is reached.
    broker = services.start("broker", 1)
    eventually(lambda: 1 in zk.ids())
    assert change(broker, name, key, value) == code
    assert zk.client.get_children("/config/brokers") == []
    assert zk.client.get_children("/config/changes") == []


def test_a_loggers_level_is_set_while_the_broker_runs(brokers: tuple[Service, Service]) -> None:
    broker = brokers[0]
    assert described(broker, "1", "tidelog", LOGGER) == ("INFO", 6)
    assert change(broker, "1", "tidelog", "DEBUG", LOGGER) == KafkaCode.NONE
    assert described(broker, "1", "tidelog", LOGGER) == ("DEBUG", 6)
    assert change(broker, "1", "tidelog", "LOUD", LOGGER) == KafkaCode.INVALID_CONFIG
