"""LeaveGroup (13): members go."""

from tidelog.kafka.wire.fields import array, int16, int32, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

LEAVE_GROUP = Api(13, "LeaveGroup", versions="0-5", flexible="4+")


class LeavingMember(Struct):
    member_id: str = string()
    group_instance_id: str | None = string(nullable="0+", default=None)
    reason: str | None = string("5+", nullable="5+", default=None)


class LeaveGroupRequest(Request["LeaveGroupResponse"], api=LEAVE_GROUP):
    group_id: str = string()
    member_id: str = string("0-2")
    members: list[LeavingMember] = array(LeavingMember, "3+")


class LeaveGroupMemberResult(Struct):
    member_id: str = string()
    group_instance_id: str | None = string(nullable="0+", default=None)
    error_code: int = int16()


class LeaveGroupResponse(Response, api=LEAVE_GROUP):
    throttle_time_ms: int = int32("1+")
    error_code: int = int16()
    members: list[LeaveGroupMemberResult] = array(LeaveGroupMemberResult, "3+")
