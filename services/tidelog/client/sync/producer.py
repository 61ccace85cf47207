"""The producer without `await`.

`send` puts a record into an inbox, and the client's loop moves it on from there: handing over many records at once costs
far less than a round trip between two threads for each. The inbox is small, so a full buffer is felt by the caller.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

from tidelog.client import producer as aio
from tidelog.client.core.partitioners import PartitionerFunction
from tidelog.client.core.record_checks import check_record
from tidelog.client.core.transaction import TransactionState
from tidelog.client.errors import BufferFullError
from tidelog.client.records import Header, RecordMetadata
from tidelog.client.shell.delivery import DeliveryCallback
from tidelog.client.sync.loop_thread import SyncClient, waiting

# Enough to keep the loop busy while the calling thread runs; little beside buffer.memory.
_INBOX_RECORDS = 4096
_INBOX_BYTES = 4 * 1024 * 1024


class Delivery:
    """One record on its way; `result` waits for it."""

    __slots__ = ("_delivery", "_error", "_producer")

    def __init__(self, producer: "Producer") -> None:
        self._producer = producer
        self._delivery: aio.Delivery | None = None
        self._error: BaseException | None = None

    @property
    def done(self) -> bool:
        return self._error is not None or (self._delivery is not None and self._delivery.done)

    def result(self, timeout_s: float | None = None) -> RecordMetadata:
        """Where the record was written; raises why it was not, or TimeoutError."""
        if self._error is not None:
            raise self._error
        if self._delivery is not None and self._delivery.done:
            return self._delivery.result()
        return self._producer.wait_for(self, timeout_s)

    def exception(self, timeout_s: float | None = None) -> BaseException | None:
        """Why the record was not written, if it was not."""
        try:
            self.result(timeout_s)
        except Exception as error:  # noqa: BLE001  every failure is the answer
            return error
        return None

    # ---- for the producer

    def on_sent(self, delivery: aio.Delivery) -> None:
        self._delivery = delivery

    def on_refused(self, error: BaseException) -> None:
        self._error = error

    async def settled(self, moved: asyncio.Event) -> RecordMetadata:
        while self._delivery is None and self._error is None:
            await moved.wait()
        if self._error is not None:
            raise self._error
        assert self._delivery is not None, "it was sent or refused"
        return await self._delivery


class _Handed(NamedTuple):
    """A record in the inbox."""

    topic: str
    key: bytes | None
    value: bytes | None
    partition: int | None
    timestamp: int
    headers: Sequence[Header]
    callback: DeliveryCallback | None
    delivery: Delivery

    def size_bytes(self) -> int:
        """About as much memory as it holds; headers are small beside keys and values, as a rule."""
        return len(self.value or b"") + len(self.key or b"")


class Producer(SyncClient[aio.Producer]):
    """As `tidelog.client.Producer`; calls wait, and `send` waits while the buffer is full."""

    def __init__(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        partitioner: str | PartitionerFunction = "sticky",
        key_serializer: aio.Serializer | None = None,
        value_serializer: aio.Serializer | None = None,
        **given: Any,
    ) -> None:
        super().__init__(aio.Producer(settings, partitioner=partitioner, **given))
        self._serialize_key = key_serializer
        self._serialize_value = value_serializer
        self._inbox: deque[_Handed] = deque()
        # Bytes that were ever put into the inbox, and that were ever taken out; each is counted by one side.
        self._bytes_in = 0
        self._bytes_out = 0
        self._lock = threading.Condition()
        self._is_pumping = False
        self._pump_task: asyncio.Task[None] | None = None
        self._moved: asyncio.Event

    def start(self) -> Self:
        super().start()
        self._moved = self._call(asyncio.Event)
        return self

    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        *,
        partition: int | None = None,
        timestamp: int | None = None,
        headers: Sequence[Header] = (),
        callback: DeliveryCallback | None = None,
    ) -> Delivery:
        """Send a record; waits while the buffer is full, up to `max.block.ms`, and then raises BufferFullError.

        `callback` is called with (metadata, error) on the client's loop: it must not wait.
        """
        loop = self._loop_thread().loop
        if self._client.config.transactional_id is not None:
            self._client.check_in_transaction()
        if self._serialize_key is not None:
            key = self._serialize_key(key)
        if self._serialize_value is not None:
            value = self._serialize_value(value)
        if timestamp is None:
            timestamp = int(time.time() * 1000)
        check_record(topic, key, value, timestamp, headers, partition)
        delivery = Delivery(self)
        handed = _Handed(topic, key, value, partition, timestamp, headers, callback, delivery)
        with self._lock:
            if not self._has_room():
                self._wait_for_room()
            self._inbox.append(handed)
            self._bytes_in += handed.size_bytes()
            if self._is_pumping:
                return delivery
            self._is_pumping = True
        loop.call_soon_threadsafe(self._start_pump, loop)
        return delivery

    def _has_room(self) -> bool:
        return len(self._inbox) < _INBOX_RECORDS and self._bytes_in - self._bytes_out < _INBOX_BYTES

    def _wait_for_room(self) -> None:
        wait_ms = self._client.config.max_block_ms
        if not self._lock.wait_for(self._has_room, wait_ms / 1000):
            raise BufferFullError(f"buffer.memory: no room for a record within max.block.ms, {wait_ms}")

    def flush(self, timeout_ms: int | None = None) -> None:
        """Wait until all that was sent before is delivered or has failed."""
        self._run(self._flush(timeout_ms))

    def close(self) -> None:
        """Deliver what was sent, then give everything back."""
        if self._thread is not None and hasattr(self, "_moved"):
            self._run(self._emptied())
        super().close()

    def wait_for(self, delivery: Delivery, timeout_s: float | None) -> RecordMetadata:
        return self._loop_thread().start(delivery.settled(self._moved)).result(timeout_s)

    partitions_for = waiting(aio.Producer.partitions_for)

    # ---- transactions

    begin_transaction = waiting(aio.Producer.begin_transaction)

    def commit_transaction(self) -> None:
        """Deliver everything and commit."""
        self._run(self._after_inbox(self._client.commit_transaction))

    def abort_transaction(self) -> None:
        """Take back everything of the transaction."""
        self._run(self._after_inbox(self._client.abort_transaction))

    send_offsets_to_transaction = waiting(aio.Producer.send_offsets_to_transaction)

    @contextmanager
    def transaction(self) -> Iterator[Self]:
        """A transaction that commits at the end of the block, and aborts if the block raises."""
        self.begin_transaction()
        try:
            yield self
            self.commit_transaction()
        except BaseException:
            if self.transaction_state in (TransactionState.IN_TRANSACTION, TransactionState.ABORTABLE_ERROR):
                self.abort_transaction()
            raise

    @property
    def transaction_state(self) -> TransactionState:
        """Where the producer is in its transactions; needs a `transactional.id`."""
        return self._client.transaction_state

    # ---- on the loop

    def _start_pump(self, loop: asyncio.AbstractEventLoop) -> None:
        self._pump_task = loop.create_task(self._pump())

    async def _pump(self) -> None:
        """Move what is in the inbox on, in its order, as far as there is room."""
        while True:
            with self._lock:
                batch = list(self._inbox)
                if not batch:
                    self._is_pumping = False
                    break
            for handed in batch:
                await self._hand_on(handed)
                self._inbox.popleft()
                self._bytes_out += handed.size_bytes()
            with self._lock:
                self._lock.notify_all()
            self._moved.set()
            self._moved.clear()
        self._moved.set()
        self._moved.clear()

    async def _hand_on(self, handed: _Handed) -> None:
        try:
            sent = await self._client.enqueue(
                handed.topic,
                handed.value,
                handed.key,
                partition=handed.partition,
                timestamp=handed.timestamp,
                headers=handed.headers,
                callback=handed.callback,
            )
        except Exception as error:  # noqa: BLE001  it belongs to whoever sent the record
            handed.delivery.on_refused(error)
            if handed.callback is not None:
                handed.callback(None, error)
        else:
            handed.delivery.on_sent(sent)

    async def _emptied(self) -> None:
        while self._is_pumping:
            await self._moved.wait()

    async def _flush(self, timeout_ms: int | None) -> None:
        await self._emptied()
        await self._client.flush(timeout_ms)

    async def _after_inbox(self, then: Callable[[], Any]) -> None:
        await self._emptied()
        await then()
