"""Offsets that nobody needs any more are forgotten, and so are groups that have nothing left.

a group of members that is empty     all its offsets, a retention time after it became empty
a stable group of consumers          offsets of topics that it no longer follows, a retention time after their commit
a group that never had members       each offset, a retention time after its commit
Offsets that were committed with a retention time of their own expire by that. What a transaction or a commit on its
way to the log may still change is left alone.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tidelog.group_coordinator.core.groups.committing import tombstones
from tidelog.group_coordinator.core.groups.group import Group
from tidelog.group_coordinator.core.groups.group_records import group_tombstone
from tidelog.group_coordinator.core.groups.offsets import CommittedOffset, Partition
from tidelog.group_coordinator.core.groups.removing import drop_group_if_idle
from tidelog.group_coordinator.core.groups.states import EMPTY, STABLE
from tidelog.group_coordinator.core.groups.turn import Timer, TimerKind, Turn
from tidelog.kafka.errors import KafkaCode


@dataclass(frozen=True, slots=True)
class GroupExpired:
    """The settlement of a group's last tombstones."""

    group: Group

    def committed(self, turn: Turn) -> None:
        drop_group_if_idle(self.group, turn)

    def failed(self, code: KafkaCode, turn: Turn) -> None:
        """The next look at the group finds the same."""


def on_retention_check(turn: Turn) -> None:
    turn.set_timer(Timer(TimerKind.RETENTION), turn.shard.limits.retention_check_interval_ms)
    for group in list(turn.shard.groups.values()):
        if not group.commits_in_flight:
            _expire(group, turn)


def _expire(group: Group, turn: Turn) -> None:
    offsets = turn.shard.offsets
    known = offsets.of_group(group.id)
    expired = [
        partition
        for partition, committed in known.items()
        if not offsets.is_unstable(group.id, partition) and _is_expired(group, partition, committed, turn)
    ]
    records = tombstones(group.id, expired)
    nothing_left = len(expired) == len(known) and not tuple(offsets.unstable(group.id))
    if nothing_left and group.state is EMPTY and group.is_idle:
        if group.generation > 0:
            records.append(group_tombstone(group.id))
        if not records:
            drop_group_if_idle(group, turn)
    if records:
        turn.write(*records, settlement=GroupExpired(group))


def _is_expired(group: Group, partition: Partition, committed: CommittedOffset, turn: Turn) -> bool:
    since_ms = _counts_from(group)(partition, committed)
    if since_ms is None:
        return False
    if committed.expire_timestamp_ms is not None:
        return turn.now_ms >= committed.expire_timestamp_ms
    return turn.now_ms - since_ms >= turn.shard.limits.offsets_retention_ms


def _counts_from(group: Group) -> Callable[[Partition, CommittedOffset], int | None]:
    """From when on the retention time of an offset is counted, or None if the group still needs it."""
    if group.protocol_type is None:
        return lambda _, committed: committed.commit_timestamp_ms
    if group.state is EMPTY:
        emptied_ms = group.state_timestamp_ms
        return lambda _, committed: committed.commit_timestamp_ms if emptied_ms is None else emptied_ms
    if group.state is STABLE and group.followed_topics is not None:
        followed = group.followed_topics
        return lambda partition, committed: None if partition.topic in followed else committed.commit_timestamp_ms
    return lambda _, __: None
