"""ApiVersions (18): which APIs a server offers, and in which versions."""

from tidelog.kafka.wire.fields import array, boolean, int16, int32, int64, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

API_VERSIONS = Api(18, "ApiVersions", versions="0-4", flexible="3+")


class ApiVersionsRequest(Request["ApiVersionsResponse"], api=API_VERSIONS):
    client_software_name: str = string("3+")
    client_software_version: str = string("3+")


class ApiVersion(Struct):
    api_key: int = int16()
    min_version: int = int16()
    max_version: int = int16()


class SupportedFeature(Struct):
    name: str = string("3+")
    min_version: int = int16("3+")
    max_version: int = int16("3+")


class FinalizedFeature(Struct):
    name: str = string("3+")
    max_version_level: int = int16("3+")
    min_version_level: int = int16("3+")


class ApiVersionsResponse(Response, api=API_VERSIONS):
    error_code: int = int16()
    api_keys: list[ApiVersion] = array(ApiVersion)
    throttle_time_ms: int = int32("1+")
    supported_features: list[SupportedFeature] = array(SupportedFeature, "3+", tag=0)
    finalized_features_epoch: int = int64("3+", tag=1, default=-1)
    finalized_features: list[FinalizedFeature] = array(FinalizedFeature, "3+", tag=2)
    zk_migration_ready: bool = boolean("3+", tag=3)
