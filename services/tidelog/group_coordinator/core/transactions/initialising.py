"""InitProducerId: which id and epoch a producer gets, and whom that fences.

unknown id       a fresh producer id at epoch 0
EMPTY, COMPLETE  the same producer id at the next epoch, whoever asks as nobody in particular or as its present holder.
                 After the last epoch it is a fresh producer id at epoch 0
ONGOING          the transaction is aborted and its producer fenced; the asker is told to ask again
PREPARE          the asker is told to ask again

A producer may say who it is. It must be the present holder then, or the one that the present holder was before it asked
for a new epoch: its answer got lost, and it gets it again. Anybody else is fenced and changes nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tidelog.group_coordinator.core.records import CoordinatorRecord
from tidelog.group_coordinator.core.transactions.ending import fence_and_abort
from tidelog.group_coordinator.core.transactions.metadata import (
    LAST_PRODUCER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    ProducerIdAndEpoch,
    TransactionMetadata,
)
from tidelog.group_coordinator.core.transactions.state_records import TRANSACTIONAL_ID_MAX_BYTES
from tidelog.group_coordinator.core.transactions.states import TransactionState
from tidelog.group_coordinator.core.transactions.transactions import Transaction, Transactions
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import ProducerEpoch, ProducerId
from tidelog.kafka.wire.messages.init_producer_id import InitProducerIdRequest

# Gives an id that nobody has. Raises COORDINATOR_LOAD_IN_PROGRESS if none is ready.
NextProducerId = Callable[[], ProducerId]


@dataclass(frozen=True, slots=True)
class Grant:
    """What to write, and who the producer is then. Nobody: it must ask again when its predecessor's end is written."""

    records: tuple[CoordinatorRecord, ...]
    producer: ProducerIdAndEpoch | None


class Initialising:
    """Grants producer ids and epochs to the transactional ids of one shard."""

    def __init__(self, transactions: Transactions, next_producer_id: NextProducerId, timeout_max_ms: int) -> None:
        self._transactions = transactions
        self._next_producer_id = next_producer_id
        self._timeout_max_ms = timeout_max_ms

    def grant(self, request: InitProducerIdRequest, now_ms: int) -> Grant:
        told = _told(request)
        if request.transactional_id is None:
            return Grant((), self._fresh())
        self._check(request.transactional_id, request.transaction_timeout_ms)
        self._transactions.check_not_pending(request.transactional_id)
        known = self._transactions.get(request.transactional_id)
        if known is None:
            return self._write(request, self._fresh(), None, now_ms)
        return self._grant_next(request, known, told, now_ms)

    def _check(self, transactional_id: str, timeout_ms: int) -> None:
        if not 0 < len(transactional_id.encode()) <= TRANSACTIONAL_ID_MAX_BYTES:
            raise KafkaError(
                KafkaCode.INVALID_REQUEST, "a transactional id must not be empty or longer than 32767 bytes"
            )
        if not 0 < timeout_ms <= self._timeout_max_ms:
            raise KafkaError(KafkaCode.INVALID_TRANSACTION_TIMEOUT)

    def _grant_next(
        self, request: InitProducerIdRequest, known: Transaction, told: ProducerIdAndEpoch | None, now_ms: int
    ) -> Grant:
        is_repeated = told is not None and told == known.replaced
        if not (told is None or is_repeated or known.is_held_by(told)):
            raise KafkaError(KafkaCode.PRODUCER_FENCED)
        if known.is_prepared:
            raise KafkaError(KafkaCode.CONCURRENT_TRANSACTIONS, "the markers of this transaction are being written")
        if is_repeated:
            return Grant((), known.metadata.producer)
        if known.metadata.state is TransactionState.ONGOING:
            return Grant((fence_and_abort(self._transactions, known, now_ms),), None)
        return self._write(request, self._next(known.metadata), told, now_ms)

    def _next(self, metadata: TransactionMetadata) -> ProducerIdAndEpoch:
        if metadata.producer_epoch >= LAST_PRODUCER_EPOCH:
            return self._fresh()
        return ProducerIdAndEpoch(metadata.producer_id, ProducerEpoch(metadata.producer_epoch + 1))

    def _fresh(self) -> ProducerIdAndEpoch:
        return ProducerIdAndEpoch(self._next_producer_id(), ProducerEpoch(0))

    def _write(
        self,
        request: InitProducerIdRequest,
        producer: ProducerIdAndEpoch,
        replaces: ProducerIdAndEpoch | None,
        now_ms: int,
    ) -> Grant:
        assert request.transactional_id is not None
        metadata = TransactionMetadata(
            producer.producer_id,
            producer.producer_epoch,
            request.transaction_timeout_ms,
            TransactionState.EMPTY,
            frozenset(),
            now_ms,
        )
        return Grant((self._transactions.begin(request.transactional_id, metadata, replaces=replaces),), producer)


def _told(request: InitProducerIdRequest) -> ProducerIdAndEpoch | None:
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        raise KafkaError(KafkaCode.INVALID_REQUEST, "a producer must tell both its id and its epoch, or neither")
    if request.producer_id == NO_PRODUCER_ID:
        return None
    return ProducerIdAndEpoch.told(request.producer_id, request.producer_epoch)
