"""The producer: `send` puts a record into a batch, the batch goes to its partition's leader, and the sender is told.

    async with Producer(bootstrap_servers="127.0.0.1:9092") as producer:
        written = await producer.send("orders", b"value", key=b"key")

`send` does not wait by itself. Who sends much awaits `enqueue`, which waits only while the buffer is full, and `flush` in
the end.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Self

from tidelog.client.configs.producer import ProducerConfig
from tidelog.client.configs.reading import read_settings
from tidelog.client.core.accumulator import Accumulator
from tidelog.client.core.batch import prepare
from tidelog.client.core.cluster import PartitionInfo
from tidelog.client.core.identity import ProducerIdentity
from tidelog.client.core.partition_queue import PartitionQueue
from tidelog.client.core.partitioners import PartitionerFunction, make_partitioner
from tidelog.client.core.transaction import TransactionState
from tidelog.client.errors import ClosedError, IllegalStateError, RequestTimeoutError, TransactionAbortedError
from tidelog.client.records import ConsumerGroupMetadata, Header, OffsetAndMetadata, RecordMetadata, TopicPartition
from tidelog.client.shell.client import Client
from tidelog.client.shell.delivery import Delivery, DeliveryCallback
from tidelog.client.shell.identities import fetch_identity
from tidelog.client.shell.intake import Intake
from tidelog.client.shell.sender import Gates, Sender
from tidelog.client.shell.transactions import Transactions
from tidelog.kafka.errors import PROPERTIES, KafkaError
from tidelog.kafka.records.compression import Codec

__all__ = ["Delivery", "DeliveryCallback", "Producer", "RecordMetadata", "Serializer"]

Serializer = Callable[[Any], bytes | None]


class Producer(Client):
    """Sends records. Settings are given by Kafka's names in a mapping, or as keyword arguments with underscores."""

    config: ProducerConfig

    def __init__(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        partitioner: str | PartitionerFunction = "sticky",
        key_serializer: Serializer | None = None,
        value_serializer: Serializer | None = None,
        **given: Any,
    ) -> None:
        config = read_settings(ProducerConfig, settings, given)
        super().__init__(config)
        self.config = config
        self._partitioner = make_partitioner(partitioner, random.randrange)
        self._serialize_key = key_serializer
        self._serialize_value = value_serializer
        self._accumulator = Accumulator(
            batch_size=config.batch_size,
            memory_bytes=config.buffer_memory,
            request_size_max=config.max_request_size,
            codec=Codec[config.compression_type.upper()],
            is_transactional=config.transactional_id is not None,
            in_flight_max=config.max_in_flight_requests_per_connection if config.enable_idempotence else 1,
        )
        self._identity = ProducerIdentity()
        self._identifying: asyncio.Task[None] | None = None
        self._transactions: Transactions | None = None
        self._intake: Intake
        self._sender: Sender

    async def start(self) -> Self:
        """Find the cluster; a transactional producer also takes over its `transactional.id`."""
        prepare()
        await super().start()
        gates = Gates(may_send=self._may_send, on_failed=self._on_failed, want_identity=self._want_identity)
        self._sender = Sender(self.config, self._accumulator, self._identity, self.connections, self.metadata, gates)
        self._intake = Intake(self.config, self._accumulator, self._partitioner, self.metadata, self._sender.wake)
        self._sender.on_progress = self._intake.serve_lines
        if self.config.transactional_id is not None:
            self._transactions = Transactions(
                self, self.config, self._identity, on_joined=self._sender.wake, on_failed=self._on_failed
            )
            try:
                await self._transactions.initialise(self.config.max_block_ms)
            except BaseException:
                await self.close()
                raise
        return self

    # ---- sending

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
        """Send a record and return at once; await what it returns to know where the record was written.

        Raises WrongArgumentError, RecordTooLargeError or IllegalStateError before anything happened, and BufferFullError
        if the buffer is full and as much stands in line for it already. A record that stands in line for
        `max.block.ms` fails with BufferFullError, too, or with RequestTimeoutError if its topic is not known by then.
        `callback` is called with (metadata, error), one of which is None.
        """
        if self._state != "open":
            self.check_open()
        if self._transactions is not None:
            self._transactions.state.check_can_send()
        if self._serialize_key is not None:
            key = self._serialize_key(key)
        if self._serialize_value is not None:
            value = self._serialize_value(value)
        if timestamp is None:
            timestamp = int(time.time() * 1000)
        delivery = self._intake.put(topic, key, value, list(headers), timestamp, partition)
        if callback is not None:
            delivery.add_callback(callback)
        return delivery

    async def enqueue(
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
        """As `send`, but waits while the buffer is full, up to `max.block.ms`; then raises BufferFullError."""
        if self._state == "open" and self._intake.is_busy:
            await self._intake.until_room()
        return self.send(
            topic, value, key, partition=partition, timestamp=timestamp, headers=headers, callback=callback
        )

    async def flush(self, timeout_ms: int | None = None) -> None:
        """Wait until all that was sent before is delivered or has failed; nothing lingers meanwhile."""
        self.check_open()
        self._sender.hurried += 1
        self._sender.wake()
        try:
            async with asyncio.timeout(None if timeout_ms is None else timeout_ms / 1000):
                await self._intake.until_no_lines()
                await self._until_done()
        except TimeoutError:
            raise RequestTimeoutError(f"flush: not everything was delivered within {timeout_ms} ms") from None
        finally:
            self._sender.hurried -= 1

    async def partitions_for(self, topic: str) -> list[PartitionInfo]:
        """The partitions of a topic, which is created if brokers do so."""
        self.check_open()
        known = await self.metadata.topic(topic, self.config.max_block_ms)
        return [known.partitions[number] for number in sorted(known.partitions)]

    async def close(self, timeout_ms: int | None = None) -> None:
        """Deliver what was sent, up to a time, then give everything back; what is not delivered by then fails."""
        if self._state == "open" and hasattr(self, "_intake"):
            with suppress(RequestTimeoutError):
                await self.flush(self.config.delivery_timeout_ms if timeout_ms is None else timeout_ms)
            await self._stop()
        await super().close()

    async def _until_done(self) -> None:
        """Until every batch that exists now is done."""
        loop = asyncio.get_running_loop()
        waits: list[asyncio.Future[None]] = []
        for batch in self._accumulator.unsent_or_unanswered():
            waits.append(loop.create_future())
            batch.when_done(lambda _, future=waits[-1]: None if future.done() else future.set_result(None))  # type: ignore[misc]
        await asyncio.gather(*waits)

    async def _stop(self) -> None:
        self._sender.close()
        await self._intake.close()
        if self._identifying is not None:
            self._identifying.cancel()
            await asyncio.gather(self._identifying, return_exceptions=True)
        if self._transactions is not None:
            await self._transactions.close()
        error = ClosedError("the producer was closed before the record was delivered")
        for batch in self._accumulator.unsent_or_unanswered():
            batch.fail(error)
        self._intake.refuse_all(error)

    # ---- transactions

    async def begin_transaction(self) -> None:
        """Start a transaction; what is sent from now on belongs to it."""
        self._transacting().state.begin()

    async def commit_transaction(self) -> None:
        """Deliver everything and commit. If a record failed, that is raised and the transaction can only be aborted."""
        transactions = self._transacting()
        if transactions.state.state is TransactionState.IN_TRANSACTION:
            await self.flush()
        transactions.state.begin_commit()
        await transactions.end(committed=True, timeout_ms=self.config.max_block_ms)

    async def abort_transaction(self) -> None:
        """Take back everything of the transaction; what was not sent yet fails with TransactionAbortedError."""
        transactions = self._transacting()
        transactions.state.begin_abort()
        error = TransactionAbortedError("the transaction was aborted")
        self._intake.refuse_all(error)
        dropped = self._accumulator.drop_all()
        for batch in dropped:
            batch.fail(error)
        await self.flush()
        # A batch that was numbered and is not in the log leaves a gap in its partition's sequence.
        has_gap = self._identity.is_reset_wanted or any(batch.attempts for batch in dropped)
        transactions.state.needs_new_epoch |= has_gap
        await transactions.end(committed=False, timeout_ms=self.config.max_block_ms)
        if has_gap:
            self._identity.is_reset_wanted = False
            for queue in self._accumulator.queues.values():
                queue.renumber()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Self]:
        """A transaction that commits at the end of the block, and aborts if the block raises."""
        await self.begin_transaction()
        try:
            yield self
            await self.commit_transaction()
        except BaseException:
            # Whether a commit that got no answer took place is not known, so it cannot be aborted, only repeated.
            state = self._transacting().state.state
            if state in (TransactionState.IN_TRANSACTION, TransactionState.ABORTABLE_ERROR):
                await self.abort_transaction()
            raise

    async def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int], group: ConsumerGroupMetadata | str
    ) -> None:
        """Commit offsets of a consumer group with the transaction: reading and writing become one step.

        `group` is `Consumer.group_metadata()`; a bare group id gives up the check that the member still belongs to it.
        """
        transactions = self._transacting()
        who = ConsumerGroupMetadata(group) if isinstance(group, str) else group
        wanted = {
            TopicPartition(*each): OffsetAndMetadata(offset) if isinstance(offset, int) else offset
            for each, offset in offsets.items()
        }
        await transactions.add_offsets(wanted, who, self.config.max_block_ms)

    @property
    def transaction_state(self) -> TransactionState:
        """Where the producer is in its transactions; needs a `transactional.id`."""
        return self._transacting().state.state

    def check_in_transaction(self) -> None:
        """Raise unless a record may be added to a transaction now."""
        self._transacting().state.check_can_send()

    def _transacting(self) -> Transactions:
        self.check_open()
        if self._transactions is None:
            raise IllegalStateError("transactional.id: transactions need it to be set")
        return self._transactions

    # ---- for the sender

    def _may_send(self, queue: PartitionQueue) -> bool:
        return self._transactions is None or self._transactions.may_send(queue.topic, queue.partition)

    def _on_failed(self, error: BaseException) -> None:
        """A transaction that has failed sends nothing more."""
        if self._transactions is None:
            return
        self._transactions.state.fail(error)
        if self._transactions.state.has_failed:
            self._intake.refuse_all(error)
            for batch in self._accumulator.drop_all():
                # A part of a batch that failed before is done already.
                if not batch.is_done:
                    batch.fail(error)

    def _want_identity(self) -> None:
        if self._identifying is None and self._transactions is None:
            self._identifying = asyncio.create_task(self._identify())

    async def _identify(self) -> None:
        try:
            self._identity.take(*await fetch_identity(self, self.config.request_timeout_ms))
        except (KafkaError, RequestTimeoutError) as error:
            if isinstance(error, KafkaError) and not PROPERTIES[error.code].retriable:
                for batch in self._accumulator.drop_all():
                    batch.fail(error)
        finally:
            self._identifying = None
        self._sender.wake()
