"""SyncGroup (14): the leader hands in the assignment, every member gets its part."""

from tidelog.kafka.wire.fields import array, byte_string, int16, int32, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

SYNC_GROUP = Api(14, "SyncGroup", versions="0-5", flexible="4+")


class SyncGroupRequestAssignment(Struct):
    member_id: str = string()
    assignment: bytes = byte_string()


class SyncGroupRequest(Request["SyncGroupResponse"], api=SYNC_GROUP):
    group_id: str = string()
    generation_id: int = int32()
    member_id: str = string()
    group_instance_id: str | None = string("3+", nullable="3+", default=None)
    protocol_type: str | None = string("5+", nullable="5+", default=None)
    protocol_name: str | None = string("5+", nullable="5+", default=None)
    assignments: list[SyncGroupRequestAssignment] = array(SyncGroupRequestAssignment)


class SyncGroupResponse(Response, api=SYNC_GROUP):
    throttle_time_ms: int = int32("1+")
    error_code: int = int16()
    protocol_type: str | None = string("5+", nullable="5+", default=None)
    protocol_name: str | None = string("5+", nullable="5+", default=None)
    assignment: bytes = byte_string()
