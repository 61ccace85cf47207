"""How a transaction ends: its producer says so, or it is fenced and its transaction aborted.

The end is written as PREPARE_COMMIT or PREPARE_ABORT and answered as soon as that is committed. Markers and COMPLETE
follow by themselves; a producer that asks for something new before is told CONCURRENT_TRANSACTIONS.
"""

from dataclasses import replace

from tidelog.group_coordinator.core.records import CoordinatorRecord
from tidelog.group_coordinator.core.transactions.metadata import ProducerIdAndEpoch, TransactionMetadata
from tidelog.group_coordinator.core.transactions.states import PREPARED, TransactionState
from tidelog.group_coordinator.core.transactions.transactions import Transaction, Transactions
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import ProducerEpoch
from tidelog.kafka.wire.messages.end_txn import EndTxnRequest

_S = TransactionState


def end(transactions: Transactions, request: EndTxnRequest, now_ms: int) -> tuple[CoordinatorRecord, ...]:
    """What is to be written so that the transaction ends as asked; nothing if it has ended so before."""
    producer = ProducerIdAndEpoch.told(request.producer_id, request.producer_epoch)
    transaction = transactions.held(request.transactional_id, producer)
    transactions.check_not_pending(request.transactional_id)
    prepared = _S.PREPARE_COMMIT if request.committed else _S.PREPARE_ABORT
    match transaction.metadata.state:
        case _S.ONGOING:
            return (_prepare(transactions, transaction, prepared, transaction.metadata.producer_epoch, now_ms),)
        case state if state is PREPARED[prepared]:
            return ()
        case state if state is prepared:
            raise KafkaError(KafkaCode.CONCURRENT_TRANSACTIONS, "the markers of this transaction are being written")
        case state:
            raise KafkaError(KafkaCode.INVALID_TXN_STATE, f"a transaction in state {state.text} cannot end so")


def fence_and_abort(transactions: Transactions, transaction: Transaction, now_ms: int) -> CoordinatorRecord:
    """Shut the producer of an ongoing transaction out from now on, and abort it under the next epoch.

    Nobody is ever given that epoch. If the record cannot be written the producer stays shut out, and the next attempt
    writes the same epoch again.
    """
    assert transaction.metadata.state is _S.ONGOING
    transaction.fenced = True
    fencing_epoch = ProducerEpoch(transaction.metadata.producer_epoch + 1)
    return _prepare(transactions, transaction, _S.PREPARE_ABORT, fencing_epoch, now_ms)


def complete(transactions: Transactions, transaction: Transaction, now_ms: int) -> CoordinatorRecord:
    """Every partition has its marker."""
    metadata = transaction.metadata
    completed = replace(metadata, state=PREPARED[metadata.state], partitions=frozenset(), last_update_ms=now_ms)
    return transactions.begin(transaction.transactional_id, completed)


def _prepare(
    transactions: Transactions, transaction: Transaction, state: TransactionState, epoch: ProducerEpoch, now_ms: int
) -> CoordinatorRecord:
    prepared: TransactionMetadata = replace(
        transaction.metadata, state=state, producer_epoch=epoch, last_update_ms=now_ms
    )
    return transactions.begin(transaction.transactional_id, prepared)
