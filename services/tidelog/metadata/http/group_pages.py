"""Consumer groups as the REST API shows them."""

from collections.abc import Iterable
from dataclasses import dataclass

from tidelog.rpc import group_coordinator_pb2


@dataclass(frozen=True, slots=True)
class GroupLine:
    """One group in a line; `lag` is the sum over its partitions, as far as their ends are known."""

    group_id: str
    state: str
    protocol: str
    members: int
    lag: int


@dataclass(frozen=True, slots=True)
class GroupsPage:
    """All groups; `complete` is false while a coordinator loads some, or does not answer."""

    groups: list[GroupLine]
    complete: bool


@dataclass(frozen=True, slots=True)
class AssignedPartition:
    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class MemberPage:
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    assignment: list[AssignedPartition]


@dataclass(frozen=True, slots=True)
class OffsetPage:
    """A committed offset; lag is null while the partition's end is not known."""

    topic: str
    partition: int
    offset: int
    metadata: str
    commit_timestamp_ms: int
    lag: int | None
    lag_seconds: float | None


@dataclass(frozen=True, slots=True)
class GroupPage:
    group_id: str
    state: str
    protocol_type: str
    protocol: str
    generation_id: int
    leader: str | None
    members: list[MemberPage]
    offsets: list[OffsetPage]


def list_groups(groups: Iterable[group_coordinator_pb2.Group], *, complete: bool) -> GroupsPage:
    lines = [
        GroupLine(
            group.group_id, group.state, group.protocol, len(group.members), sum(each.lag for each in group.offsets)
        )
        for group in groups
    ]
    return GroupsPage(sorted(lines, key=lambda line: line.group_id), complete)


def describe_group(group: group_coordinator_pb2.Group) -> GroupPage:
    return GroupPage(
        group_id=group.group_id,
        state=group.state,
        protocol_type=group.protocol_type,
        protocol=group.protocol,
        generation_id=group.generation_id,
        leader=group.leader or None,
        members=[_member(member) for member in group.members],
        offsets=[_offset(each) for each in group.offsets],
    )


def _member(member: group_coordinator_pb2.GroupMember) -> MemberPage:
    return MemberPage(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id or None,
        client_id=member.client_id,
        client_host=member.client_host,
        assignment=[AssignedPartition(each.topic, each.partition) for each in member.assignment],
    )


def _offset(each: group_coordinator_pb2.CommittedOffset) -> OffsetPage:
    return OffsetPage(
        topic=each.topic,
        partition=each.partition,
        offset=each.offset,
        metadata=each.metadata,
        commit_timestamp_ms=each.commit_timestamp_ms,
        lag=each.lag if each.HasField("lag") else None,
        lag_seconds=each.lag_seconds if each.HasField("lag_seconds") else None,
    )
