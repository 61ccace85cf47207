"""The coordinator's part of transactions: ids, partitions and offsets that join, the end."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from tidelog.client.configs.producer import ProducerConfig
from tidelog.client.core.identity import ProducerIdentity
from tidelog.client.core.transaction import TransactionManagerState, TransactionState
from tidelog.client.errors import ClientError, CommitFailedError, ProducerFencedError
from tidelog.client.records import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition
from tidelog.client.shell.client import Client
from tidelog.client.shell.coordinators import Coordinator, KeyType
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from tidelog.kafka.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from tidelog.kafka.wire.messages.end_txn import EndTxnRequest
from tidelog.kafka.wire.messages.init_producer_id import InitProducerIdRequest
from tidelog.kafka.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

R = TypeVar("R")

# From version 4 on the request is the one that brokers send.
_ADD_PARTITIONS_VERSION = 3
_PATIENT = frozenset({KafkaCode.CONCURRENT_TRANSACTIONS, KafkaCode.COORDINATOR_LOAD_IN_PROGRESS})
_FENCED = frozenset({KafkaCode.PRODUCER_FENCED, KafkaCode.INVALID_PRODUCER_EPOCH})
_MOVED_ON = frozenset({KafkaCode.ILLEGAL_GENERATION, KafkaCode.UNKNOWN_MEMBER_ID, KafkaCode.FENCED_INSTANCE_ID})


class Transactions:
    """A transactional producer's dealings with its coordinator."""

    def __init__(
        self,
        client: Client,
        config: ProducerConfig,
        identity: ProducerIdentity,
        on_joined: Callable[[], None],
        on_failed: Callable[[BaseException], None],
    ) -> None:
        assert config.transactional_id is not None, "only a transactional producer has transactions"
        self.state = TransactionManagerState()
        self._client = client
        self._id = config.transactional_id
        self._config = config
        self._identity = identity
        self._on_joined = on_joined
        self._on_failed = on_failed
        self._coordinator = Coordinator(client, self._id, KeyType.TRANSACTION)
        self._joining: asyncio.Task[None] | None = None

    async def initialise(self, timeout_ms: int) -> None:
        """Get an id and an epoch; whoever had the transactional id before is fenced, and its transaction ended."""
        again = self._identity.is_known

        def make() -> InitProducerIdRequest:
            return InitProducerIdRequest(
                transactional_id=self._id,
                transaction_timeout_ms=self._config.transaction_timeout_ms,
                producer_id=self._identity.producer_id if again else -1,
                producer_epoch=self._identity.producer_epoch if again else -1,
            )

        answer = await self._asked(
            self._coordinator.call(make, lambda it: it.error_code, timeout_ms=timeout_ms, patient_about=_PATIENT)
        )
        self._identity.take(answer.producer_id, answer.producer_epoch)
        self.state.on_initialised()

    # ---- partitions

    def may_send(self, topic: str, partition: int) -> bool:
        """Whether a partition has joined the transaction; if not, it is made to."""
        if self.state.has_joined(TopicPartition(topic, partition)):
            return True
        if self._joining is None and self.state.state in (TransactionState.IN_TRANSACTION, TransactionState.COMMITTING):
            self._joining = asyncio.create_task(self._join())
            self._joining.add_done_callback(self._after_join)
        return False

    async def _join(self) -> None:
        # Whatever is sent in this turn of the loop joins with one request.
        await asyncio.sleep(0)
        partitions = self.state.joining()

        def make() -> AddPartitionsToTxnRequest:
            return AddPartitionsToTxnRequest(
                transactional_id=self._id,
                producer_id=self._identity.producer_id,
                producer_epoch=self._identity.producer_epoch,
                topics=[
                    AddPartitionsToTxnTopic(
                        name=name, partitions=[each.partition for each in partitions if each.topic == name]
                    )
                    for name in sorted({each.topic for each in partitions})
                ],
            )

        await self._asked(
            self._coordinator.call(
                make,
                _worst_of_partitions,
                timeout_ms=self._config.delivery_timeout_ms,
                at_most=_ADD_PARTITIONS_VERSION,
                patient_about=_PATIENT | {KafkaCode.UNKNOWN_TOPIC_OR_PARTITION},
            )
        )
        self.state.on_joined(partitions)

    def _after_join(self, task: asyncio.Task[None]) -> None:
        self._joining = None
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            self._on_failed(error)
        self._on_joined()

    # ---- offsets

    async def add_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: ConsumerGroupMetadata, timeout_ms: int
    ) -> None:
        """Make a group's offsets a part of the transaction."""
        self.state.check_can_send("send_offsets_to_transaction")
        try:
            await self._add_group(group, timeout_ms)
            await self._commit_offsets(offsets, group, timeout_ms)
        except (KafkaError, ClientError) as error:
            self._on_failed(error)
            raise

    async def _add_group(self, group: ConsumerGroupMetadata, timeout_ms: int) -> None:
        def make() -> AddOffsetsToTxnRequest:
            return AddOffsetsToTxnRequest(
                transactional_id=self._id,
                producer_id=self._identity.producer_id,
                producer_epoch=self._identity.producer_epoch,
                group_id=group.group_id,
            )

        await self._asked(
            self._coordinator.call(make, lambda it: it.error_code, timeout_ms=timeout_ms, patient_about=_PATIENT)
        )
        self.state.on_offsets_added()

    async def _commit_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: ConsumerGroupMetadata, timeout_ms: int
    ) -> None:
        coordinator = Coordinator(self._client, group.group_id, KeyType.GROUP)

        def make() -> TxnOffsetCommitRequest:
            return TxnOffsetCommitRequest(
                transactional_id=self._id,
                group_id=group.group_id,
                producer_id=self._identity.producer_id,
                producer_epoch=self._identity.producer_epoch,
                generation_id=group.generation_id,
                member_id=group.member_id,
                group_instance_id=group.group_instance_id,
                topics=_offsets_by_topic(offsets),
            )

        try:
            await self._asked(coordinator.call(make, _worst_of_offsets, timeout_ms=timeout_ms, patient_about=_PATIENT))
        except KafkaError as error:
            if error.code in _MOVED_ON:
                raise CommitFailedError(error.code) from error
            raise

    # ---- the end

    async def end(self, *, committed: bool, timeout_ms: int) -> None:
        """Have the coordinator commit or abort what has joined; nothing is asked if nothing has."""
        deadline = time.monotonic() + timeout_ms / 1000
        if self._joining is not None:
            await asyncio.gather(self._joining, return_exceptions=True)
        if self.state.is_known_to_coordinator:
            await self._end(committed=committed, timeout_ms=timeout_ms)
        if self.state.needs_new_epoch:
            await self.initialise(max(1, int((deadline - time.monotonic()) * 1000)))
            self.state.needs_new_epoch = False
        self.state.end()

    async def _end(self, *, committed: bool, timeout_ms: int) -> None:
        def make() -> EndTxnRequest:
            return EndTxnRequest(
                transactional_id=self._id,
                producer_id=self._identity.producer_id,
                producer_epoch=self._identity.producer_epoch,
                committed=committed,
            )

        try:
            await self._asked(
                self._coordinator.call(make, lambda it: it.error_code, timeout_ms=timeout_ms, patient_about=_PATIENT)
            )
        except KafkaError as error:
            self._on_failed(error)
            raise

    async def close(self) -> None:
        if self._joining is not None:
            self._joining.cancel()
            await asyncio.gather(self._joining, return_exceptions=True)

    async def _asked(self, asking: Awaitable[R]) -> R:
        """The answer; the refusal that says that another producer took over gets its own type."""
        try:
            return await asking
        except KafkaError as error:
            if error.code not in _FENCED:
                raise
            fenced = ProducerFencedError(error.code, f"another producer uses transactional.id {self._id} now")
            self._on_failed(fenced)
            raise fenced from error


def _worst_of_partitions(answer: AddPartitionsToTxnResponse) -> int:
    codes = [each.partition_error_code for topic in answer.results_by_topic for each in topic.results_by_partition]
    return _first_fault(codes)


def _worst_of_offsets(answer: TxnOffsetCommitResponse) -> int:
    return _first_fault([each.error_code for topic in answer.topics for each in topic.partitions])


def _first_fault(codes: list[int]) -> int:
    # OPERATION_NOT_ATTEMPTED only says that another partition was at fault.
    real = [code for code in codes if code not in (KafkaCode.NONE, KafkaCode.OPERATION_NOT_ATTEMPTED)]
    return next(iter(real or [code for code in codes if code]), 0)


def _offsets_by_topic(offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> list[TxnOffsetCommitRequestTopic]:
    by_topic: dict[str, list[TxnOffsetCommitRequestPartition]] = {}
    for partition, committed in offsets.items():
        by_topic.setdefault(partition.topic, []).append(
            TxnOffsetCommitRequestPartition(
                partition_index=partition.partition,
                committed_offset=committed.offset,
                committed_leader_epoch=committed.leader_epoch,
                committed_metadata=committed.metadata,
            )
        )
    return [TxnOffsetCommitRequestTopic(name=name, partitions=parts) for name, parts in by_topic.items()]
