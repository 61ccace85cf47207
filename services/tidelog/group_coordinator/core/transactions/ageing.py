"""What time does to transactions: one that takes too long is aborted, an id that nobody uses is forgotten."""

from collections.abc import Iterator

from tidelog.group_coordinator.core.records import CoordinatorRecord
from tidelog.group_coordinator.core.transactions.ending import fence_and_abort
from tidelog.group_coordinator.core.transactions.states import IDLE, TransactionState
from tidelog.group_coordinator.core.transactions.transactions import Transaction, Transactions


def abort_timed_out(transactions: Transactions, now_ms: int) -> Iterator[CoordinatorRecord]:
    """One record for each ongoing transaction beyond its timeout; its producer is fenced from now on."""
    for transaction in _unchanging(transactions):
        metadata = transaction.metadata
        if metadata.state is TransactionState.ONGOING and metadata.start_ms + metadata.timeout_ms < now_ms:
            yield fence_and_abort(transactions, transaction, now_ms)


def forget_expired(transactions: Transactions, expiration_ms: int, now_ms: int) -> Iterator[CoordinatorRecord]:
    """One tombstone for each id without a transaction that was not used for this long."""
    for transaction in _unchanging(transactions):
        if transaction.metadata.state in IDLE and transaction.metadata.last_update_ms <= now_ms - expiration_ms:
            yield transactions.forget(transaction.transactional_id)


def _unchanging(transactions: Transactions) -> list[Transaction]:
    return [each for each in transactions if not transactions.is_pending(each.transactional_id)]
