"""The end of a group that nobody is in."""

from tidelog.group_coordinator.core.groups.group import Group
from tidelog.group_coordinator.core.groups.states import DEAD, EMPTY
from tidelog.group_coordinator.core.groups.turn import Timer, TimerKind, Turn


def drop_group_if_unused(group: Group, turn: Turn) -> None:
    """Forget a group that only ids were handed out for: nothing of it was ever written."""
    if group.generation == 0:
        drop_group_if_idle(group, turn)


def drop_group_if_idle(group: Group, turn: Turn) -> None:
    """Forget a group of which the log knows nothing any more, unless somebody came in the meantime."""
    if group.state is EMPTY and group.is_idle and not turn.shard.offsets.has_any(group.id):
        drop_group(group, turn)


def drop_group(group: Group, turn: Turn) -> None:
    for member_id in group.members:
        turn.cancel_timer(Timer(TimerKind.SESSION, group.id, member_id))
    for member_id in group.pending_members:
        turn.cancel_timer(Timer(TimerKind.PENDING, group.id, member_id))
    turn.cancel_timer(Timer(TimerKind.JOIN, group.id))
    turn.cancel_timer(Timer(TimerKind.SYNC, group.id))
    turn.shard.groups.pop(group.id, None)
    group.transition(DEAD, turn.now_ms)
