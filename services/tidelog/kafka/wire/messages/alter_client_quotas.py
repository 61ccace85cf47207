"""AlterClientQuotas (49): set or remove quotas."""

from tidelog.kafka.wire.fields import array, boolean, float64, int16, int32, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

ALTER_CLIENT_QUOTAS = Api(49, "AlterClientQuotas", versions="0-1", flexible="1+")


class QuotaEntity(Struct):
    entity_type: str = string()
    entity_name: str | None = string(nullable="0+")


class QuotaOperation(Struct):
    key: str = string()
    value: float = float64()
    remove: bool = boolean()


class QuotaAlteration(Struct):
    entity: list[QuotaEntity] = array(QuotaEntity)
    ops: list[QuotaOperation] = array(QuotaOperation)


class AlterClientQuotasRequest(Request["AlterClientQuotasResponse"], api=ALTER_CLIENT_QUOTAS):
    entries: list[QuotaAlteration] = array(QuotaAlteration)
    validate_only: bool = boolean()


class QuotaAlterationResult(Struct):
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    entity: list[QuotaEntity] = array(QuotaEntity)


class AlterClientQuotasResponse(Response, api=ALTER_CLIENT_QUOTAS):
    throttle_time_ms: int = int32()
    entries: list[QuotaAlterationResult] = array(QuotaAlterationResult)
