"""Between groups and their records."""

from collections.abc import Mapping

from tidelog.group_coordinator.core.groups import formats
from tidelog.group_coordinator.core.groups.formats import GroupValue, GroupValueMember
from tidelog.group_coordinator.core.groups.group import Group
from tidelog.group_coordinator.core.groups.member import Member
from tidelog.group_coordinator.core.groups.states import STABLE
from tidelog.group_coordinator.core.records import CoordinatorRecord


def group_record(group: Group, assignments: Mapping[str, bytes]) -> CoordinatorRecord:
    """The whole group as it is now, with these assignments, by member id; who is left out has an empty one."""
    value = GroupValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=group.protocol,
        leader=group.leader,
        current_state_timestamp=-1 if group.state_timestamp_ms is None else group.state_timestamp_ms,
        members=[_member_value(group, member, assignments) for member in group.members.values()],
    )
    return CoordinatorRecord(formats.group_key(group.id), formats.encode_group_value(value))


def group_tombstone(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(formats.group_key(group_id), None)


def _member_value(group: Group, member: Member, assignments: Mapping[str, bytes]) -> GroupValueMember:
    return GroupValueMember(
        member_id=member.id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout=member.rebalance_timeout_ms,
        session_timeout=member.session_timeout_ms,
        subscription=member.metadata(group.protocol),
        assignment=assignments.get(member.id, b""),
    )


def group_from(group_id: str, value: GroupValue) -> Group:
    """The group as it was when the record was written: with members it is stable, and without it is empty."""
    timestamp_ms = value.current_state_timestamp
    group = Group(group_id, timestamp_ms if timestamp_ms >= 0 else None)
    group.generation = value.generation
    for member in value.members:
        group.add(_member_from(member, value))
    group.protocol_type = value.protocol_type or None
    if group.members:
        group.state = STABLE
        group.protocol = value.protocol
        group.leader = value.leader if value.leader in group.members else group.leader
    group.find_followed_topics()
    return group


def _member_from(member: GroupValueMember, value: GroupValue) -> Member:
    return Member(
        id=member.member_id,
        instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        session_timeout_ms=member.session_timeout,
        # The first version of the record had none.
        rebalance_timeout_ms=member.rebalance_timeout if member.rebalance_timeout >= 0 else member.session_timeout,
        protocol_type=value.protocol_type,
        protocols=((value.protocol or "", member.subscription),),
        assignment=member.assignment,
    )
