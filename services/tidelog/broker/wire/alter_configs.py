"""AlterConfigs (33), served in versions 0 to 2.

- v0: all entries of topics and brokers anew: what is not named goes back to its default.  v1: the same.  v2: flexible.

Works on any broker for topics and, under the empty name, for all brokers; a broker's own entries only on that broker.
Loggers are altered by IncrementalAlterConfigs alone.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tidelog.broker.core.config_changes import Change
from tidelog.broker.wire.config_alterations import alter_stored, outcomes
from tidelog.kafka.wire.messages.alter_configs import (
    ALTER_CONFIGS,
    AlterConfigsRequest,
    AlterConfigsResponse,
    AlterConfigsResult,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi

if TYPE_CHECKING:
    from tidelog.broker.shell.config_store import ConfigStore
    from tidelog.kafka.cluster import ClusterView


def served(view: ClusterView, configs: ConfigStore) -> ServedApi:
    return ServedApi(ALTER_CONFIGS, parse_versions("0-2"), partial(_answer, view, configs))


async def _answer(
    view: ClusterView, configs: ConfigStore, _: RequestContext, request: AlterConfigsRequest
) -> AlterConfigsResponse:
    wanted = [
        (one.resource_type, one.resource_name, [Change(config.name, config.value) for config in one.configs])
        for one in request.resources
    ]
    alter = partial(alter_stored, view, configs, anew=True, validate_only=request.validate_only)
    return AlterConfigsResponse(
        responses=[
            AlterConfigsResult(error_code=code, error_message=message, resource_type=number, resource_name=name)
            for (number, name, _), (code, message) in zip(wanted, await outcomes(wanted, alter), strict=True)
        ]
    )
