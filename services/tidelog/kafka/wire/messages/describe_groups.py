"""DescribeGroups (15): state and members of groups."""

from tidelog.kafka.wire.fields import array, boolean, byte_string, int16, int32, string
from tidelog.kafka.wire.messages.metadata import OPERATIONS_NOT_ASKED
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

DESCRIBE_GROUPS = Api(15, "DescribeGroups", versions="0-5", flexible="5+")


class DescribeGroupsRequest(Request["DescribeGroupsResponse"], api=DESCRIBE_GROUPS):
    groups: list[str] = array(string)
    include_authorized_operations: bool = boolean("3+")


class DescribedGroupMember(Struct):
    member_id: str = string()
    group_instance_id: str | None = string("4+", nullable="4+", default=None)
    client_id: str = string()
    client_host: str = string()
    member_metadata: bytes = byte_string()
    member_assignment: bytes = byte_string()


class DescribedGroup(Struct):
    error_code: int = int16()
    group_id: str = string()
    group_state: str = string()
    protocol_type: str = string()
    protocol_data: str = string()
    members: list[DescribedGroupMember] = array(DescribedGroupMember)
    authorized_operations: int = int32("3+", default=OPERATIONS_NOT_ASKED)


class DescribeGroupsResponse(Response, api=DESCRIBE_GROUPS):
    throttle_time_ms: int = int32("1+")
    groups: list[DescribedGroup] = array(DescribedGroup)
