"""DescribeConfigs (32), served in versions 0 to 4.

- v0: the settings of topics, brokers and a broker's loggers: value, whether it is the default, read-only, sensitive.
- v1: where a value comes from, and on demand every place it could come from.  v2: the same.
- v3: types, and on demand documentation.  v4: flexible.

A broker tells its own settings and, under the empty name, what was set for all brokers; another broker's are asked of
that one. So are the levels of its loggers. A static value that is the default counts as the default. The resources of
newer versions of Kafka (client metrics, groups) are left out.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tidelog.broker.core.config_entries import (
    ConfigEntry,
    broker_entries,
    cluster_entries,
    logger_entries,
    topic_entries,
)
from tidelog.broker.wire.config_resources import ALL_BROKERS, ResourceType, check_broker, check_topic, resource_type
from tidelog.kafka.configs.setting import ConfigSource
from tidelog.kafka.errors import KafkaError
from tidelog.kafka.types import check_topic_name
from tidelog.kafka.wire.messages.describe_configs import (
    DESCRIBE_CONFIGS,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi
from tidelog.zk.znodes import ConfigEntity

if TYPE_CHECKING:
    from tidelog.broker.shell.broker_loggers import BrokerLoggers
    from tidelog.broker.shell.config_store import ConfigStore
    from tidelog.kafka.cluster import ClusterView


def served(view: ClusterView, configs: ConfigStore, loggers: BrokerLoggers) -> ServedApi:
    return ServedApi(DESCRIBE_CONFIGS, parse_versions("0-4"), partial(_answer, view, configs, loggers))


async def _answer(
    view: ClusterView,
    configs: ConfigStore,
    loggers: BrokerLoggers,
    _: RequestContext,
    request: DescribeConfigsRequest,
) -> DescribeConfigsResponse:
    description = _Description(view, configs, loggers, request)
    return DescribeConfigsResponse(results=await asyncio.gather(*map(description.result, request.resources)))


@dataclass(frozen=True, slots=True)
class _Description:
    """The answer to one request."""

    view: ClusterView
    configs: ConfigStore
    loggers: BrokerLoggers
    request: DescribeConfigsRequest

    async def result(self, resource: DescribeConfigsResource) -> DescribeConfigsResult:
        result = DescribeConfigsResult(resource_type=resource.resource_type, resource_name=resource.resource_name)
        try:
            entries = await self._entries(resource_type(resource.resource_type), resource.resource_name)
        except KafkaError as refusal:
            result.error_code, result.error_message = refusal.code, refusal.message
            return result
        # No keys at all ask for everything.
        keys = resource.configuration_keys
        result.configs = [self._told(entry) for entry in entries if not keys or entry.name in keys]
        return result

    async def _entries(self, kind: ResourceType, name: str) -> list[ConfigEntry]:
        live = self.configs.live
        if kind is ResourceType.TOPIC:
            check_topic_name(name)
            check_topic(self.view, name)
            return topic_entries(live, await self.configs.read(ConfigEntity.topic(name)))
        if kind is ResourceType.BROKER and name == ALL_BROKERS:
            return cluster_entries(live)
        check_broker(self.configs.broker_id, name)
        return broker_entries(live) if kind is ResourceType.BROKER else logger_entries(self.loggers.levels())

    def _told(self, entry: ConfigEntry) -> DescribeConfigsResourceResult:
        asked = self.request
        return DescribeConfigsResourceResult(
            name=entry.name,
            value=entry.value,
            read_only=entry.read_only,
            config_source=entry.source,
            is_default=entry.source is ConfigSource.DEFAULT,
            is_sensitive=entry.sensitive,
            synonyms=[
                DescribeConfigsSynonym(
                    name=each.name, value=None if entry.sensitive else each.value, source=each.source
                )
                for each in (entry.synonyms if asked.include_synonyms else ())
            ],
            config_type=entry.type_code,
            documentation=entry.doc if asked.include_documentation else None,
        )
