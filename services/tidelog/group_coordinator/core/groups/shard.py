"""One shard of groups: one partition of __consumer_offsets, with the groups and the offsets in it.

Soft state (members, their requests that are held back, timers) changes at once. What must survive is written first: a
handler gives a `Write`, the shell appends it and reports back, and only then is it replayed and answered. The shell
reports in the order in which the batches lie in the log.

    shard = GroupShard(limits, partition_exists, new_uuid)
    for each batch of the partition: shard.replay(..) for each record, or shard.on_transaction_marker(..)
    effects = shard.activate(now_ms)        from here on every call below gives effects
    shard.handle(request, caller, now_ms)   a request; its token is replied to now or by a later call
    shard.on_committed(write, now_ms)       or shard.on_append_failed(write, code, now_ms): of every write, once
    shard.on_time(now_ms)                   when next_deadline_ms() has come
    shard.unload(now_ms)                    the shard goes to another coordinator
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from tidelog.group_coordinator.core.groups import (
    committing,
    deleting,
    describing,
    expiry,
    fetching,
    heartbeats,
    joining,
    leaving,
    rebalancing,
    syncing,
)
from tidelog.group_coordinator.core.groups.effects import Effects, RebalanceCause, Write
from tidelog.group_coordinator.core.groups.group import Group
from tidelog.group_coordinator.core.groups.limits import GroupLimits
from tidelog.group_coordinator.core.groups.offsets import CommittedOffset, Partition
from tidelog.group_coordinator.core.groups.removing import drop_group
from tidelog.group_coordinator.core.groups.replay import replay
from tidelog.group_coordinator.core.groups.states import GroupState
from tidelog.group_coordinator.core.groups.turn import Caller, ShardState, Timer, TimerKind, Turn
from tidelog.group_coordinator.core.records import CoordinatorRecord
from tidelog.kafka.coordination.group_refusals import refused
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.messages.delete_groups import DeleteGroupsRequest
from tidelog.kafka.wire.messages.describe_groups import DescribeGroupsRequest
from tidelog.kafka.wire.messages.heartbeat import HeartbeatRequest
from tidelog.kafka.wire.messages.join_group import JoinGroupRequest
from tidelog.kafka.wire.messages.leave_group import LeaveGroupRequest
from tidelog.kafka.wire.messages.list_groups import ListGroupsRequest
from tidelog.kafka.wire.messages.offset_commit import OffsetCommitRequest
from tidelog.kafka.wire.messages.offset_delete import OffsetDeleteRequest
from tidelog.kafka.wire.messages.offset_fetch import OffsetFetchRequest
from tidelog.kafka.wire.messages.sync_group import SyncGroupRequest
from tidelog.kafka.wire.messages.txn_offset_commit import TxnOffsetCommitRequest
from tidelog.kafka.wire.schema import Request

HANDLERS: dict[type[Request[Any]], Callable[[Any, Caller, Turn], None]] = {
    JoinGroupRequest: joining.join,
    SyncGroupRequest: syncing.sync,
    HeartbeatRequest: heartbeats.heartbeat,
    LeaveGroupRequest: leaving.leave,
    OffsetCommitRequest: committing.commit,
    TxnOffsetCommitRequest: committing.commit_in_transaction,
    OffsetFetchRequest: fetching.fetch,
    OffsetDeleteRequest: deleting.delete_offsets,
    DeleteGroupsRequest: deleting.delete_groups,
    DescribeGroupsRequest: describing.describe,
    ListGroupsRequest: describing.list_groups,
}


class GroupShard:
    def __init__(
        self, limits: GroupLimits, partition_exists: Callable[[str, int], bool], new_uuid: Callable[[], str]
    ) -> None:
        self._state = ShardState(limits, partition_exists, new_uuid)
        self._is_unloaded = False

    # ---- loading and unloading

    def replay(self, record: CoordinatorRecord, producer_id: int | None = None) -> None:
        """While loading: one record of the log, with its producer's id if it is part of a transaction."""
        assert self._state.is_loading
        replay(record, producer_id, Turn(self._state, 0))

    def on_transaction_marker(self, producer_id: int, *, committed: bool) -> None:
        """A marker is in the log, or, after loading, was committed there."""
        self._state.offsets.end_transaction(producer_id, committed=committed)

    def activate(self, now_ms: int) -> Effects:
        """The log is read to its end. Members have their whole session timeout to be heard from again."""
        turn = Turn(self._state, now_ms)
        self._state.is_loading = False
        for group_id in self._state.offsets.group_ids() - self._state.groups.keys():
            self._state.groups[group_id] = Group(group_id, now_ms)
        for group in self._state.groups.values():
            self._revive(group, turn)
        turn.set_timer(Timer(TimerKind.RETENTION), self._state.limits.retention_check_interval_ms)
        return turn.effects()

    def _revive(self, group: Group, turn: Turn) -> None:
        for member in group.members.values():
            rebalancing.restart_session(group, member, turn)
        if len(group.members) > self._state.limits.max_size:
            rebalancing.begin_rebalance(group, RebalanceCause.GROUP_TOO_LARGE, turn)

    def unload(self, now_ms: int) -> Effects:
        """Whoever waits is sent to the new coordinator. Writes on their way are still to be reported."""
        turn = Turn(self._state, now_ms)
        for group in list(self._state.groups.values()):
            for member in group.members.values():
                rebalancing.release_join(group, member, KafkaCode.NOT_COORDINATOR, turn)
                rebalancing.release_sync(member, KafkaCode.NOT_COORDINATOR, turn)
            drop_group(group, turn)
        turn.cancel_timer(Timer(TimerKind.RETENTION))
        self._is_unloaded = True
        return turn.effects()

    # ---- running

    def handle(self, request: Request[Any], caller: Caller, now_ms: int) -> Effects:
        assert not self._state.is_loading
        assert not self._is_unloaded
        assert caller.token is not None, "None stands for the absence of a request"
        turn = Turn(self._state, now_ms)
        try:
            HANDLERS[type(request)](request, caller, turn)
        except KafkaError as refusal:
            turn.reply(caller.token, refused(request, caller.version, refusal.code, self._state.partition_exists))
        return turn.effects()

    def on_committed(self, write: Write, now_ms: int) -> Effects:
        """The records are in the log, on as many replicas as it takes."""
        turn = Turn(self._state, now_ms)
        producer_id = write.producer.producer_id if write.producer is not None else None
        if not self._is_unloaded:
            for record in write.records:
                replay(record, producer_id, turn)
        write.answer.committed(turn)
        return turn.effects()

    def on_append_failed(self, write: Write, code: KafkaCode, now_ms: int) -> Effects:
        turn = Turn(self._state, now_ms)
        write.answer.failed(code, turn)
        return turn.effects()

    def on_topics_deleted(self, topics: Collection[str], now_ms: int) -> Effects:
        turn = Turn(self._state, now_ms)
        deleting.forget_topics(topics, turn)
        return turn.effects()

    # ---- time

    def next_deadline_ms(self) -> int | None:
        return self._state.deadlines.next_ms()

    def on_time(self, now_ms: int) -> Effects:
        turn = Turn(self._state, now_ms)
        for timer in self._state.deadlines.due(now_ms):
            self._on_timer(timer, turn)
        return turn.effects()

    def _on_timer(self, timer: Timer, turn: Turn) -> None:
        if timer.kind is TimerKind.RETENTION:
            expiry.on_retention_check(turn)
            return
        group = self._state.groups[timer.group_id]
        match timer.kind:
            case TimerKind.SESSION:
                heartbeats.on_session_expired(group, timer.member_id, turn)
            case TimerKind.PENDING:
                joining.on_pending_expired(group, timer.member_id, turn)
            case TimerKind.JOIN:
                rebalancing.on_join_phase_over(group, turn)
            case TimerKind.SYNC:
                syncing.on_sync_phase_over(group, turn)

    # ---- for metrics, and for those who look at groups from outside

    def groups(self) -> Iterable[Group]:
        return self._state.groups.values()

    def group(self, group_id: str) -> Group | None:
        return self._state.groups.get(group_id)

    def offsets_of(self, group_id: str) -> Mapping[Partition, CommittedOffset]:
        return self._state.offsets.of_group(group_id)

    def count_by_state(self) -> Counter[GroupState]:
        return Counter(group.state for group in self._state.groups.values())

    def committed_offsets(self) -> Iterator[tuple[str, Partition, CommittedOffset]]:
        """Every group's offsets, from which its lag is found."""
        for group_id in self._state.groups:
            for partition, committed in self._state.offsets.of_group(group_id).items():
                yield group_id, partition, committed
