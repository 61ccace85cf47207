"""The groups of one shard at work: requests and time go into the core, records and answers come out."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from tidelog.group_coordinator.core.groups.effects import Producer
from tidelog.group_coordinator.shell.append_queue import Append
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.records.control import EndTransactionMarker, MarkerType
from tidelog.runtime import logs

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from tidelog.group_coordinator.core.groups.effects import Effects, Write
    from tidelog.group_coordinator.core.groups.shard import GroupShard
    from tidelog.group_coordinator.core.groups.turn import Caller
    from tidelog.group_coordinator.core.records import CoordinatorRecord
    from tidelog.group_coordinator.shell.append_queue import AppendQueue
    from tidelog.kafka.wire.messages.write_txn_markers import TxnMarker
    from tidelog.kafka.wire.schema import Request, Response
    from tidelog.runtime.clock import Clock
    from tidelog.runtime.timers import TimerHandle, Timers

    # Takes the answer to a request: the token that a caller of this process has.
    Answer = Callable[[Response], None]

_logger = logs.get("groups")


class GroupContent:
    def __init__(self, core: GroupShard, clock: Clock, timers: Timers, note: Callable[[Effects], None]) -> None:
        """`note` takes what effects have for logs and metrics."""
        self.core = core
        self._clock = clock
        self._timers = timers
        self._note = note
        self._appends: AppendQueue | None = None
        self._timer: TimerHandle | None = None
        self._timer_ms = 0

    # ---- loading

    def replay(self, record: CoordinatorRecord, producer_id: int | None) -> None:
        self.core.replay(record, producer_id)

    def on_transaction_marker(self, producer_id: int, *, committed: bool) -> None:
        self.core.on_transaction_marker(producer_id, committed=committed)

    def begin(self, appends: AppendQueue) -> None:
        self._appends = appends
        self._execute(self.core.activate(self._clock.now_ms()))

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._execute(self.core.unload(self._clock.now_ms()))
        self._appends = None

    # ---- serving

    def handle(self, request: Request[Any], caller: Caller) -> None:
        """The caller's token is called with the answer, now or later."""
        self._execute(self.core.handle(request, caller, self._clock.now_ms()))

    def end_transaction(self, marker: TxnMarker, answer: Callable[[KafkaCode], None]) -> None:
        """Write the marker of a transaction that committed offsets here; then they count, or are dropped."""
        if self._appends is None:
            answer(KafkaCode.NOT_LEADER_OR_FOLLOWER)
            return
        committed = marker.transaction_result
        kind = MarkerType.COMMIT if committed else MarkerType.ABORT
        self._appends.put(
            Append(
                records=(),
                on_committed=partial(self._on_marker_committed, marker.producer_id, answer, committed=committed),
                on_failed=answer,
                producer=Producer(marker.producer_id, marker.producer_epoch),
                marker=EndTransactionMarker(kind, marker.coordinator_epoch),
            )
        )

    def on_topics_deleted(self, topics: Collection[str]) -> None:
        self._execute(self.core.on_topics_deleted(topics, self._clock.now_ms()))

    # ---- effects

    def _execute(self, effects: Effects) -> None:
        for write in effects.writes:
            if self._appends is not None:
                self._appends.put(
                    Append(
                        write.records,
                        partial(self._on_committed, write),
                        partial(self._on_failed, write),
                        write.producer,
                    )
                )
            else:
                self._on_failed(write, KafkaCode.NOT_LEADER_OR_FOLLOWER)
        for token, answer in effects.replies:
            cast("Answer", token)(answer)
        if effects.rebalances or effects.phases or effects.offsets_committed:
            self._note(effects)
        if self._appends is not None:
            self._schedule()

    def _on_committed(self, write: Write) -> None:
        self._execute(self.core.on_committed(write, self._clock.now_ms()))

    def _on_failed(self, write: Write, code: KafkaCode) -> None:
        self._execute(self.core.on_append_failed(write, code, self._clock.now_ms()))

    def _on_marker_committed(self, producer_id: int, answer: Callable[[KafkaCode], None], *, committed: bool) -> None:
        if self._appends is not None:
            self.core.on_transaction_marker(producer_id, committed=committed)
        answer(KafkaCode.NONE)

    # ---- time

    def _schedule(self) -> None:
        """Deadlines move back with every heartbeat; a timer that fires too early costs less than moving it each time."""
        due_ms = self.core.next_deadline_ms()
        if due_ms is None or (self._timer is not None and self._timer_ms <= due_ms):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ms = due_ms
        self._timer = self._timers.after(due_ms - self._clock.now_ms(), self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        self._execute(self.core.on_time(self._clock.now_ms()))
