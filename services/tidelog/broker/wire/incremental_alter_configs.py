"""IncrementalAlterConfigs (44), served in versions 0 and 1.

- v0: single entries of topics, brokers and a broker's loggers: set, deleted, or, where they are lists, extended and
  shortened.  v1: flexible.

Works on any broker for topics and, under the empty name, for all brokers; a broker's own entries and its loggers only on
that broker. A logger's level lasts until the broker ends.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tidelog.broker.core.config_changes import Change, Operation
from tidelog.broker.wire.config_alterations import alter_stored, outcomes
from tidelog.broker.wire.config_resources import ResourceType, check_broker
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.messages.incremental_alter_configs import (
    INCREMENTAL_ALTER_CONFIGS,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    IncrementalAlterConfigsResult,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidelog.broker.shell.broker_loggers import BrokerLoggers
    from tidelog.broker.shell.config_store import ConfigStore
    from tidelog.kafka.cluster import ClusterView


def served(view: ClusterView, configs: ConfigStore, loggers: BrokerLoggers) -> ServedApi:
    return ServedApi(INCREMENTAL_ALTER_CONFIGS, parse_versions("0-1"), partial(_answer, view, configs, loggers))


async def _answer(
    view: ClusterView,
    configs: ConfigStore,
    loggers: BrokerLoggers,
    _: RequestContext,
    request: IncrementalAlterConfigsRequest,
) -> IncrementalAlterConfigsResponse:
    async def alter(kind: ResourceType, name: str, changes: Sequence[Change]) -> None:
        if kind is ResourceType.BROKER_LOGGER:
            check_broker(configs.broker_id, name)
            _alter_loggers(loggers, changes, validate_only=request.validate_only)
        else:
            validate_only = request.validate_only
            await alter_stored(view, configs, kind, name, changes, anew=False, validate_only=validate_only)

    wanted = [
        (
            one.resource_type,
            one.resource_name,
            [Change(config.name, config.value, config.config_operation) for config in one.configs],
        )
        for one in request.resources
    ]
    return IncrementalAlterConfigsResponse(
        responses=[
            IncrementalAlterConfigsResult(
                error_code=code, error_message=message, resource_type=number, resource_name=name
            )
            for (number, name, _), (code, message) in zip(wanted, await outcomes(wanted, alter), strict=True)
        ]
    )


def _alter_loggers(loggers: BrokerLoggers, changes: Sequence[Change], *, validate_only: bool) -> None:
    levels = {change.name: None if change.operation == Operation.DELETE else change.value for change in changes}
    if any(change.operation in (Operation.APPEND, Operation.SUBTRACT) for change in changes):
        raise KafkaError(KafkaCode.INVALID_REQUEST, "The level of a logger is not a list.")
    for name, level in levels.items():
        loggers.check(name, level)
    for name, level in {} if validate_only else levels.items():
        loggers.set(name, level)
