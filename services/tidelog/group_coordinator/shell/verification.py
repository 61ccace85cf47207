"""Offsets are committed in a transaction only if it includes the group: whoever has the transaction is asked first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.group_coordinator.shell.peers import UnreachableError
from tidelog.kafka.cluster import CONSUMER_OFFSETS, TRANSACTION_STATE, Role
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import PartitionIndex, TopicName, TopicPartition
from tidelog.kafka.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from tidelog.kafka.wire.primitives import MalformedMessage
from tidelog.net.connection import ConnectionLostError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.group_coordinator.shell.append_queue import Spawn
    from tidelog.group_coordinator.shell.peers import Peers
    from tidelog.group_coordinator.shell.transaction_desk import TransactionDesk
    from tidelog.kafka.cluster import ClusterView
    from tidelog.kafka.wire.messages.txn_offset_commit import TxnOffsetCommitRequest

_VERSION = 4
# The transaction's coordinator is not to be asked at the moment; the client asks again.
_TRY_AGAIN = frozenset(
    {
        KafkaCode.CONCURRENT_TRANSACTIONS,
        KafkaCode.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaCode.NOT_COORDINATOR,
    }
)


class Verification:
    def __init__(
        self, own_id: int, desk: TransactionDesk, view: ClusterView, peers: Peers, spawn: Spawn, *, timeout_ms: int
    ) -> None:
        self._own_id = own_id
        self._desk = desk
        self._view = view
        self._peers = peers
        self._spawn = spawn
        self._timeout_s = timeout_ms / 1000

    def of_offsets(self, request: TxnOffsetCommitRequest, shard: int, on_verified: Callable[[KafkaCode], None]) -> None:
        """Whether this shard of offsets takes part in the transaction, called with NONE or what the client is told."""
        partition = TopicPartition(TopicName(CONSUMER_OFFSETS), PartitionIndex(shard))
        owner = self._view.shards.get((TRANSACTION_STATE, self._desk.shard_of(request.transactional_id)))
        if owner is None:
            on_verified(KafkaCode.COORDINATOR_NOT_AVAILABLE)
        elif owner.coordinator == self._own_id:
            on_verified(_told(self._ask_here(request, partition)))
        else:
            self._spawn(self._ask_there(owner.coordinator, request, partition, on_verified), "verification")

    def _ask_here(self, request: TxnOffsetCommitRequest, partition: TopicPartition) -> KafkaCode:
        try:
            codes = self._desk.verify(
                request.transactional_id, request.producer_id, request.producer_epoch, [partition]
            )
        except KafkaError as refused:
            return refused.code
        return codes[partition]

    async def _ask_there(
        self,
        coordinator: int,
        request: TxnOffsetCommitRequest,
        partition: TopicPartition,
        on_verified: Callable[[KafkaCode], None],
    ) -> None:
        try:
            connection = await self._peers.connection(Role.GROUP_COORDINATOR, coordinator)
            answer = await connection.call(_question(request, partition), _VERSION, timeout_s=self._timeout_s)
            topic = answer.results_by_transaction[0].topic_results[0]
            code = KafkaCode(topic.results_by_partition[0].partition_error_code)
        except (UnreachableError, ConnectionLostError, TimeoutError, MalformedMessage, IndexError):
            code = KafkaCode.COORDINATOR_NOT_AVAILABLE
        on_verified(_told(code))


def _question(request: TxnOffsetCommitRequest, partition: TopicPartition) -> AddPartitionsToTxnRequest:
    topic = AddPartitionsToTxnTopic(name=partition.topic, partitions=[partition.partition])
    return AddPartitionsToTxnRequest(
        transactions=[
            AddPartitionsToTxnTransaction(
                transactional_id=request.transactional_id,
                producer_id=request.producer_id,
                producer_epoch=request.producer_epoch,
                verify_only=True,
                topics=[topic],
            )
        ]
    )


def _told(code: KafkaCode) -> KafkaCode:
    return KafkaCode.COORDINATOR_NOT_AVAILABLE if code in _TRY_AGAIN else code
