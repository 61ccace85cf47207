"""DescribeTransactions and ListTransactions: what is durable now, as clients are told it."""

from collections.abc import Iterable

from tidelog.group_coordinator.core.transactions.state_records import by_topic
from tidelog.group_coordinator.core.transactions.states import BY_TEXT, OPEN
from tidelog.group_coordinator.core.transactions.transactions import Transaction, Transactions
from tidelog.kafka.coordination.transaction_answers import not_described
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.describe_transactions import DescribedTransaction, TransactionTopic
from tidelog.kafka.wire.messages.list_transactions import (
    ListedTransaction,
    ListTransactionsRequest,
    ListTransactionsResponse,
)


def described(transactions: Transactions, transactional_id: str) -> DescribedTransaction:
    if not transactional_id:
        return not_described(transactional_id, KafkaCode.INVALID_REQUEST)
    known = transactions.get(transactional_id)
    if known is None:
        return not_described(transactional_id, KafkaCode.TRANSACTIONAL_ID_NOT_FOUND)
    metadata = known.metadata
    return DescribedTransaction(
        transactional_id=transactional_id,
        transaction_state=metadata.state.text,
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_start_time_ms=metadata.start_ms,
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        topics=[
            TransactionTopic(topic=topic, partitions=partitions)
            for topic, partitions in by_topic(metadata.partitions).items()
        ],
    )


def listed(shards: Iterable[Transactions], request: ListTransactionsRequest, now_ms: int) -> ListTransactionsResponse:
    """The transactional ids of all these shards that pass every filter given.

    A state that does not exist is reported, and matches nothing. A duration asks for transactions that have been open for
    longer, so whoever has none open does not match.
    """
    return ListTransactionsResponse(
        unknown_state_filters=[text for text in request.state_filters if text not in BY_TEXT],
        transaction_states=[
            ListedTransaction(
                transactional_id=each.transactional_id,
                producer_id=each.metadata.producer_id,
                transaction_state=each.metadata.state.text,
            )
            for shard in shards
            for each in shard
            if _matches(each, request, now_ms)
        ],
    )


def _matches(transaction: Transaction, request: ListTransactionsRequest, now_ms: int) -> bool:
    metadata = transaction.metadata
    if request.state_filters and metadata.state.text not in request.state_filters:
        return False
    if request.producer_id_filters and metadata.producer_id not in request.producer_id_filters:
        return False
    if request.duration_filter < 0:
        return True
    return metadata.state in OPEN and now_ms - metadata.start_ms > request.duration_filter
