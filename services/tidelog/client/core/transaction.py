"""The transactions of one producer.

    UNINITIALISED -> READY -> IN_TRANSACTION -> COMMITTING -> READY
                                    |     \\---> ABORTING  -> READY
                                    v            ^
                              ABORTABLE_ERROR ---/          any -> FATAL

Partitions join a transaction before their first batch of it is sent. A batch that fails makes the transaction abortable:
it can only be aborted then. A producer that was replaced by another one of the same id (fenced) can do nothing any more.
"""

from collections.abc import Iterable
from enum import Enum

from tidelog.client.errors import IllegalStateError
from tidelog.client.records import TopicPartition
from tidelog.kafka.errors import KafkaCode, KafkaError


class TransactionState(Enum):
    UNINITIALISED = "uninitialised"
    READY = "ready"
    IN_TRANSACTION = "in a transaction"
    COMMITTING = "committing"
    ABORTING = "aborting"
    ABORTABLE_ERROR = "failed, and can only be aborted"
    FATAL = "failed for good"


_FATAL_CODES = frozenset(
    {
        KafkaCode.PRODUCER_FENCED,
        KafkaCode.INVALID_PRODUCER_EPOCH,
        KafkaCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        KafkaCode.CLUSTER_AUTHORIZATION_FAILED,
        KafkaCode.INVALID_PRODUCER_ID_MAPPING,
        KafkaCode.INVALID_TXN_STATE,
        KafkaCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    }
)


def is_fatal(error: BaseException) -> bool:
    """Whether a producer cannot go on after this error, not even by aborting."""
    return isinstance(error, KafkaError) and error.code in _FATAL_CODES


class TransactionManagerState:
    """Where the producer is in its transactions, and which partitions belong to the present one."""

    def __init__(self) -> None:
        self.state = TransactionState.UNINITIALISED
        self.error: BaseException | None = None
        self._joined: set[TopicPartition] = set()
        self._joining: set[TopicPartition] = set()
        self._has_offsets = False
        # Sequences are in doubt, so the next transaction needs a new epoch.
        self.needs_new_epoch = False

    def on_initialised(self) -> None:
        self._enter(TransactionState.READY)

    def begin(self) -> None:
        self._expect("begin_transaction", TransactionState.READY)
        self._enter(TransactionState.IN_TRANSACTION)

    def check_can_send(self, call: str = "send") -> None:
        """Raise unless a record may be added now."""
        if self.state is not TransactionState.IN_TRANSACTION:
            self._expect(call, TransactionState.IN_TRANSACTION)

    def begin_commit(self) -> None:
        """Also once more, after an attempt that ended without an answer."""
        self._expect("commit_transaction", TransactionState.IN_TRANSACTION, TransactionState.COMMITTING)
        self._enter(TransactionState.COMMITTING)

    def begin_abort(self) -> None:
        self._expect(
            "abort_transaction",
            TransactionState.IN_TRANSACTION,
            TransactionState.ABORTABLE_ERROR,
            TransactionState.ABORTING,
        )
        self._enter(TransactionState.ABORTING)

    def end(self) -> None:
        """The coordinator has ended the transaction, or there was nothing to end."""
        self._joined.clear()
        self._joining.clear()
        self._has_offsets = False
        self.error = None
        self._enter(TransactionState.READY)

    @property
    def is_known_to_coordinator(self) -> bool:
        """Whether there is anything that the coordinator must end."""
        return bool(self._joined) or self._has_offsets

    # ---- partitions

    def has_joined(self, partition: TopicPartition) -> bool:
        """Whether batches of the partition may be sent; if not, it is noted that it has to join."""
        if partition in self._joined:
            return True
        self._joining.add(partition)
        return False

    def joining(self) -> frozenset[TopicPartition]:
        """Partitions that wait for being added."""
        return frozenset(self._joining)

    def on_joined(self, partitions: Iterable[TopicPartition]) -> None:
        self._joined.update(partitions)
        self._joining.difference_update(partitions)

    def on_offsets_added(self) -> None:
        self._has_offsets = True

    # ---- faults

    @property
    def has_failed(self) -> bool:
        return self.state in (TransactionState.ABORTABLE_ERROR, TransactionState.FATAL)

    def fail(self, error: BaseException) -> None:
        """Something of the transaction failed: it can only be aborted, or nothing can be done any more."""
        if self.state is TransactionState.FATAL:
            return
        if is_fatal(error):
            self.error = error
            self.state = TransactionState.FATAL
        elif self.state in (TransactionState.IN_TRANSACTION, TransactionState.COMMITTING):
            self.error = error
            self.state = TransactionState.ABORTABLE_ERROR

    def _expect(self, call: str, *allowed: TransactionState) -> None:
        if self.state in allowed:
            return
        if self.state is TransactionState.FATAL and self.error is not None:
            raise self.error
        why = f": {self.error}" if self.error is not None else ""
        error = IllegalStateError(f"{call}: the transaction is {self.state.value}{why}")
        raise error from self.error

    def _enter(self, state: TransactionState) -> None:
        if self.state is TransactionState.FATAL and self.error is not None:
            raise self.error
        self.state = state
