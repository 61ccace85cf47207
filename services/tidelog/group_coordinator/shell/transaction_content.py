"""The transactions of one shard at work: requests, markers and time go into the core, records and answers come out."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

from tidelog.group_coordinator.core.transactions.append_errors import append_refused
from tidelog.group_coordinator.shell.append_queue import Append
from tidelog.kafka.coordination.transaction_answers import refusal
from tidelog.kafka.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from tidelog.kafka.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from tidelog.kafka.wire.messages.end_txn import EndTxnRequest
from tidelog.kafka.wire.messages.init_producer_id import InitProducerIdRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tidelog.group_coordinator.core.records import CoordinatorRecord, Outcome
    from tidelog.group_coordinator.core.transactions.markers import SendMarkers
    from tidelog.group_coordinator.core.transactions.shard import TransactionShard
    from tidelog.group_coordinator.shell.append_queue import AppendQueue
    from tidelog.group_coordinator.shell.group_content import Answer
    from tidelog.group_coordinator.shell.marker_sender import MarkerSender
    from tidelog.kafka.cluster import ClusterView
    from tidelog.kafka.configs.transactions import TransactionSettings
    from tidelog.kafka.errors import KafkaCode
    from tidelog.kafka.wire.messages.write_txn_markers import WriteTxnMarkersResponse
    from tidelog.kafka.wire.schema import Response
    from tidelog.runtime.clock import Clock
    from tidelog.runtime.timers import TimerHandle, Timers

    Changing = InitProducerIdRequest | AddPartitionsToTxnRequest | AddOffsetsToTxnRequest | EndTxnRequest

R = TypeVar("R", bound="Response")


class TransactionContent:
    def __init__(
        self,
        core: TransactionShard,
        view: ClusterView,
        config: TransactionSettings,
        clock: Clock,
        timers: Timers,
        markers: MarkerSender,
        on_superseded: Callable[[str], None],
    ) -> None:
        """`on_superseded` is told why this shard has to be read again."""
        self.core = core
        self._view = view
        self._config = config
        self._clock = clock
        self._timers = timers
        self._markers = markers
        self._on_superseded = on_superseded
        self._appends: AppendQueue | None = None
        self._series: tuple[TimerHandle, ...] = ()
        self._timer: TimerHandle | None = None

    # ---- loading

    def replay(self, record: CoordinatorRecord, producer_id: int | None) -> None:  # noqa: ARG002  nobody's transaction
        self.core.replay(record)

    def on_transaction_marker(self, producer_id: int, *, committed: bool) -> None:
        """Only fences are in this log."""

    def begin(self, appends: AppendQueue) -> None:
        self._appends = appends
        config = self._config
        self._series = (
            self._timers.every(
                config.transaction_abort_timed_out_transaction_cleanup_interval_ms,
                lambda: self._append_all(self.core.abort_timed_out(self._clock.now_ms())),
            ),
            self._timers.every(
                config.transaction_remove_expired_transaction_cleanup_interval_ms,
                lambda: self._append_all(self.core.forget_expired(self._clock.now_ms())),
            ),
        )
        self.do_what_is_due()

    def end(self) -> None:
        self._appends = None
        for series in self._series:
            series.cancel()
        if self._timer is not None:
            self._timer.cancel()

    # ---- serving

    def handle(self, request: Changing, version: int, answer: Answer) -> None:
        """The answer comes when what it says is committed."""
        now_ms = self._clock.now_ms()
        match request:
            case InitProducerIdRequest():
                self._settle(request, version, self.core.init_producer_id(request, version, now_ms), answer)
            case AddPartitionsToTxnRequest():
                self._settle(request, version, self.core.add_partitions(request, version, self._view, now_ms), answer)
            case AddOffsetsToTxnRequest():
                self._settle(request, version, self.core.add_offsets(request, version, now_ms), answer)
            case EndTxnRequest():
                self._settle(request, version, self.core.end(request, version, now_ms), answer)

    def _settle(
        self,
        request: Changing,
        version: int,
        outcome: Outcome[R],
        answer: Answer,
    ) -> None:
        if not outcome.records:
            answer(outcome.answer)
            return
        self._append(
            outcome.records,
            lambda: answer(outcome.answer),
            lambda code: answer(refusal(request, version, append_refused(code))),
        )

    # ---- what nobody asked for

    def do_what_is_due(self) -> None:
        """Complete what has all its markers, and send those that are due; also when the cluster has changed."""
        if self._appends is None:
            return
        due = self.core.take_due(self._view, self._clock.now_ms())
        self._append_all(due.completions)
        for send in due.sends:
            self._markers.send(send, partial(self._on_answered, send), partial(self._on_lost, send))
        self._schedule(due.next_due_ms)

    def _schedule(self, due_ms: int | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if due_ms is not None:
            self._timer = self._timers.after(due_ms - self._clock.now_ms(), self.do_what_is_due)

    def _on_answered(self, sent: SendMarkers, response: WriteTxnMarkersResponse) -> None:
        superseded = self.core.on_markers_answered(sent, response, self._clock.now_ms())
        if self._appends is None:
            return
        if superseded:
            self._on_superseded(f"another coordinator has ended {', '.join(superseded)}")
        else:
            self.do_what_is_due()

    def _on_lost(self, sent: SendMarkers) -> None:
        self.core.on_markers_lost(sent, self._clock.now_ms())
        self.do_what_is_due()

    # ---- the log

    def _append_all(self, outcomes: Iterable[Outcome[None]]) -> None:
        for outcome in outcomes:
            self._append(outcome.records, lambda: None, lambda _: None)

    def _append(
        self,
        records: tuple[CoordinatorRecord, ...],
        on_done: Callable[[], None],
        on_refused: Callable[[KafkaCode], None],
    ) -> None:
        def on_committed() -> None:
            for record in records:
                self.core.replay(record)
            on_done()
            self.do_what_is_due()

        def on_failed(code: KafkaCode) -> None:
            self.core.on_append_failed(records, self._clock.now_ms())
            on_refused(code)
            self.do_what_is_due()

        assert self._appends is not None, "a shard that is not served decides nothing"
        self._appends.put(Append(records, on_committed, on_failed))
