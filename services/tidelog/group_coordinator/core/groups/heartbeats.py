"""Heartbeat: a member is alive, and hears whether it must join again."""

from tidelog.group_coordinator.core.groups.effects import RebalanceCause
from tidelog.group_coordinator.core.groups.group import Group
from tidelog.group_coordinator.core.groups.members import check_group_id, member_of_generation
from tidelog.group_coordinator.core.groups.rebalancing import drop_member, members_changed, restart_session
from tidelog.group_coordinator.core.groups.states import Asked, check_state
from tidelog.group_coordinator.core.groups.turn import Caller, Turn
from tidelog.kafka.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def heartbeat(request: HeartbeatRequest, caller: Caller, turn: Turn) -> None:
    check_group_id(request.group_id)
    group, member = member_of_generation(request, request.generation_id, turn)
    # A member that is told to join again is alive all the same. A new one keeps its longer time.
    if not member.is_new:
        restart_session(group, member, turn)
    check_state(Asked.HEARTBEAT, group.state)
    turn.reply(caller.token, HeartbeatResponse())


def on_session_expired(group: Group, member_id: str, turn: Turn) -> None:
    member = group.members.get(member_id)
    if member is None:
        return
    is_waiting = member.join_token is not None or member.sync_token is not None
    # Who waits for an answer cannot send heartbeats; the session begins anew with the answer. But a new member
    # whose client went away would otherwise be waited for at every rebalance.
    if is_waiting and not member.is_new:
        return
    drop_member(group, member, turn)
    members_changed(group, RebalanceCause.SESSION_EXPIRED, turn)
