"""DescribeGroups and ListGroups: groups as they are seen from outside."""

from tidelog.group_coordinator.core.groups.group import Group
from tidelog.group_coordinator.core.groups.states import DEAD, STABLE
from tidelog.group_coordinator.core.groups.turn import Caller, Turn
from tidelog.kafka.wire.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from tidelog.kafka.wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from tidelog.kafka.wire.messages.metadata import OPERATIONS_NOT_ASKED

_GROUP_TYPE = "classic"
# READ, DELETE and DESCRIBE, by their numbers in Kafka's AclOperation: all that can be done to a group.
_GROUP_OPERATIONS = 1 << 3 | 1 << 6 | 1 << 8


def describe(request: DescribeGroupsRequest, caller: Caller, turn: Turn) -> None:
    operations = _GROUP_OPERATIONS if request.include_authorized_operations else OPERATIONS_NOT_ASKED
    groups = [_described(group_id, turn.shard.groups.get(group_id), operations) for group_id in request.groups]
    turn.reply(caller.token, DescribeGroupsResponse(groups=groups))


def _described(group_id: str, group: Group | None, operations: int) -> DescribedGroup:
    if group is None:
        return DescribedGroup(group_id=group_id, group_state=DEAD.value, authorized_operations=operations)
    # Before everyone has an assignment, the protocol and what members say under it are still changing.
    protocol = group.protocol if group.state is STABLE else None
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=protocol or "",
        members=[
            DescribedGroupMember(
                member_id=member.id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata(protocol) if protocol is not None else b"",
                member_assignment=member.assignment if protocol is not None else b"",
            )
            for member in group.members.values()
        ],
        authorized_operations=operations,
    )


def list_groups(request: ListGroupsRequest, caller: Caller, turn: Turn) -> None:
    states = {state.lower() for state in request.states_filter}
    types = {kind.lower() for kind in request.types_filter}
    listed = [
        ListedGroup(
            group_id=group.id,
            protocol_type=group.protocol_type or "",
            group_state=group.state.value,
            group_type=_GROUP_TYPE,
        )
        for group in turn.shard.groups.values()
        if not states or group.state.value.lower() in states
    ]
    is_wanted_type = not types or _GROUP_TYPE in types
    turn.reply(caller.token, ListGroupsResponse(groups=listed if is_wanted_type else []))
