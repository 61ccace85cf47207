"""ListGroups (16): the groups of a broker."""

from tidelog.kafka.wire.fields import array, int16, int32, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

LIST_GROUPS = Api(16, "ListGroups", versions="0-5", flexible="3+")


class ListGroupsRequest(Request["ListGroupsResponse"], api=LIST_GROUPS):
    states_filter: list[str] = array(string, "4+")
    types_filter: list[str] = array(string, "5+")


class ListedGroup(Struct):
    group_id: str = string()
    protocol_type: str = string()
    group_state: str = string("4+")
    group_type: str = string("5+")


class ListGroupsResponse(Response, api=LIST_GROUPS):
    throttle_time_ms: int = int32("1+")
    error_code: int = int16()
    groups: list[ListedGroup] = array(ListedGroup)
