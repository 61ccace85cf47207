"""DescribeAcls (29): access control entries that match a filter."""

from tidelog.kafka.wire.fields import array, int8, int16, int32, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

DESCRIBE_ACLS = Api(29, "DescribeAcls", versions="0-3", flexible="2+")


class DescribeAclsRequest(Request["DescribeAclsResponse"], api=DESCRIBE_ACLS):
    resource_type_filter: int = int8()
    resource_name_filter: str | None = string(nullable="0+", default=None)
    pattern_type_filter: int = int8("1+", default=3)
    principal_filter: str | None = string(nullable="0+", default=None)
    host_filter: str | None = string(nullable="0+", default=None)
    operation: int = int8()
    permission_type: int = int8()


class AclDescription(Struct):
    principal: str = string()
    host: str = string()
    operation: int = int8()
    permission_type: int = int8()


class DescribeAclsResource(Struct):
    resource_type: int = int8()
    resource_name: str = string()
    pattern_type: int = int8("1+", default=3)
    acls: list[AclDescription] = array(AclDescription)


class DescribeAclsResponse(Response, api=DESCRIBE_ACLS):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    resources: list[DescribeAclsResource] = array(DescribeAclsResource)
