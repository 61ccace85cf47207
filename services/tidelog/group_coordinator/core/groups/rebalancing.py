"""A rebalance: it begins, members come, it ends with a new generation.

The first rebalance of an empty group waits for the initial delay, longer while newcomers keep coming. Any other is over
when everyone has come, or when the longest rebalance timeout of all members is up; dynamic members that did not come
are then removed, static ones stay until their session ends.
"""

from tidelog.group_coordinator.core.groups.effects import PhaseOver, Rebalance, RebalanceCause, RebalancePhase
from tidelog.group_coordinator.core.groups.group import Group, InitialDelay
from tidelog.group_coordinator.core.groups.group_records import group_record
from tidelog.group_coordinator.core.groups.limits import NEW_MEMBER_TIMEOUT_MS
from tidelog.group_coordinator.core.groups.member import Member
from tidelog.group_coordinator.core.groups.states import COMPLETING, EMPTY, PREPARING, SETTLED
from tidelog.group_coordinator.core.groups.turn import Timer, TimerKind, Turn
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from tidelog.kafka.wire.messages.sync_group import SyncGroupResponse

# While nobody but absent static members is there, the end of the join phase is looked for this often at most.
_LEAST_WAIT_MS = 1_000


def restart_session(group: Group, member: Member, turn: Turn) -> None:
    """The member showed a sign of life."""
    # While a newcomer waits for its first answer it cannot send heartbeats, and its session has not begun.
    timeout_ms = NEW_MEMBER_TIMEOUT_MS if member.is_new else member.session_timeout_ms
    turn.set_timer(Timer(TimerKind.SESSION, group.id, member.id), timeout_ms)


def drop_member(group: Group, member: Member, turn: Turn) -> None:
    """Remove a member, and tell it so where it waits. The group is not made to rebalance here."""
    release_join(group, member, KafkaCode.UNKNOWN_MEMBER_ID, turn)
    release_sync(member, KafkaCode.UNKNOWN_MEMBER_ID, turn)
    turn.cancel_timer(Timer(TimerKind.SESSION, group.id, member.id))
    group.remove(member)


def release_join(group: Group, member: Member, code: KafkaCode, turn: Turn) -> None:
    token = group.take_join(member)
    if token is not None:
        turn.reply(token, JoinGroupResponse(error_code=code, member_id=member.id))


def release_sync(member: Member, code: KafkaCode, turn: Turn) -> None:
    token, member.sync_token = member.sync_token, None
    if token is not None:
        turn.reply(token, SyncGroupResponse(error_code=code))


def release_all_syncs(group: Group, code: KafkaCode, turn: Turn) -> None:
    for member in group.members.values():
        member.assignment = b""
        waited = member.sync_token is not None
        release_sync(member, code, turn)
        if waited:
            restart_session(group, member, turn)


def members_changed(group: Group, cause: RebalanceCause, turn: Turn) -> None:
    """Somebody came, went or changed: the others must join again, or one fewer is waited for."""
    if group.state in SETTLED:
        begin_rebalance(group, cause, turn)
    else:
        end_join_phase_if_complete(group, turn)


def begin_rebalance(group: Group, cause: RebalanceCause, turn: Turn) -> None:
    if group.state is COMPLETING:
        release_all_syncs(group, KafkaCode.REBALANCE_IN_PROGRESS, turn)
    turn.cancel_timer(Timer(TimerKind.SYNC, group.id))
    turn.note(Rebalance(group.id, cause))
    group.has_newcomer = False
    is_first = group.state is EMPTY
    group.transition(PREPARING, turn.now_ms)
    if is_first:
        delay_ms = turn.shard.limits.initial_rebalance_delay_ms
        group.initial_delay = InitialDelay(delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
        turn.set_timer(Timer(TimerKind.JOIN, group.id), delay_ms)
    else:
        turn.set_timer(Timer(TimerKind.JOIN, group.id), group.rebalance_timeout_ms)
        end_join_phase_if_complete(group, turn)


def end_join_phase_if_complete(group: Group, turn: Turn) -> None:
    if group.state is PREPARING and group.initial_delay is None and group.all_joined:
        end_join_phase(group, turn)


def on_join_phase_over(group: Group, turn: Turn) -> None:
    """The time for the join phase is up, unless newcomers extend the initial delay."""
    if group.state is not PREPARING:
        return
    delay = group.initial_delay
    if delay is not None and group.has_newcomer and delay.remaining_ms:
        group.has_newcomer = False
        longer_ms = min(turn.shard.limits.initial_rebalance_delay_ms, delay.remaining_ms)
        group.initial_delay = InitialDelay(longer_ms, max(delay.remaining_ms - delay.delay_ms, 0))
        turn.set_timer(Timer(TimerKind.JOIN, group.id), longer_ms)
    else:
        end_join_phase(group, turn)


def end_join_phase(group: Group, turn: Turn) -> None:
    group.initial_delay = None
    for member in [m for m in group.members.values() if m.join_token is None and not m.is_static]:
        drop_member(group, member, turn)
    if group.members and not group.elect_joined_leader():
        # Only static members that did not come are left: somebody comes, or their sessions end.
        turn.set_timer(Timer(TimerKind.JOIN, group.id), max(group.rebalance_timeout_ms, _LEAST_WAIT_MS))
        return
    turn.cancel_timer(Timer(TimerKind.JOIN, group.id))
    turn.note_phase(PhaseOver(RebalancePhase.JOIN, group.in_state_ms(turn.now_ms)))
    group.next_generation(turn.now_ms)
    if group.state is EMPTY:
        turn.write(group_record(group, {}))
    else:
        _begin_sync_phase(group, turn)


def _begin_sync_phase(group: Group, turn: Turn) -> None:
    turn.set_timer(Timer(TimerKind.SYNC, group.id), group.rebalance_timeout_ms)
    for member in group.members.values():
        member.is_new = False
        token = group.take_join(member)
        if token is not None:
            turn.reply(token, joined(group, member))
        restart_session(group, member, turn)


def joined(group: Group, member: Member) -> JoinGroupResponse:
    """The answer to a member of the current generation; only the leader is told who the others are."""
    assert group.leader is not None
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        leader=group.leader,
        member_id=member.id,
        members=described_members(group) if member.id == group.leader else [],
    )


def described_members(group: Group) -> list[JoinGroupResponseMember]:
    return [
        JoinGroupResponseMember(
            member_id=member.id, group_instance_id=member.instance_id, metadata=member.metadata(group.protocol)
        )
        for member in group.members.values()
    ]
