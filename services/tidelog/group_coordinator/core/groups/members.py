"""Finds the member that a request comes from."""

from typing import Protocol

from tidelog.group_coordinator.core.groups.group import Group
from tidelog.group_coordinator.core.groups.member import Member
from tidelog.group_coordinator.core.groups.turn import Turn
from tidelog.kafka.errors import KafkaCode, KafkaError


class FromMember(Protocol):
    group_id: str
    member_id: str
    group_instance_id: str | None


def check_group_id(group_id: str) -> None:
    if not group_id:
        raise KafkaError(KafkaCode.INVALID_GROUP_ID)


def member_of_generation(request: FromMember, generation_id: int, turn: Turn) -> tuple[Group, Member]:
    """The group and the member, of whom it is first asked whether they exist, then whether they are of this time."""
    group = turn.shard.groups.get(request.group_id)
    if group is None:
        raise KafkaError(KafkaCode.UNKNOWN_MEMBER_ID)
    member = group.member(request.member_id, request.group_instance_id)
    if generation_id != group.generation:
        raise KafkaError(KafkaCode.ILLEGAL_GENERATION)
    return group, member
