"""Settings of topics and brokers."""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import TypeVar

from tidelog.client.administering.asking import AdminClient, raise_first
from tidelog.client.administering.values import ConfigEntry, ConfigResource, ResourceType
from tidelog.kafka.configs.setting import ConfigSource
from tidelog.kafka.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
)
from tidelog.kafka.wire.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
    IncrementalConfig,
)
from tidelog.kafka.wire.schema import Request, Response

R = TypeVar("R", bound=Response)


class _Operation(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigAdmin(AdminClient):
    """Reads and changes settings."""

    async def describe_configs(
        self, resource: ConfigResource, names: Iterable[str] | None = None, *, timeout_ms: int | None = None
    ) -> dict[str, ConfigEntry]:
        """The settings of a topic or a broker, all of them or those named."""
        asked = DescribeConfigsResource(
            resource_type=resource.type,
            resource_name=resource.name,
            configuration_keys=None if names is None else list(names),
        )
        answer = await self._ask_owner(resource, DescribeConfigsRequest(resources=[asked]), timeout_ms)
        raise_first((each.resource_name, each.error_code, each.error_message) for each in answer.results)
        return {each.name: _entry(each) for result in answer.results for each in result.configs}

    async def alter_configs(
        self,
        resource: ConfigResource,
        values: Mapping[str, str | int | bool | None],
        *,
        append: Mapping[str, str] | None = None,
        subtract: Mapping[str, str] | None = None,
        validate_only: bool = False,
        timeout_ms: int | None = None,
    ) -> None:
        """Change some settings and leave the others; None gives a setting its default back.

        `append` and `subtract` change settings that are lists by some elements.
        """
        operations = [
            *(
                _operation(name, _Operation.DELETE if value is None else _Operation.SET, value)
                for name, value in values.items()
            ),
            *(_operation(name, _Operation.APPEND, value) for name, value in (append or {}).items()),
            *(_operation(name, _Operation.SUBTRACT, value) for name, value in (subtract or {}).items()),
        ]
        asked = IncrementalAlterConfigsResource(
            resource_type=resource.type, resource_name=resource.name, configs=operations
        )
        request = IncrementalAlterConfigsRequest(resources=[asked], validate_only=validate_only)
        answer = await self._ask_owner(resource, request, timeout_ms)
        raise_first((each.resource_name, each.error_code, each.error_message) for each in answer.responses)

    async def _ask_owner(self, resource: ConfigResource, request: Request[R], timeout_ms: int | None) -> R:
        """A broker answers for its own settings; any one does for the rest."""
        is_one_broker = resource.type is not ResourceType.TOPIC and resource.name
        if is_one_broker:
            return await self._ask_broker(int(resource.name), request, timeout_ms)
        return await self._ask_any(request, timeout_ms)


def _operation(name: str, operation: _Operation, value: str | float | bool | None) -> IncrementalConfig:
    text = str(value).lower() if isinstance(value, bool) else None if value is None else str(value)
    return IncrementalConfig(name=name, config_operation=operation, value=text)


def _entry(told: DescribeConfigsResourceResult) -> ConfigEntry:
    source = ConfigSource(told.config_source) if told.config_source >= 0 else ConfigSource.UNKNOWN
    return ConfigEntry(told.name, told.value, source, told.read_only, told.is_sensitive)
