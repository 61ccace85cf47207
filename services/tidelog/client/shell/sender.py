"""Sends what the accumulator holds: whatever is ready goes out at once, one request a broker, a few of them unanswered.

It is not a task but a function that runs when something may have changed: a batch was started, an answer came, a
connection opened, metadata changed, a time was reached. All of them call `wake`, which runs it once in the next turn.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from tidelog.client.configs.producer import ProducerConfig
from tidelog.client.core.accumulator import Accumulator
from tidelog.client.core.batch import ProducerBatch
from tidelog.client.core.cluster import NO_LEADER
from tidelog.client.core.identity import ProducerIdentity
from tidelog.client.core.partition_queue import PartitionQueue
from tidelog.client.core.verdicts import Verdict, judge
from tidelog.client.errors import DeliveryTimeoutError
from tidelog.client.shell.connections import NETWORK_FAULTS, Connections, Link
from tidelog.client.shell.metadata import Metadata
from tidelog.client.shell.produce_call import NO_ANSWER, Answer, produce
from tidelog.kafka.errors import PROPERTIES, KafkaCode

_log = logging.getLogger("tidelog.client.producer")

# What a request has besides its batches, at most: headers, names, lengths.
_REQUEST_OVERHEAD = 512
_TICK_S = 0.1

Sent = list[tuple[PartitionQueue, ProducerBatch]]


def now_ms() -> int:
    """A clock for deadlines and lingering, which no change of the time of day can move."""
    return int(time.monotonic() * 1000)


@dataclass(slots=True)
class Gates:
    """What may hold batches back besides their own readiness."""

    # A transactional producer sends to a partition only after it has joined the transaction.
    may_send: Callable[[PartitionQueue], bool]
    # Told of a batch that failed for good, before its records are.
    on_failed: Callable[[BaseException], None]
    # Wakes whoever has to get the producer an identity.
    want_identity: Callable[[], None]


class Sender:
    """Moves batches from the accumulator to brokers and back into the hands of whoever sent them."""

    def __init__(
        self,
        config: ProducerConfig,
        accumulator: Accumulator,
        identity: ProducerIdentity,
        connections: Connections,
        metadata: Metadata,
        gates: Gates,
    ) -> None:
        self._config = config
        self._accumulator = accumulator
        self._identity = identity
        self._connections = connections
        self._metadata = metadata
        self._gates = gates
        self._loop = asyncio.get_running_loop()
        self._is_awake = False
        self._is_closed = False
        self._timer: asyncio.TimerHandle | None = None
        self._opening: set[asyncio.Task[None]] = set()
        # When each link's oldest unanswered request was sent is the first of its list.
        self._sent_at: dict[Link, list[float]] = {}
        self._ticker = self._loop.call_later(_TICK_S, self._tick)
        # While above 0, nobody lingers.
        self.hurried = 0
        self.on_progress: Callable[[], None] = lambda: None

    def wake(self) -> None:
        """Look soon at what can be sent."""
        if not self._is_awake:
            self._is_awake = True
            self._loop.call_soon(self._run)

    def close(self) -> None:
        self._is_closed = True
        self._ticker.cancel()
        if self._timer is not None:
            self._timer.cancel()
        for task in self._opening:
            task.cancel()

    @property
    def in_flight(self) -> int:
        return sum(map(len, self._sent_at.values()))

    # ---- sending

    def _run(self) -> None:
        self._is_awake = False
        if self._is_closed or not self._accumulator.waiting or not self._has_identity():
            return
        while ready := self._ready_by_link(now_ms()):
            for link, queues in ready.items():
                self._send(link, queues)

    def _has_identity(self) -> bool:
        if not self._config.enable_idempotence:
            return True
        if self._identity.is_reset_wanted and self._config.transactional_id is None:
            queues = self._accumulator.queues.values()
            if any(queue.in_flight for queue in queues):
                return False
            self._identity.reset(queues)
        if not self._identity.is_known:
            self._gates.want_identity()
            return False
        return True

    def _ready_by_link(self, now: int) -> dict[Link, list[PartitionQueue]]:
        found: dict[Link, list[PartitionQueue]] = {}
        linger_ms = 0 if self.hurried else self._config.linger_ms
        next_ms: int | None = None
        for queue in list(self._accumulator.waiting):
            if not queue.may_send_head():
                continue
            ready_ms = queue.ready_at_ms(linger_ms)
            if ready_ms > now:
                next_ms = ready_ms if next_ms is None else min(next_ms, ready_ms)
            elif self._gates.may_send(queue):
                link = self._link_of(queue)
                if link is not None:
                    found.setdefault(link, []).append(queue)
        if next_ms is not None:
            self._wake_at(next_ms, now)
        return found

    def _link_of(self, queue: PartitionQueue) -> Link | None:
        """The link to the partition's leader, if it takes one more request now."""
        leader = self._metadata.view.leader(queue.topic, queue.partition)
        if leader == NO_LEADER:
            self._metadata.request()
            return None
        link = self._connections.ready(leader)
        if link is None:
            self._open(leader)
            return None
        busy = self._sent_at.get(link, ())
        return link if len(busy) < self._config.max_in_flight_requests_per_connection else None

    def _open(self, leader: int) -> None:
        if self._connections.is_opening(leader):
            return
        task = self._loop.create_task(self._open_link(leader))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open_link(self, leader: int) -> None:
        await asyncio.sleep(self._connections.retry_in_s(leader))
        try:
            await self._connections.link(leader)
        except NETWORK_FAULTS:
            self._metadata.request()
        self.wake()

    def _send(self, link: Link, queues: list[PartitionQueue]) -> None:
        sent: Sent = []
        room = self._config.max_request_size - _REQUEST_OVERHEAD
        for queue in queues:
            size = queue.head().size
            if sent and size > room:
                break
            room -= size
            batch = queue.take()
            if self._config.enable_idempotence:
                queue.number(batch, self._identity.producer_id, self._identity.producer_epoch)
            self._accumulator.took(queue)
            sent.append((queue, batch))
        future = produce(link, self._config, [batch for _, batch in sent])
        if future is None:
            self._on_unacknowledged(sent)
            return
        self._sent_at.setdefault(link, []).append(time.monotonic())
        future.add_done_callback(lambda done: self._on_answer(link, sent, done))

    def _on_unacknowledged(self, sent: Sent) -> None:
        """With acks=0 what was written to the socket is done."""
        for queue, batch in sent:
            queue.settle(batch)
            batch.complete(-1)
        self._loop.call_soon(self.on_progress)

    # ---- answers

    def _on_answer(self, link: Link, sent: Sent, done: asyncio.Future[dict[tuple[str, int], Answer]]) -> None:
        times = self._sent_at[link]
        times.pop(0)
        if not times:
            del self._sent_at[link]
        if done.cancelled():
            return
        fault = done.exception()
        answers = {} if fault is not None else done.result()
        if fault is not None and not isinstance(fault, NETWORK_FAULTS):
            _log.error("a produce request failed", exc_info=fault)
        for queue, batch in sent:
            self._on_batch_answer(queue, batch, answers.get((batch.topic, batch.partition), NO_ANSWER))
        self.on_progress()
        self.wake()

    def _on_batch_answer(self, queue: PartitionQueue, batch: ProducerBatch, answer: Answer) -> None:
        if batch.is_done:
            return
        is_transactional = self._config.transactional_id is not None
        match judge(answer.code, batch, queue, retries=self._config.retries, is_transactional=is_transactional):
            case Verdict.DONE:
                queue.settle(batch)
                batch.complete(answer.base_offset, answer.log_append_time)
            case Verdict.SPLIT:
                self._accumulator.split(queue, batch)
            case Verdict.FAIL:
                self._fail(queue, batch, answer.error())
            case verdict:
                if verdict is Verdict.RESET_AND_RETRY:
                    self._identity.want_reset()
                self._retry(queue, batch, answer)

    def _retry(self, queue: PartitionQueue, batch: ProducerBatch, answer: Answer) -> None:
        knows_new_leader = answer.leader >= 0 and self._metadata.view.learn_leader(
            batch.topic, batch.partition, answer.leader, answer.leader_epoch
        )
        # Who follows a batch that failed waits for it anyway; only a fault of its own calls for a pause.
        pause_ms = (
            0 if knows_new_leader or answer.code is KafkaCode.OUT_OF_ORDER_SEQUENCE_NUMBER else self._pause_ms(batch)
        )
        self._accumulator.put_back(queue, batch, now_ms() + pause_ms)
        if PROPERTIES[answer.code].refreshes_metadata and not knows_new_leader:
            self._metadata.request()

    def _pause_ms(self, batch: ProducerBatch) -> int:
        doubled = self._config.retry_backoff_ms << min(batch.attempts - 1, 20)
        return min(doubled, self._config.retry_backoff_max_ms)

    def _fail(self, queue: PartitionQueue, batch: ProducerBatch, error: BaseException) -> None:
        queue.settle(batch)
        if self._config.enable_idempotence:
            self._identity.want_reset()
        self._gates.on_failed(error)
        batch.fail(error)

    # ---- time

    def _wake_at(self, at_ms: int, now: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(max(at_ms - now, 1) / 1000, self.wake)

    def _tick(self) -> None:
        """Give up what has waited for too long."""
        self._ticker = self._loop.call_later(_TICK_S, self._tick)
        oldest = time.monotonic() - self._config.request_timeout_ms / 1000
        for link, times in list(self._sent_at.items()):
            if times[0] < oldest:
                link.connection.close()
        self._expire(now_ms() - self._config.delivery_timeout_ms)
        if self._accumulator.waiting:
            self.wake()

    def _expire(self, before_ms: int) -> None:
        expired = self._accumulator.expire(before_ms)
        for queue in self._accumulator.queues.values():
            while queue.in_flight and queue.in_flight[0].created_ms < before_ms:
                expired.append(queue.in_flight.popleft())
        for batch in expired:
            error = DeliveryTimeoutError(
                f"{batch.count} records of {batch.topic}-{batch.partition} were not acknowledged within "
                f"delivery.timeout.ms, {self._config.delivery_timeout_ms}, after {batch.attempts} attempts"
            )
            if self._config.enable_idempotence and batch.attempts:
                self._identity.want_reset()
            self._gates.on_failed(error)
            batch.fail(error)
        if expired:
            self.on_progress()
