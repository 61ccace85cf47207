"""A static member restarts: it keeps its place in the group under a new member id (KIP-345).

Whoever still uses the old id is fenced at once. In a stable group nothing else changes, as long as the same protocol
would be chosen: the group is written with the new id and the member gets the current generation. The new id counts from
now on even if the write fails; the member, which got an error, then joins once more and gets yet another one.
"""

from dataclasses import dataclass

from tidelog.group_coordinator.core.groups.append_errors import group_error
from tidelog.group_coordinator.core.groups.effects import RebalanceCause
from tidelog.group_coordinator.core.groups.group import Group
from tidelog.group_coordinator.core.groups.group_records import group_record
from tidelog.group_coordinator.core.groups.member import Member, protocols_of
from tidelog.group_coordinator.core.groups.rebalancing import (
    described_members,
    joined,
    members_changed,
    release_join,
    release_sync,
    restart_session,
)
from tidelog.group_coordinator.core.groups.states import STABLE
from tidelog.group_coordinator.core.groups.turn import Caller, Timer, TimerKind, Turn
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse

# From this version on a leader can be told that it leads and must not assign. Before, it is shown its old id as the
# leader's, so that it takes itself for a follower.
_SKIP_ASSIGNMENT_VERSION = 9


@dataclass(frozen=True, slots=True)
class StaticMemberStored:
    """The settlement of a restart that did not rebalance."""

    token: object
    answer: JoinGroupResponse

    def committed(self, turn: Turn) -> None:
        turn.reply(self.token, self.answer)

    def failed(self, code: KafkaCode, turn: Turn) -> None:
        turn.reply(self.token, JoinGroupResponse(error_code=group_error(code)))


def restart_static_member(
    group: Group, member: Member, new_id: str, request: JoinGroupRequest, caller: Caller, turn: Turn
) -> None:
    old_leader = group.leader
    release_join(group, member, KafkaCode.FENCED_INSTANCE_ID, turn)
    release_sync(member, KafkaCode.FENCED_INSTANCE_ID, turn)
    turn.cancel_timer(Timer(TimerKind.SESSION, group.id, member.id))
    group.rename(member, new_id)
    _take_over(group, member, request, caller)
    restart_session(group, member, turn)
    if group.state is STABLE and group.select_protocol() == group.protocol:
        assignments = {known.id: known.assignment for known in group.members.values()}
        answer = _current_generation(group, member, old_leader or "", caller.version)
        group.find_followed_topics()
        turn.write(group_record(group, assignments), settlement=StaticMemberStored(caller.token, answer))
    else:
        group.hold_join(member, caller.token)
        members_changed(group, RebalanceCause.STATIC_MEMBER_RESTARTED, turn)


def _take_over(group: Group, member: Member, request: JoinGroupRequest, caller: Caller) -> None:
    group.change_protocols(member, protocols_of(request))
    member.take_timeouts(request)
    member.client_id = caller.client_id
    member.client_host = caller.client_host


def _current_generation(group: Group, member: Member, old_leader: str, version: int) -> JoinGroupResponse:
    answer = joined(group, member)
    if version >= _SKIP_ASSIGNMENT_VERSION:
        answer.skip_assignment = member.id == group.leader
        answer.members = described_members(group) if answer.skip_assignment else []
    else:
        answer.leader = old_leader
        answer.members = []
    return answer
