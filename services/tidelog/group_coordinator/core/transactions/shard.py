"""The transactions of one shard, a partition of __transaction_state: the one door to this package.

Requests come in decoded and go out as an `Outcome`: records to append, and the answer to give once they are committed and
replayed. If the append fails, `on_append_failed` takes the decision back, and the request is answered by
`answers.refusal` with `append_errors.append_refused`. Only one change of a transactional id is under way at a time; it is
the shell's duty to end each by `replay` or by `on_append_failed`.

Markers are asked for through `take_due`: after loading, and whenever a record was replayed, an append failed, markers were
answered or lost, metadata changed, or the time it named has come.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from tidelog.group_coordinator.core.records import CoordinatorRecord, Outcome
from tidelog.group_coordinator.core.transactions import adding, ageing, ending, listing
from tidelog.group_coordinator.core.transactions.initialising import Initialising, NextProducerId
from tidelog.group_coordinator.core.transactions.markers import Markers, SendMarkers
from tidelog.group_coordinator.core.transactions.metadata import ProducerIdAndEpoch
from tidelog.group_coordinator.core.transactions.states import TransactionState
from tidelog.group_coordinator.core.transactions.transactions import Transactions
from tidelog.kafka.cluster import CONSUMER_OFFSETS, ClusterView
from tidelog.kafka.coordination import transaction_answers as answers
from tidelog.kafka.coordination.sharding import shard_of
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import PartitionIndex, TopicName, TopicPartition
from tidelog.kafka.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from tidelog.kafka.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from tidelog.kafka.wire.messages.describe_transactions import DescribedTransaction
from tidelog.kafka.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from tidelog.kafka.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tidelog.kafka.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from tidelog.kafka.wire.messages.write_txn_markers import WriteTxnMarkersResponse


@dataclass(frozen=True, slots=True)
class TransactionLimits:
    """The settings that decisions depend on, with Kafka's defaults."""

    transaction_max_timeout_ms: int = 900_000
    transactional_id_expiration_ms: int = 604_800_000
    offsets_topic_num_partitions: int = 50


@dataclass(frozen=True, slots=True)
class Due:
    """Work that nobody asked for: append what is complete, send markers, and come back at this time or before."""

    completions: tuple[Outcome[None], ...]
    sends: tuple[SendMarkers, ...]
    next_due_ms: int | None


class TransactionShard:
    """One shard, owned by this process under an epoch that its markers carry."""

    def __init__(self, coordinator_epoch: int, limits: TransactionLimits, next_producer_id: NextProducerId) -> None:
        self._limits = limits
        self._transactions = Transactions()
        self._initialising = Initialising(self._transactions, next_producer_id, limits.transaction_max_timeout_ms)
        self._markers = Markers(coordinator_epoch)

    # ---- requests

    def init_producer_id(
        self, request: InitProducerIdRequest, version: int, now_ms: int
    ) -> Outcome[InitProducerIdResponse]:
        try:
            grant = self._initialising.grant(request, now_ms)
        except KafkaError as refusal:
            return Outcome((), answers.init_refused(version, refusal.code))
        if grant.producer is None:
            return Outcome(grant.records, answers.init_refused(version, KafkaCode.CONCURRENT_TRANSACTIONS))
        return Outcome(grant.records, answers.init_granted(grant.producer.producer_id, grant.producer.producer_epoch))

    def add_partitions(
        self, request: AddPartitionsToTxnRequest, version: int, view: ClusterView, now_ms: int
    ) -> Outcome[AddPartitionsToTxnResponse]:
        partitions = answers.partitions_of(request)
        records: tuple[CoordinatorRecord, ...] = ()
        codes: Mapping[TopicPartition, KafkaCode] = dict.fromkeys(partitions, KafkaCode.NONE)
        if faults := adding.faults(partitions, view):
            codes = answers.not_attempted(partitions, faults)
        else:
            try:
                records = self._add(request, partitions, now_ms)
            except KafkaError as refusal:
                codes = dict.fromkeys(partitions, refusal.code)
        return Outcome(records, answers.partitions_answered(request, version, codes))

    def add_offsets(
        self, request: AddOffsetsToTxnRequest, version: int, now_ms: int
    ) -> Outcome[AddOffsetsToTxnResponse]:
        index = shard_of(request.group_id, self._limits.offsets_topic_num_partitions)
        try:
            records = self._add(request, [TopicPartition(TopicName(CONSUMER_OFFSETS), PartitionIndex(index))], now_ms)
        except KafkaError as refusal:
            return Outcome((), answers.offsets_answered(version, refusal.code))
        return Outcome(records, answers.offsets_answered(version))

    def _add(
        self,
        request: AddPartitionsToTxnRequest | AddOffsetsToTxnRequest,
        partitions: Collection[TopicPartition],
        now_ms: int,
    ) -> tuple[CoordinatorRecord, ...]:
        producer = ProducerIdAndEpoch.told(request.producer_id, request.producer_epoch)
        return adding.add(self._transactions, request.transactional_id, producer, partitions, now_ms)

    def end(self, request: EndTxnRequest, version: int, now_ms: int) -> Outcome[EndTxnResponse]:
        try:
            return Outcome(ending.end(self._transactions, request, now_ms), answers.end_answered(version))
        except KafkaError as refusal:
            return Outcome((), answers.end_answered(version, refusal.code))

    def verify(
        self, transactional_id: str, producer: ProducerIdAndEpoch, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, KafkaCode]:
        """Whether these take part in the producer's transaction: NONE, or INVALID_TXN_STATE for those that do not.

        Raises KafkaError with the code for all of them if the producer may not speak for the id, or it is too late.
        """
        return adding.verified(self._transactions, transactional_id, producer, partitions)

    def describe(self, transactional_id: str) -> DescribedTransaction:
        return listing.described(self._transactions, transactional_id)

    # ---- time

    def abort_timed_out(self, now_ms: int) -> tuple[Outcome[None], ...]:
        """Every transaction.abort.timed.out.transaction.cleanup.interval.ms."""
        return _unasked(ageing.abort_timed_out(self._transactions, now_ms))

    def forget_expired(self, now_ms: int) -> tuple[Outcome[None], ...]:
        """Every transaction.remove.expired.transaction.cleanup.interval.ms."""
        expiration_ms = self._limits.transactional_id_expiration_ms
        return _unasked(ageing.forget_expired(self._transactions, expiration_ms, now_ms))

    # ---- the log

    def replay(self, record: CoordinatorRecord) -> None:
        """A committed record, in the order of the log; raises MalformedRecord if it cannot be read."""
        transactional_id = self._transactions.replay(record)
        if transactional_id is not None:
            known = self._transactions.get(transactional_id)
            self._markers.follow(transactional_id, known.metadata if known else None)

    def on_append_failed(self, records: Iterable[CoordinatorRecord], now_ms: int) -> None:
        """These records of an outcome could not be appended: what they were to change stays as it is."""
        for transactional_id in self._transactions.give_up(records):
            self._markers.postpone_completion(transactional_id, now_ms)

    # ---- markers

    def take_due(self, view: ClusterView, now_ms: int) -> Due:
        """What decided transactions need now. Whatever is handed out here is not handed out again unless it fails."""
        sends = self._markers.take_due(view, now_ms)
        return Due(self._completions(now_ms), sends, self._markers.next_due_ms(now_ms))

    def _completions(self, now_ms: int) -> tuple[Outcome[None], ...]:
        done = [name for name in self._markers.done(now_ms) if not self._transactions.is_pending(name)]
        transactions = [known for name in done if (known := self._transactions.get(name)) is not None]
        return _unasked(ending.complete(self._transactions, each, now_ms) for each in transactions)

    def on_markers_answered(self, sent: SendMarkers, response: WriteTxnMarkersResponse, now_ms: int) -> tuple[str, ...]:
        """The transactional ids that another coordinator turns out to have: this shard should be given up or reloaded."""
        return self._markers.on_answered(sent, response, now_ms)

    def on_markers_lost(self, sent: SendMarkers, now_ms: int) -> None:
        self._markers.on_lost(sent, now_ms)

    # ---- for those who watch

    @property
    def transactions(self) -> Transactions:
        return self._transactions

    def counts(self) -> Mapping[TransactionState, int]:
        """How many transactional ids are in which state."""
        return Counter(each.metadata.state for each in self._transactions)


def list_transactions(
    shards: Iterable[TransactionShard], request: ListTransactionsRequest, now_ms: int
) -> ListTransactionsResponse:
    """ListTransactions over all the shards of this process."""
    return listing.listed((shard.transactions for shard in shards), request, now_ms)


def _unasked(records: Iterable[CoordinatorRecord]) -> tuple[Outcome[None], ...]:
    return tuple(Outcome((record,), None) for record in records)
