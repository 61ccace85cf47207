"""JoinGroup: who gets in, and under which id."""

from tidelog.group_coordinator.core.groups.effects import RebalanceCause
from tidelog.group_coordinator.core.groups.group import Group
from tidelog.group_coordinator.core.groups.limits import PENDING_MEMBERS_MAX, GroupLimits, is_too_long
from tidelog.group_coordinator.core.groups.member import Member, protocols_of, rebalance_timeout_of
from tidelog.group_coordinator.core.groups.rebalancing import (
    drop_member,
    end_join_phase_if_complete,
    joined,
    members_changed,
    restart_session,
)
from tidelog.group_coordinator.core.groups.removing import drop_group_if_unused
from tidelog.group_coordinator.core.groups.states import COMPLETING, EMPTY, PREPARING, STABLE, Asked, check_state
from tidelog.group_coordinator.core.groups.static_members import restart_static_member
from tidelog.group_coordinator.core.groups.turn import Caller, Timer, TimerKind, Turn
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse

# From this version on a dynamic member is first given an id, and gets in when it comes back with it (KIP-394).
_ID_FIRST_VERSION = 4


def join(request: JoinGroupRequest, caller: Caller, turn: Turn) -> None:
    _check(request, caller, turn.shard.limits)
    group = turn.shard.groups.get(request.group_id)
    if group is None:
        if request.member_id:
            raise KafkaError(KafkaCode.UNKNOWN_MEMBER_ID)
        group = Group(request.group_id, turn.now_ms)
    if not _has_room(group, request.member_id, turn.shard.limits.max_size):
        _turn_away(group, request, caller, turn)
    elif request.member_id:
        _join_again(group, request, caller, turn)
    else:
        _join_first(group, request, caller, turn)


def _hold(group: Group, member: Member, caller: Caller, turn: Turn) -> None:
    superseded = group.hold_join(member, caller.token)
    if superseded is not None:
        # The member asked again, so it does not wait for this any more; but nothing is left without an answer.
        refusal = JoinGroupResponse(error_code=KafkaCode.REBALANCE_IN_PROGRESS, member_id=member.id)
        turn.reply(superseded, refusal)


def _check(request: JoinGroupRequest, caller: Caller, limits: GroupLimits) -> None:
    if not request.group_id or is_too_long(request.group_id):
        raise KafkaError(KafkaCode.INVALID_GROUP_ID)
    if not limits.min_session_timeout_ms <= request.session_timeout_ms <= limits.max_session_timeout_ms:
        raise KafkaError(KafkaCode.INVALID_SESSION_TIMEOUT)
    texts = [request.group_instance_id or "", request.protocol_type, caller.client_id]
    if any(is_too_long(text) for text in texts) or any(is_too_long(protocol.name) for protocol in request.protocols):
        raise KafkaError(KafkaCode.INVALID_REQUEST)


def _has_room(group: Group, member_id: str, max_size: int) -> bool:
    if group.state is EMPTY:
        return True
    member = group.members.get(member_id)
    if group.state is PREPARING:
        # Not everyone of before may come again, so only those who did are counted.
        return (member is not None and member.join_token is not None) or group.joined_count < max_size
    return member is not None or len(group.members) < max_size


def _turn_away(group: Group, request: JoinGroupRequest, caller: Caller, turn: Turn) -> None:
    member = group.members.get(request.member_id)
    if member is not None:
        drop_member(group, member, turn)
    turn.reply(
        caller.token, JoinGroupResponse(error_code=KafkaCode.GROUP_MAX_SIZE_REACHED, member_id=request.member_id)
    )
    end_join_phase_if_complete(group, turn)


def _check_protocols(group: Group, request: JoinGroupRequest) -> None:
    if not group.supports(request.protocol_type, [protocol.name for protocol in request.protocols]):
        raise KafkaError(KafkaCode.INCONSISTENT_GROUP_PROTOCOL)


# ---- without an id


def _join_first(group: Group, request: JoinGroupRequest, caller: Caller, turn: Turn) -> None:
    check_state(Asked.JOIN_NEW, group.state)
    _check_protocols(group, request)
    instance_id = request.group_instance_id
    if instance_id is None and caller.version >= _ID_FIRST_VERSION:
        _hand_out_id(group, request, caller, turn)
        return
    member_id = f"{caller.client_id if instance_id is None else instance_id}-{turn.shard.new_uuid()}"
    known_id = group.static_members.get(instance_id) if instance_id is not None else None
    if known_id is not None:
        restart_static_member(group, group.members[known_id], member_id, request, caller, turn)
    else:
        _admit(group, member_id, request, caller, turn)


def _hand_out_id(group: Group, request: JoinGroupRequest, caller: Caller, turn: Turn) -> None:
    turn.shard.groups.setdefault(group.id, group)
    if len(group.pending_members) >= PENDING_MEMBERS_MAX:
        oldest = next(iter(group.pending_members))
        forget_pending(group, oldest, turn)
    member_id = f"{caller.client_id}-{turn.shard.new_uuid()}"
    group.pending_members[member_id] = None
    turn.set_timer(Timer(TimerKind.PENDING, group.id, member_id), request.session_timeout_ms)
    turn.reply(caller.token, JoinGroupResponse(error_code=KafkaCode.MEMBER_ID_REQUIRED, member_id=member_id))


def forget_pending(group: Group, member_id: str, turn: Turn) -> None:
    del group.pending_members[member_id]
    turn.cancel_timer(Timer(TimerKind.PENDING, group.id, member_id))


def on_pending_expired(group: Group, member_id: str, turn: Turn) -> None:
    if member_id in group.pending_members:
        forget_pending(group, member_id, turn)
        end_join_phase_if_complete(group, turn)
        drop_group_if_unused(group, turn)


def _admit(group: Group, member_id: str, request: JoinGroupRequest, caller: Caller, turn: Turn) -> None:
    turn.shard.groups.setdefault(group.id, group)
    member = Member(
        id=member_id,
        instance_id=request.group_instance_id,
        client_id=caller.client_id,
        client_host=caller.client_host,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_of(request),
        protocol_type=request.protocol_type,
        protocols=protocols_of(request),
        is_new=True,
    )
    # Only a group that has never had a generation waits longer for each newcomer.
    group.has_newcomer |= group.initial_delay is not None and group.generation == 0
    group.add(member)
    _hold(group, member, caller, turn)
    restart_session(group, member, turn)
    members_changed(group, RebalanceCause.MEMBER_JOINED, turn)


# ---- with an id


def _join_again(group: Group, request: JoinGroupRequest, caller: Caller, turn: Turn) -> None:
    _check_protocols(group, request)
    if request.member_id in group.pending_members and request.group_instance_id is None:
        forget_pending(group, request.member_id, turn)
        _admit(group, request.member_id, request, caller, turn)
        return
    member = group.member(request.member_id, request.group_instance_id)
    check_state(Asked.JOIN_KNOWN, group.state)
    is_unchanged = member.protocols == protocols_of(request)
    if is_unchanged and _is_in_generation(group, member):
        # Its answer was lost, or it asks without need.
        restart_session(group, member, turn)
        turn.reply(caller.token, joined(group, member))
        return
    _rejoin(group, member, request, caller, turn)
    cause = RebalanceCause.LEADER_REJOINED if is_unchanged else RebalanceCause.METADATA_CHANGED
    members_changed(group, cause, turn)


def _is_in_generation(group: Group, member: Member) -> bool:
    """Whether the current generation is the answer. A leader that joins a stable group wants it to rebalance."""
    return group.state is COMPLETING or (group.state is STABLE and member.id != group.leader)


def _rejoin(group: Group, member: Member, request: JoinGroupRequest, caller: Caller, turn: Turn) -> None:
    group.change_protocols(member, protocols_of(request))
    member.take_timeouts(request)
    _hold(group, member, caller, turn)
