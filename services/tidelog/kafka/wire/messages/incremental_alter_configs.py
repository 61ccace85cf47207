"""IncrementalAlterConfigs (44): set, delete, extend or shorten single settings."""

from tidelog.kafka.wire.fields import array, boolean, int8, int16, int32, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

INCREMENTAL_ALTER_CONFIGS = Api(44, "IncrementalAlterConfigs", versions="0-1", flexible="1+")


class IncrementalConfig(Struct):
    name: str = string()
    config_operation: int = int8()
    value: str | None = string(nullable="0+")


class IncrementalAlterConfigsResource(Struct):
    resource_type: int = int8()
    resource_name: str = string()
    configs: list[IncrementalConfig] = array(IncrementalConfig)


class IncrementalAlterConfigsRequest(Request["IncrementalAlterConfigsResponse"], api=INCREMENTAL_ALTER_CONFIGS):
    resources: list[IncrementalAlterConfigsResource] = array(IncrementalAlterConfigsResource)
    validate_only: bool = boolean()


class IncrementalAlterConfigsResult(Struct):
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    resource_type: int = int8()
    resource_name: str = string()


class IncrementalAlterConfigsResponse(Response, api=INCREMENTAL_ALTER_CONFIGS):
    throttle_time_ms: int = int32()
    responses: list[IncrementalAlterConfigsResult] = array(IncrementalAlterConfigsResult)
