"""Asking coordinators whether a partition is in a producer's transaction before the first write opens it there.

Without that a write that comes late, after its transaction was ended, would open one that nobody ends, and everything
behind it would stay hidden from readers of committed records. One question is asked for each transaction and partition;
later writes of the producer wait behind it in their order. If the transaction ends while the question is under way, the
answer is about the past and the writes are refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.log.producer_entry import NO_OFFSET
from tidelog.kafka.cluster import TRANSACTION_STATE
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.header import HEADER_SIZE, TRANSACTIONAL, read_header
from tidelog.kafka.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.broker.core.live_config import LiveConfig
    from tidelog.broker.shell.coordinator_link import Spawn
    from tidelog.broker.shell.partition import Partition
    from tidelog.broker.shell.relay import Relay

    Then = Callable[[KafkaCode], None]
    # The transactional id, and the id and epoch of its producer.
    Transaction = tuple[bytes, int, int]

_VERSION = 4
# The coordinator is busy, or nobody knows where it is: the producer tries again, as it does with this code.
_TRY_AGAIN = frozenset(
    {
        KafkaCode.NETWORK_EXCEPTION,
        KafkaCode.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaCode.COORDINATOR_NOT_AVAILABLE,
        KafkaCode.NOT_COORDINATOR,
        KafkaCode.CONCURRENT_TRANSACTIONS,
    }
)
_NOT_IN_TRANSACTION = frozenset({KafkaCode.INVALID_TXN_STATE, KafkaCode.TRANSACTION_ABORTABLE})
_ABORTABLE_FROM = 11


class Verification:
    """One question under way, and the writes that wait for its answer."""

    __slots__ = ("is_outdated", "leads_since_epoch", "waiting")

    def __init__(self, leads_since_epoch: int) -> None:
        self.leads_since_epoch = leads_since_epoch
        self.is_outdated = False
        self.waiting: list[Then] = []


class Verifying:
    def __init__(
        self, relay: Relay, live: LiveConfig, spawn: Spawn, call_soon: Callable[[Callable[[], None]], object]
    ) -> None:
        self._relay = relay
        self._live = live
        self._spawn = spawn
        self._call_soon = call_soon
        # What is asked in the next turn of the event loop: the partitions of one request go into one question.
        self._to_ask: dict[Transaction, list[tuple[Partition, Verification]]] = {}

    def producer_to_verify(self, partition: Partition, data: memoryview) -> tuple[int, int] | None:
        """Id and epoch of the producer, if this write would open a transaction or comes behind one that would."""
        if partition.leader is None or len(data) < HEADER_SIZE:
            return None
        header = read_header(data)
        if not header.attributes & TRANSACTIONAL or not self._live.broker.transaction_partition_verification_enable:
            return None
        producer = header.producer_id, header.producer_epoch
        if producer in partition.verifications:
            return producer
        entry = partition.log.producers.entries.get(header.producer_id)
        is_open = (
            entry is not None and entry.txn_first_offset != NO_OFFSET and entry.producer_epoch == header.producer_epoch
        )
        return None if is_open else producer

    def verify(self, partition: Partition, transactional_id: bytes, producer: tuple[int, int], then: Then) -> None:
        """Call `then` once it is known whether the producer may write, after all who asked before."""
        verification = partition.verifications.get(producer)
        if verification is None or verification.leads_since_epoch != partition.leads_since_epoch:
            verification = partition.verifications[producer] = Verification(partition.leads_since_epoch)
            if not self._to_ask:
                self._call_soon(self._ask)
            self._to_ask.setdefault((transactional_id, *producer), []).append((partition, verification))
        verification.waiting.append(then)

    def _ask(self) -> None:
        to_ask, self._to_ask = self._to_ask, {}
        for transaction, questions in to_ask.items():
            self._spawn(self._settle(transaction, questions), "verification of a transaction")

    async def _settle(self, transaction: Transaction, questions: list[tuple[Partition, Verification]]) -> None:
        producer = transaction[1], transaction[2]
        try:
            codes = await self._codes(transaction, [partition for partition, _ in questions])
        except KafkaError as refusal:
            codes = dict.fromkeys(((one.name.topic, one.name.partition) for one, _ in questions), refusal.code)
        for partition, verification in questions:
            if partition.verifications.get(producer) is verification:
                del partition.verifications[producer]
            code = codes.get((partition.name.topic, partition.name.partition), KafkaCode.INVALID_TXN_STATE)
            outcome = _outcome(code, partition, verification)
            for then in verification.waiting:
                then(outcome)

    async def _codes(self, transaction: Transaction, partitions: list[Partition]) -> dict[tuple[str, int], KafkaCode]:
        owner = self._relay.routing.owner(TRANSACTION_STATE, transaction[0])
        answer = await self._relay.ask(owner, _question(transaction, partitions), _VERSION)
        if answer.error_code:
            raise KafkaError(KafkaCode(answer.error_code))
        return {
            (topic.name, one.partition_index): KafkaCode(one.partition_error_code)
            for result in answer.results_by_transaction
            for topic in result.topic_results
            for one in topic.results_by_partition
        }


def code_for_client(code: KafkaCode, produce_version: int) -> KafkaCode:
    """What a producer is told that asked in this version."""
    if code in _TRY_AGAIN:
        return KafkaCode.NOT_ENOUGH_REPLICAS
    if code in _NOT_IN_TRANSACTION:
        is_known = produce_version >= _ABORTABLE_FROM
        return KafkaCode.TRANSACTION_ABORTABLE if is_known else KafkaCode.INVALID_TXN_STATE
    return KafkaCode.INVALID_PRODUCER_EPOCH if code is KafkaCode.PRODUCER_FENCED else code


def _outcome(code: KafkaCode, partition: Partition, verification: Verification) -> KafkaCode:
    if code is not KafkaCode.NONE:
        return code
    if partition.leads_since_epoch != verification.leads_since_epoch:
        return KafkaCode.NOT_LEADER_OR_FOLLOWER
    return KafkaCode.INVALID_TXN_STATE if verification.is_outdated else code


def _question(transaction: Transaction, partitions: list[Partition]) -> AddPartitionsToTxnRequest:
    transactional_id, producer_id, producer_epoch = transaction
    by_topic: dict[str, list[int]] = {}
    for partition in partitions:
        by_topic.setdefault(partition.name.topic, []).append(partition.name.partition)
    return AddPartitionsToTxnRequest(
        transactions=[
            AddPartitionsToTxnTransaction(
                transactional_id=str(transactional_id, "utf-8", "replace"),
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                verify_only=True,
                topics=[AddPartitionsToTxnTopic(name=name, partitions=indexes) for name, indexes in by_topic.items()],
            )
        ]
    )
