"""AlterConfigs (33): replace all settings of topics and brokers."""

from tidelog.kafka.wire.fields import array, boolean, int8, int16, int32, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

ALTER_CONFIGS = Api(33, "AlterConfigs", versions="0-2", flexible="2+")


class AlterableConfig(Struct):
    name: str = string()
    value: str | None = string(nullable="0+")


class AlterConfigsResource(Struct):
    resource_type: int = int8()
    resource_name: str = string()
    configs: list[AlterableConfig] = array(AlterableConfig)


class AlterConfigsRequest(Request["AlterConfigsResponse"], api=ALTER_CONFIGS):
    resources: list[AlterConfigsResource] = array(AlterConfigsResource)
    validate_only: bool = boolean()


class AlterConfigsResult(Struct):
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    resource_type: int = int8()
    resource_name: str = string()


class AlterConfigsResponse(Response, api=ALTER_CONFIGS):
    throttle_time_ms: int = int32()
    responses: list[AlterConfigsResult] = array(AlterConfigsResult)
