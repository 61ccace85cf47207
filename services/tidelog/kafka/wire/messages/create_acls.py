"""CreateAcls (30): make access control entries."""

from tidelog.kafka.wire.fields import array, int8, int16, int32, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

CREATE_ACLS = Api(30, "CreateAcls", versions="0-3", flexible="2+")


class AclCreation(Struct):
    resource_type: int = int8()
    resource_name: str = string()
    resource_pattern_type: int = int8("1+", default=3)
    principal: str = string()
    host: str = string()
    operation: int = int8()
    permission_type: int = int8()


class CreateAclsRequest(Request["CreateAclsResponse"], api=CREATE_ACLS):
    creations: list[AclCreation] = array(AclCreation)


class AclCreationResult(Struct):
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)


class CreateAclsResponse(Response, api=CREATE_ACLS):
    throttle_time_ms: int = int32()
    results: list[AclCreationResult] = array(AclCreationResult)
