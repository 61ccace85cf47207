"""DescribeClientQuotas (48), served in versions 0 and 1.

- v0: the quotas of users, client ids, both together, and addresses, by name, by default, or all.  v1: flexible.

Told is what ZooKeeper holds, so that whoever has changed a quota on one broker sees the change on every other one.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tidelog.broker.core.quota_entries import QuotaFilter
from tidelog.kafka.errors import KafkaError
from tidelog.kafka.wire.messages.describe_client_quotas import (
    DESCRIBE_CLIENT_QUOTAS,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    QuotaEntity,
    QuotaEntry,
    QuotaValue,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi

if TYPE_CHECKING:
    from tidelog.broker.shell.config_store import ConfigStore


def served(configs: ConfigStore) -> ServedApi:
    return ServedApi(DESCRIBE_CLIENT_QUOTAS, parse_versions("0-1"), partial(_answer, configs))


async def _answer(
    configs: ConfigStore, _: RequestContext, request: DescribeClientQuotasRequest
) -> DescribeClientQuotasResponse:
    components = ((one.entity_type, one.match_type, one.match) for one in request.components)
    try:
        wanted = QuotaFilter.of(components, strict=request.strict)
        quotas = await configs.read_quotas()
    except KafkaError as refusal:
        return DescribeClientQuotasResponse(error_code=refusal.code, error_message=refusal.message, entries=None)
    return DescribeClientQuotasResponse(
        entries=[
            QuotaEntry(
                entity=[QuotaEntity(entity_type=kind, entity_name=name) for kind, name in owner.parts],
                values=[QuotaValue(key=key, value=value) for key, value in values.items()],
            )
            for owner, values in quotas.matching(wanted)
        ]
    )
