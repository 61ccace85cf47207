"""SyncGroup: the leader hands in the assignment, and everyone gets their part once it is stored.

A generation has one assignment. While the leader's is on its way to the log, another one from it is not looked at; when
the log's answer is unknown, the generation is given up, so that nobody can act on a part that others do not have.
"""

from dataclasses import dataclass

from tidelog.group_coordinator.core.groups.append_errors import group_error
from tidelog.group_coordinator.core.groups.effects import PhaseOver, RebalanceCause, RebalancePhase
from tidelog.group_coordinator.core.groups.formats import GroupValue
from tidelog.group_coordinator.core.groups.group import Group
from tidelog.group_coordinator.core.groups.group_records import group_record
from tidelog.group_coordinator.core.groups.member import Member
from tidelog.group_coordinator.core.groups.members import check_group_id, member_of_generation
from tidelog.group_coordinator.core.groups.rebalancing import (
    begin_rebalance,
    drop_member,
    release_all_syncs,
    release_sync,
    restart_session,
)
from tidelog.group_coordinator.core.groups.states import COMPLETING, STABLE, Asked, check_state
from tidelog.group_coordinator.core.groups.turn import Caller, Timer, TimerKind, Turn
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

# From this version on the member says which protocol it assigns by.
_PROTOCOL_VERSION = 5


@dataclass(frozen=True, slots=True)
class AssignmentStored:
    """The settlement of the leader's assignment."""

    group: Group
    generation: int

    def committed(self, turn: Turn) -> None:
        """Replaying the record has given everyone their part."""

    def failed(self, code: KafkaCode, turn: Turn) -> None:
        if _awaits_assignment(self.group, self.generation):
            release_all_syncs(self.group, group_error(code), turn)
            begin_rebalance(self.group, RebalanceCause.ASSIGNMENT_NOT_STORED, turn)


def _awaits_assignment(group: Group, generation: int) -> bool:
    """Whether this generation still waits for what its leader assigned, or has been overtaken by a rebalance."""
    return group.state is COMPLETING and group.generation == group.storing_generation == generation


def sync(request: SyncGroupRequest, caller: Caller, turn: Turn) -> None:
    check_group_id(request.group_id)
    says_protocol = caller.version >= _PROTOCOL_VERSION
    if says_protocol and (request.protocol_type is None or request.protocol_name is None):
        raise KafkaError(KafkaCode.INCONSISTENT_GROUP_PROTOCOL)
    group, member = member_of_generation(request, request.generation_id, turn)
    if says_protocol:
        _check_protocol(group, request)
    check_state(Asked.SYNC, group.state)
    _heard_from(group, member, turn)
    if group.state is STABLE:
        restart_session(group, member, turn)
        turn.reply(caller.token, _assigned(group, member))
        return
    # An older SyncGroup of the same member is answered first; it waits for this one now.
    release_sync(member, KafkaCode.REBALANCE_IN_PROGRESS, turn)
    member.sync_token = caller.token
    if member.id == group.leader and group.storing_generation != group.generation:
        _store(group, request, turn)


def _check_protocol(group: Group, request: SyncGroupRequest) -> None:
    wrong_type = group.protocol_type is not None and request.protocol_type != group.protocol_type
    wrong_name = group.protocol is not None and request.protocol_name != group.protocol
    if wrong_type or wrong_name:
        raise KafkaError(KafkaCode.INCONSISTENT_GROUP_PROTOCOL)


def _heard_from(group: Group, member: Member, turn: Turn) -> None:
    group.unsynced_members.discard(member.id)
    if not group.unsynced_members:
        turn.cancel_timer(Timer(TimerKind.SYNC, group.id))


def _store(group: Group, request: SyncGroupRequest, turn: Turn) -> None:
    group.storing_generation = group.generation
    assignments = {assignment.member_id: assignment.assignment for assignment in request.assignments}
    settlement = AssignmentStored(group, group.generation)
    turn.write(group_record(group, assignments), settlement=settlement)


def hand_out_assignments(group: Group, value: GroupValue, turn: Turn) -> None:
    """The record of the group is committed. If the group waits for it, everyone gets their part."""
    if not _awaits_assignment(group, value.generation):
        return
    assignments = {member.member_id: member.assignment for member in value.members}
    turn.note_phase(PhaseOver(RebalancePhase.SYNC, group.in_state_ms(turn.now_ms)))
    group.transition(STABLE, turn.now_ms)
    for member in group.members.values():
        member.assignment = assignments.get(member.id, b"")
        token, member.sync_token = member.sync_token, None
        if token is not None:
            turn.reply(token, _assigned(group, member))
            restart_session(group, member, turn)


def _assigned(group: Group, member: Member) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol, assignment=member.assignment
    )


def on_sync_phase_over(group: Group, turn: Turn) -> None:
    """Whoever has not synced by now is not waited for any longer, the leader neither."""
    if group.state not in (COMPLETING, STABLE) or not group.unsynced_members:
        return
    for member_id in tuple(group.unsynced_members):
        drop_member(group, group.members[member_id], turn)
    begin_rebalance(group, RebalanceCause.SYNC_EXPIRED, turn)
