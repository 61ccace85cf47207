"""Which partitions take part in a transaction: adding them, and telling leaders whether one was added."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from tidelog.group_coordinator.core.records import CoordinatorRecord
from tidelog.group_coordinator.core.transactions.metadata import ProducerIdAndEpoch
from tidelog.group_coordinator.core.transactions.states import IDLE, TransactionState
from tidelog.group_coordinator.core.transactions.transactions import Transaction, Transactions
from tidelog.kafka.cluster import INTERNAL_TOPICS, ClusterView
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import TopicPartition


def add(
    transactions: Transactions,
    transactional_id: str,
    producer: ProducerIdAndEpoch,
    partitions: Collection[TopicPartition],
    now_ms: int,
) -> tuple[CoordinatorRecord, ...]:
    """What is to be written so that these take part; nothing if they do."""
    transaction = transactions.held(transactional_id, producer)
    transactions.check_not_pending(transactional_id)
    _check_not_prepared(transaction)
    metadata = transaction.metadata
    if metadata.partitions.issuperset(partitions):
        return ()
    ongoing = replace(
        metadata,
        state=TransactionState.ONGOING,
        partitions=metadata.partitions.union(partitions),
        last_update_ms=now_ms,
        start_ms=now_ms if metadata.state in IDLE else metadata.start_ms,
    )
    return (transactions.begin(transactional_id, ongoing),)


def verified(
    transactions: Transactions,
    transactional_id: str,
    producer: ProducerIdAndEpoch,
    partitions: Iterable[TopicPartition],
) -> Mapping[TopicPartition, KafkaCode]:
    """For a leader that is about to append: INVALID_TXN_STATE for each partition that does not take part.

    What is being written does not count. A partition takes part from when that is durable until the transaction's end
    is; between the two the leader's own checks see to the rest.
    """
    transaction = transactions.held(transactional_id, producer)
    _check_not_prepared(transaction)
    return {
        partition: KafkaCode.NONE if partition in transaction.metadata.partitions else KafkaCode.INVALID_TXN_STATE
        for partition in partitions
    }


def faults(partitions: Iterable[TopicPartition], view: ClusterView) -> Mapping[TopicPartition, KafkaCode]:
    """The partitions that no producer can add, and why."""
    codes = {partition: _fault(partition, view) for partition in partitions}
    return {partition: code for partition, code in codes.items() if code is not KafkaCode.NONE}


def _fault(partition: TopicPartition, view: ClusterView) -> KafkaCode:
    if partition.topic in INTERNAL_TOPICS:
        return KafkaCode.TOPIC_AUTHORIZATION_FAILED
    topic = view.topics.get(partition.topic)
    is_known = topic is not None and partition.partition in topic.partitions
    return KafkaCode.NONE if is_known else KafkaCode.UNKNOWN_TOPIC_OR_PARTITION


def _check_not_prepared(transaction: Transaction) -> None:
    if transaction.is_prepared:
        raise KafkaError(KafkaCode.CONCURRENT_TRANSACTIONS, "the markers of this transaction are being written")
