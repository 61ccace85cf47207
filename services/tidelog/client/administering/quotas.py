"""Limits of users, clients and addresses."""

from collections.abc import Mapping

from tidelog.client.administering.asking import AdminClient, raise_first
from tidelog.client.administering.values import QuotaEntity
from tidelog.kafka.wire.messages import alter_client_quotas, describe_client_quotas

_EXACT, _DEFAULT = 0, 1


class QuotaAdmin(AdminClient):
    """Reads and sets quotas."""

    async def describe_quotas(
        self, entity: QuotaEntity | None = None, *, strict: bool = False, timeout_ms: int | None = None
    ) -> dict[tuple[tuple[str, str | None], ...], dict[str, float]]:
        """The quotas of every entity that has these parts (and no others, if strict); of all without a filter."""
        components = [
            describe_client_quotas.QuotaComponent(
                entity_type=kind, match_type=_DEFAULT if name is None else _EXACT, match=name
            )
            for kind, name in (entity or {}).items()
        ]
        answer = await self._ask_any(
            describe_client_quotas.DescribeClientQuotasRequest(components=components, strict=strict), timeout_ms
        )
        raise_first([("quotas", answer.error_code, answer.error_message)])
        return {
            tuple(sorted((part.entity_type, part.entity_name) for part in entry.entity)): {
                each.key: each.value for each in entry.values
            }
            for entry in answer.entries or ()
        }

    async def alter_quotas(
        self,
        entity: QuotaEntity,
        values: Mapping[str, float | None],
        *,
        validate_only: bool = False,
        timeout_ms: int | None = None,
    ) -> None:
        """Set limits such as `producer_byte_rate` of an entity; None lifts one."""
        alteration = alter_client_quotas.QuotaAlteration(
            entity=[
                alter_client_quotas.QuotaEntity(entity_type=kind, entity_name=name) for kind, name in entity.items()
            ],
            ops=[
                alter_client_quotas.QuotaOperation(key=key, value=0.0 if value is None else value, remove=value is None)
                for key, value in values.items()
            ],
        )
        request = alter_client_quotas.AlterClientQuotasRequest(entries=[alteration], validate_only=validate_only)
        answer = await self._ask_any(request, timeout_ms)
        name = ", ".join(f"{kind} {name or 'default'}" for kind, name in entity.items())
        raise_first((name, each.error_code, each.error_message) for each in answer.entries)
