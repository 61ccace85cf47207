"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs and the quota APIs as a broker answers them, without a socket."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from tests.support.served_api import ask
from tidelog.broker.core.live_config import LiveConfig
from tidelog.broker.core.quota_entries import QuotaOwner, QuotaTable
from tidelog.broker.shell.broker_loggers import BrokerLoggers
from tidelog.broker.wire import (
    alter_client_quotas,
    alter_configs,
    describe_client_quotas,
    describe_configs,
    incremental_alter_configs,
)
from tidelog.kafka.cluster import ClusterView, TopicView
from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages import alter_client_quotas as alter_quotas_messages
from tidelog.kafka.wire.messages import describe_client_quotas as describe_quotas_messages
from tidelog.kafka.wire.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from tidelog.kafka.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResult,
)
from tidelog.kafka.wire.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
    IncrementalConfig,
)
from tidelog.zk.znodes import ConfigEntity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Decide = Callable[[Mapping[str, str]], Mapping[str, str]]

TOPIC, BROKER, LOGGER = 2, 4, 8
SET, DELETE, APPEND, SUBTRACT = range(4)
OK, TOO_BAD = KafkaCode.NONE, KafkaCode.INVALID_REQUEST


class MemoryConfigs:
    """What a ConfigStore does, without ZooKeeper."""

    def __init__(self) -> None:
        static = BrokerConfig(zookeeper_connect="zk:1", broker_id=1, log_dirs=("d",))
        self.live, self.quotas, self.broker_id = LiveConfig(static), QuotaTable(), 1
        self.stored: dict[ConfigEntity, Mapping[str, str]] = {}
        self.quotas_stored: dict[QuotaOwner, Mapping[str, str]] = {}

    async def read(self, entity: ConfigEntity) -> Mapping[str, str]:
        return self.stored.get(entity, {})

    async def change(self, entity: ConfigEntity, decide: Decide, *, validate_only: bool = False) -> None:
        entries = decide(self.stored.get(entity, {}))
        if not validate_only:
            self.stored[entity] = entries
            self.live.take_own(self.stored.get(ConfigEntity.broker(1), {}))
            self.live.take_cluster(self.stored.get(ConfigEntity.broker(None), {}))

    async def read_quotas(self) -> QuotaTable:
        return self.quotas

    async def change_quotas(self, owner: QuotaOwner, decide: Decide, *, validate_only: bool = False) -> None:
        entries = decide(self.quotas_stored.get(owner, {}))
        if not validate_only:
            self.quotas_stored[owner] = entries
            self.quotas.take(owner, entries)


@pytest.fixture
def configs() -> Any:
    return MemoryConfigs()


@pytest.fixture
def view() -> ClusterView:
    return ClusterView(topics={name: TopicView(name, uuid4(), {}) for name in ("orders", "other")})


def describe(
    view: ClusterView, configs: Any, kind: int, name: str, *keys: str, version: int = 4, **more: Any
) -> DescribeConfigsResult:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=list(keys))
    request = DescribeConfigsRequest(resources=[resource], **more)
    answer = ask(describe_configs.served(view, configs, BrokerLoggers()), version, request)
    (result,) = answer.results
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result  # type: ignore[no-any-return]


def change(
    view: ClusterView,
    configs: Any,
    kind: int,
    name: str,
    *changes: tuple[int, str, str | None],
    version: int = 1,
    times: int = 1,
    validate_only: bool = False,
) -> int:
    listed = [IncrementalConfig(name=key, config_operation=op, value=value) for op, key, value in changes]
    resource = IncrementalAlterConfigsResource(resource_type=kind, resource_name=name, configs=listed)
    request = IncrementalAlterConfigsRequest(resources=[resource] * times, validate_only=validate_only)
    answer = ask(incremental_alter_configs.served(view, configs, BrokerLoggers()), version, request)
    (code,) = {result.error_code for result in answer.responses}
    assert len(answer.responses) == times
    assert all(result.error_message for result in answer.responses) == bool(code)
    return int(code)


def replace(view: ClusterView, configs: Any, kind: int, name: str, *, version: int = 2, **entries: str | None) -> int:
    listed = [AlterableConfig(name=key.replace("_", "."), value=value) for key, value in entries.items()]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=listed)
    answer = ask(alter_configs.served(view, configs), version, AlterConfigsRequest(resources=[resource]))
    return int(answer.responses[0].error_code)


@pytest.mark.parametrize("version", range(5))
def test_a_topic_is_described_in_every_version(view: ClusterView, configs: Any, version: int) -> None:
    configs.stored[ConfigEntity.topic("orders")] = {"retention.ms": "7000"}
    result = describe(view, configs, TOPIC, "orders", "retention.ms", "segment.bytes", "no.such", version=version)
    own, inherited = result.configs
    assert (own.name, own.value, inherited.name, inherited.value) == (
        "retention.ms",
        "7000",
        "segment.bytes",
        "1073741824",
    )
    assert (own.synonyms, own.documentation) == ([], None)
    if version == 0:
        assert (own.is_default, inherited.is_default) == (False, True)
    else:
        assert (own.config_source, inherited.config_source) == (1, 5)
    if version >= 3:
        assert (own.config_type, inherited.config_type) == (5, 3)


def test_synonyms_and_documentation_come_if_asked_for(view: ClusterView, configs: Any) -> None:
    asked = {"include_synonyms": True, "include_documentation": True}
    (found,) = describe(view, configs, TOPIC, "orders", "segment.bytes", **asked).configs
    assert [(each.name, each.value, each.source) for each in found.synonyms] == [("log.segment.bytes", "1073741824", 5)]
    assert found.documentation


def test_no_keys_ask_for_everything(view: ClusterView, configs: Any) -> None:
    assert len(describe(view, configs, TOPIC, "orders").configs) > 30
    assert len(describe(view, configs, BROKER, "1").configs) > 100


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "missing", KafkaCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "a b", KafkaCode.INVALID_TOPIC_EXCEPTION),
        (TOPIC, "", KafkaCode.INVALID_TOPIC_EXCEPTION),
        (BROKER, "2", TOO_BAD),
        (BROKER, "01", TOO_BAD),
        (BROKER, "abc", TOO_BAD),
        (LOGGER, "", TOO_BAD),
        (LOGGER, "2", TOO_BAD),
        (9, "x", TOO_BAD),
        (-1, "", TOO_BAD),
    ],
)
def test_resources_that_cannot_be_described(
    view: ClusterView, configs: Any, kind: int, name: str, code: KafkaCode
) -> None:
    result = describe(view, configs, kind, name)
    assert (result.error_code, result.configs) == (code, [])
    assert result.error_message


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "missing", KafkaCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "", TOO_BAD),
        (BROKER, "2", TOO_BAD),
        (BROKER, "abc", TOO_BAD),
        (9, "x", TOO_BAD),
    ],
)
def test_resources_that_cannot_be_altered(
    view: ClusterView, configs: Any, kind: int, name: str, code: KafkaCode
) -> None:
    assert change(view, configs, kind, name, (SET, "retention.ms", "1")) == code
    assert replace(view, configs, kind, name, retention_ms="1") == code
    assert configs.stored == {}


def test_alter_replaces_all_entries_and_incremental_alter_some(view: ClusterView, configs: Any) -> None:
    orders = ConfigEntity.topic("orders")
    assert replace(view, configs, TOPIC, "orders", retention_ms="1", segment_bytes="70") == OK
    assert change(view, configs, TOPIC, "orders", (SET, "retention.ms", "2")) == OK
    assert configs.stored[orders] == {"retention.ms": "2", "segment.bytes": "70"}
    assert replace(view, configs, TOPIC, "orders", flush_ms="3", version=0) == OK
    assert configs.stored[orders] == {"flush.ms": "3"}
    assert replace(view, configs, TOPIC, "orders", flush_ms=None) == TOO_BAD
    assert replace(view, configs, TOPIC, "orders", flush_ms="x") == KafkaCode.INVALID_CONFIG
    assert configs.stored[orders] == {"flush.ms": "3"}


def test_nothing_is_stored_where_it_is_only_asked_or_asked_twice(view: ClusterView, configs: Any) -> None:
    setting = (SET, "retention.ms", "1")
    assert change(view, configs, TOPIC, "orders", setting, validate_only=True) == OK
    assert change(view, configs, TOPIC, "orders", (SET, "retention.ms", "x"), validate_only=True) == 40
    assert change(view, configs, TOPIC, "orders", setting, times=2) == TOO_BAD
    assert configs.stored == {}


def test_a_broker_and_all_brokers_have_entries_of_their_own(view: ClusterView, configs: Any) -> None:
    assert change(view, configs, BROKER, "", (SET, "message.max.bytes", "2000")) == OK
    assert change(view, configs, BROKER, "1", (SET, "message.max.bytes", "3000"), version=0) == OK
    (found,) = describe(view, configs, BROKER, "1", "message.max.bytes", include_synonyms=True).configs
    assert [each.source for each in found.synonyms] == [2, 3, 5]
    assert [entry.value for entry in describe(view, configs, BROKER, "").configs] == ["2000"]
    assert change(view, configs, BROKER, "1", (SET, "broker.id", "9")) == TOO_BAD
    assert replace(view, configs, BROKER, "1") == OK
    assert configs.live.broker.message_max_bytes == 2000


def test_loggers_are_listed_and_set(view: ClusterView, configs: Any) -> None:
    name = "tidelog.test_config_apis"
    logger = logging.getLogger(name)
    assert change(view, configs, LOGGER, "1", (SET, name, "WARN")) == OK
    assert logger.level == logging.WARNING
    (found,) = describe(view, configs, LOGGER, "1", name).configs
    assert (found.value, found.config_source, found.read_only) == ("WARN", 6, False)
    assert change(view, configs, LOGGER, "1", (SET, name, "ERROR"), validate_only=True) == OK
    for bad, code in (
        ((SET, name, "LOUD"), KafkaCode.INVALID_CONFIG),
        ((SET, "no.such.logger", "INFO"), KafkaCode.INVALID_CONFIG),
        ((APPEND, name, "INFO"), TOO_BAD),
        ((DELETE, "root", None), TOO_BAD),
    ):
        assert change(view, configs, LOGGER, "1", bad) == code
    assert replace(view, configs, LOGGER, "1", tidelog="INFO") == TOO_BAD
    assert logger.level == logging.WARNING
    assert change(view, configs, LOGGER, "1", (DELETE, name, None)) == OK
    assert logger.level == logging.NOTSET


def alter_quota(configs: Any, entity: dict[str, str | None], version: int = 1, **quotas: float | None) -> int:
    request = alter_quotas_messages.AlterClientQuotasRequest(
        entries=[
            alter_quotas_messages.QuotaAlteration(
                entity=[
                    alter_quotas_messages.QuotaEntity(entity_type=kind, entity_name=name)
                    for kind, name in entity.items()
                ],
                ops=[
                    alter_quotas_messages.QuotaOperation(key=key, value=value or 0.0, remove=value is None)
                    for key, value in quotas.items()
                ],
            )
        ]
    )
    (result,) = ask(alter_client_quotas.served(configs), version, request).entries
    assert {each.entity_type: each.entity_name for each in result.entity} == entity
    return int(result.error_code)


def quotas_of(configs: Any, *components: tuple[str, int, str | None], version: int = 1) -> Any:
    request = describe_quotas_messages.DescribeClientQuotasRequest(
        components=[
            describe_quotas_messages.QuotaComponent(entity_type=kind, match_type=match, match=name)
            for kind, match, name in components
        ]
    )
    return ask(describe_client_quotas.served(configs), version, request)


@pytest.mark.parametrize("version", [0, 1])
def test_quotas_are_set_told_and_removed(configs: Any, version: int) -> None:
    entity: dict[str, str | None] = {"user": "ann", "client-id": None}
    assert alter_quota(configs, entity, version, producer_byte_rate=1000.0, request_percentage=50.0) == OK
    (entry,) = quotas_of(configs, ("user", 0, "ann"), version=version).entries
    assert {each.entity_type: each.entity_name for each in entry.entity} == entity
    assert {each.key: each.value for each in entry.values} == {"producer_byte_rate": 1000.0, "request_percentage": 50.0}
    assert alter_quota(configs, entity, version, producer_byte_rate=None, request_percentage=None) == OK
    assert quotas_of(configs, version=version).entries == []


def test_bad_quotas_change_nothing_and_bad_questions_are_refused(configs: Any) -> None:
    assert alter_quota(configs, {"client-id": "x"}, producer_byte_rate=1.0, no_such_rate=1.0) == TOO_BAD
    assert alter_quota(configs, {}, producer_byte_rate=1.0) == TOO_BAD
    assert configs.quotas_stored == {}
    answer = quotas_of(configs, ("user", 9, None))
    assert (answer.error_code, answer.entries) == (TOO_BAD, None)
    assert answer.error_message
