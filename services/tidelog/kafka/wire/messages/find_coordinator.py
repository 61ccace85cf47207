"""FindCoordinator (10): which broker answers for groups or transactional ids."""

from tidelog.kafka.wire.fields import array, int8, int16, int32, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

FIND_COORDINATOR = Api(10, "FindCoordinator", versions="0-5", flexible="3+")


class FindCoordinatorRequest(Request["FindCoordinatorResponse"], api=FIND_COORDINATOR):
    key: str = string("0-3")
    key_type: int = int8("1+")
    coordinator_keys: list[str] = array(string, "4+")


class FoundCoordinator(Struct):
    key: str = string()
    node_id: int = int32()
    host: str = string()
    port: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)


class FindCoordinatorResponse(Response, api=FIND_COORDINATOR):
    throttle_time_ms: int = int32("1+")
    error_code: int = int16("0-3")
    error_message: str | None = string("1-3", nullable="1-3", default=None)
    node_id: int = int32("0-3")
    host: str = string("0-3")
    port: int = int32("0-3")
    coordinators: list[FoundCoordinator] = array(FoundCoordinator, "4+")
