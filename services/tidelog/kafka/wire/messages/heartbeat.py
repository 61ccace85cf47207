"""Heartbeat (12): a member is alive, and hears whether its group rebalances."""

from tidelog.kafka.wire.fields import int16, int32, string
from tidelog.kafka.wire.schema import Api, Request, Response

HEARTBEAT = Api(12, "Heartbeat", versions="0-4", flexible="4+")


class HeartbeatRequest(Request["HeartbeatResponse"], api=HEARTBEAT):
    group_id: str = string()
    generation_id: int = int32()
    member_id: str = string()
    group_instance_id: str | None = string("3+", nullable="3+", default=None)


class HeartbeatResponse(Response, api=HEARTBEAT):
    throttle_time_ms: int = int32("1+")
    error_code: int = int16()
