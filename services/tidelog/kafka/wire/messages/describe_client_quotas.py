"""DescribeClientQuotas (48): quotas of users, clients and addresses."""

from tidelog.kafka.wire.fields import array, boolean, float64, int8, int16, int32, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

DESCRIBE_CLIENT_QUOTAS = Api(48, "DescribeClientQuotas", versions="0-1", flexible="1+")


class QuotaComponent(Struct):
    entity_type: str = string()
    match_type: int = int8()
    match: str | None = string(nullable="0+")


class DescribeClientQuotasRequest(Request["DescribeClientQuotasResponse"], api=DESCRIBE_CLIENT_QUOTAS):
    components: list[QuotaComponent] = array(QuotaComponent)
    strict: bool = boolean()


class QuotaEntity(Struct):
    entity_type: str = string()
    entity_name: str | None = string(nullable="0+")


class QuotaValue(Struct):
    key: str = string()
    value: float = float64()


class QuotaEntry(Struct):
    entity: list[QuotaEntity] = array(QuotaEntity)
    values: list[QuotaValue] = array(QuotaValue)


class DescribeClientQuotasResponse(Response, api=DESCRIBE_CLIENT_QUOTAS):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    entries: list[QuotaEntry] | None = array(QuotaEntry, nullable="0+")
