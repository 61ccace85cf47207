"""JoinGroup (11): become a member of a group, or stay one when it rebalances."""

from tidelog.kafka.wire.fields import array, boolean, byte_string, int16, int32, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

JOIN_GROUP = Api(11, "JoinGroup", versions="0-9", flexible="6+")


class JoinGroupRequestProtocol(Struct):
    name: str = string()
    metadata: bytes = byte_string()


class JoinGroupRequest(Request["JoinGroupResponse"], api=JOIN_GROUP):
    group_id: str = string()
    session_timeout_ms: int = int32()
    rebalance_timeout_ms: int = int32("1+", default=-1)
    member_id: str = string()
    group_instance_id: str | None = string("5+", nullable="5+", default=None)
    protocol_type: str = string()
    protocols: list[JoinGroupRequestProtocol] = array(JoinGroupRequestProtocol)
    reason: str | None = string("8+", nullable="8+", default=None)


class JoinGroupResponseMember(Struct):
    member_id: str = string()
    group_instance_id: str | None = string("5+", nullable="5+", default=None)
    metadata: bytes = byte_string()


class JoinGroupResponse(Response, api=JOIN_GROUP):
    throttle_time_ms: int = int32("2+")
    error_code: int = int16()
    generation_id: int = int32(default=-1)
    protocol_type: str | None = string("7+", nullable="7+", default=None)
    protocol_name: str | None = string(nullable="7+")
    leader: str = string()
    skip_assignment: bool = boolean("9+")
    member_id: str = string()
    members: list[JoinGroupResponseMember] = array(JoinGroupResponseMember)
