"""LeaveGroup: members go, by themselves or on an administrator's word."""

from tidelog.group_coordinator.core.groups.effects import RebalanceCause
from tidelog.group_coordinator.core.groups.group import Group
from tidelog.group_coordinator.core.groups.joining import forget_pending
from tidelog.group_coordinator.core.groups.members import check_group_id
from tidelog.group_coordinator.core.groups.rebalancing import drop_member, end_join_phase_if_complete, members_changed
from tidelog.group_coordinator.core.groups.removing import drop_group_if_unused
from tidelog.group_coordinator.core.groups.turn import Caller, Turn
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.messages.leave_group import (
    LeaveGroupMemberResult,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
)

# From this version on several members can leave in one request, and each has a result of its own.
_BATCH_VERSION = 3


def leave(request: LeaveGroupRequest, caller: Caller, turn: Turn) -> None:
    check_group_id(request.group_id)
    is_batch = caller.version >= _BATCH_VERSION
    leaving = request.members if is_batch else [LeavingMember(member_id=request.member_id)]
    group = turn.shard.groups.get(request.group_id)
    before = len(group.members) if group is not None else 0
    results = [_result(group, member, turn) for member in leaving]
    if group is not None:
        _go_on_without(group, turn, was_member=len(group.members) < before)
    if is_batch:
        turn.reply(caller.token, LeaveGroupResponse(members=results))
    else:
        turn.reply(caller.token, LeaveGroupResponse(error_code=results[0].error_code))


def _result(group: Group | None, leaving: LeavingMember, turn: Turn) -> LeaveGroupMemberResult:
    code = KafkaCode.UNKNOWN_MEMBER_ID if group is None else _removal(group, leaving, turn)
    return LeaveGroupMemberResult(
        member_id=leaving.member_id, group_instance_id=leaving.group_instance_id, error_code=code
    )


def _removal(group: Group, leaving: LeavingMember, turn: Turn) -> KafkaCode:
    try:
        _remove(group, leaving, turn)
    except KafkaError as refusal:
        return refusal.code
    return KafkaCode.NONE


def _remove(group: Group, leaving: LeavingMember, turn: Turn) -> None:
    if leaving.member_id in group.pending_members:
        forget_pending(group, leaving.member_id, turn)
        return
    member_id = leaving.member_id
    if not member_id and leaving.group_instance_id is not None:
        # An administrator knows the name of the instance, and not the id that it has at present.
        member_id = group.static_members.get(leaving.group_instance_id, "")
    drop_member(group, group.member(member_id, leaving.group_instance_id), turn)


def _go_on_without(group: Group, turn: Turn, *, was_member: bool) -> None:
    if was_member:
        members_changed(group, RebalanceCause.MEMBER_LEFT, turn)
    else:
        # At most somebody went who had not come in yet, and was waited for.
        end_join_phase_if_complete(group, turn)
        drop_group_if_unused(group, turn)
