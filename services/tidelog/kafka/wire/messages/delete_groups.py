"""DeleteGroups (42): delete groups that are empty."""

from tidelog.kafka.wire.fields import array, int16, int32, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

DELETE_GROUPS = Api(42, "DeleteGroups", versions="0-2", flexible="2+")


class DeleteGroupsRequest(Request["DeleteGroupsResponse"], api=DELETE_GROUPS):
    groups_names: list[str] = array(string)


class DeletableGroupResult(Struct):
    group_id: str = string()
    error_code: int = int16()


class DeleteGroupsResponse(Response, api=DELETE_GROUPS):
    throttle_time_ms: int = int32()
    results: list[DeletableGroupResult] = array(DeletableGroupResult)
