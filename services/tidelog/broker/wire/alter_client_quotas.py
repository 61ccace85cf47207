"""AlterClientQuotas (49), served in versions 0 and 1.

- v0: quotas of users, client ids, both together, and addresses, set or removed.  v1: flexible.

Works on any broker. The quotas of an entity change together or not at all. An address is given as such; Kafka also takes
names of hosts.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tidelog.broker.core.quota_entries import QuotaChange, QuotaOwner, altered_quotas
from tidelog.kafka.errors import KafkaError
from tidelog.kafka.wire.messages.alter_client_quotas import (
    ALTER_CLIENT_QUOTAS,
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    QuotaAlteration,
    QuotaAlterationResult,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi

if TYPE_CHECKING:
    from tidelog.broker.shell.config_store import ConfigStore


def served(configs: ConfigStore) -> ServedApi:
    return ServedApi(ALTER_CLIENT_QUOTAS, parse_versions("0-1"), partial(_answer, configs))


async def _answer(
    configs: ConfigStore, _: RequestContext, request: AlterClientQuotasRequest
) -> AlterClientQuotasResponse:
    results = []
    for entry in request.entries:
        result = QuotaAlterationResult(entity=entry.entity)
        try:
            await _alter(configs, entry, validate_only=request.validate_only)
        except KafkaError as refusal:
            result.error_code, result.error_message = refusal.code, refusal.message
        results.append(result)
    return AlterClientQuotasResponse(entries=results)


async def _alter(configs: ConfigStore, entry: QuotaAlteration, *, validate_only: bool) -> None:
    owner = QuotaOwner.of((one.entity_type, one.entity_name) for one in entry.entity)
    changes = [QuotaChange(op.key, None if op.remove else op.value) for op in entry.ops]
    await configs.change_quotas(
        owner, lambda stored: altered_quotas(owner, stored, changes), validate_only=validate_only
    )
