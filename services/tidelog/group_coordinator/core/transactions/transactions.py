"""The transactional ids of one shard: what is durable of each, and what is being written.

Durable state changes in `replay` alone, which loading and running share. A decision only begins a transition: it makes a
record and notes in memory that the record is being written. Until `replay` or `give_up` ends it, nothing else may change
the id, and whoever tries is told CONCURRENT_TRANSACTIONS. A record whose append was given up may still be in the log.
That is harmless: it is a state that was allowed, nobody was told of it, and the next record of the id replaces it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tidelog.group_coordinator.core.records import CoordinatorRecord
from tidelog.group_coordinator.core.transactions.metadata import ProducerIdAndEpoch, TransactionMetadata
from tidelog.group_coordinator.core.transactions.state_records import decode_key, decode_value, state_record, tombstone
from tidelog.group_coordinator.core.transactions.states import PREPARED, PREVIOUS, TransactionState
from tidelog.kafka.errors import KafkaCode, KafkaError


@dataclass(slots=True)
class Transaction:
    """One transactional id that has a record.

    `fenced` is the state PREPARE_EPOCH_FENCE: the producer is shut out, although the abort that tells so under a raised
    epoch is not durable yet. `replaced` is who the producer was when it asked, as itself, for its present epoch: should
    it ask so again, its first answer got lost. Both live in memory only.
    """

    transactional_id: str
    metadata: TransactionMetadata
    fenced: bool = False
    replaced: ProducerIdAndEpoch | None = None

    @property
    def is_prepared(self) -> bool:
        return self.metadata.state in PREPARED

    def is_held_by(self, producer: ProducerIdAndEpoch) -> bool:
        return not self.fenced and producer == self.metadata.producer


@dataclass(frozen=True, slots=True)
class _Transition:
    to: TransactionState
    replaces: ProducerIdAndEpoch | None = None


class Transactions:
    def __init__(self) -> None:
        self._known: dict[str, Transaction] = {}
        self._pending: dict[str, _Transition] = {}

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[Transaction]:
        return iter(self._known.values())

    def get(self, transactional_id: str) -> Transaction | None:
        return self._known.get(transactional_id)

    def held(self, transactional_id: str, producer: ProducerIdAndEpoch) -> Transaction:
        """The transaction that this producer may speak for."""
        if not transactional_id:
            raise KafkaError(KafkaCode.INVALID_REQUEST, "a transactional id must not be empty")
        found = self._known.get(transactional_id)
        if found is None or found.metadata.producer_id != producer.producer_id:
            raise KafkaError(KafkaCode.INVALID_PRODUCER_ID_MAPPING)
        if not found.is_held_by(producer):
            raise KafkaError(KafkaCode.PRODUCER_FENCED)
        return found

    def is_pending(self, transactional_id: str) -> bool:
        return transactional_id in self._pending

    def check_not_pending(self, transactional_id: str) -> None:
        if self.is_pending(transactional_id):
            raise KafkaError(
                KafkaCode.CONCURRENT_TRANSACTIONS, "another change of this transactional id is being written"
            )

    def begin(
        self, transactional_id: str, to: TransactionMetadata, *, replaces: ProducerIdAndEpoch | None = None
    ) -> CoordinatorRecord:
        """The record that makes this the state of the id. `replaces`: who the producer said it was, if it changes."""
        self._hold(transactional_id, _Transition(to.state, replaces))
        return state_record(transactional_id, to)

    def forget(self, transactional_id: str) -> CoordinatorRecord:
        """The record after which nothing is known of the id."""
        self._hold(transactional_id, _Transition(TransactionState.DEAD))
        return tombstone(transactional_id)

    def _hold(self, transactional_id: str, transition: _Transition) -> None:
        assert not self.is_pending(transactional_id), f"{transactional_id!r} changes twice at once"
        present = _state_of(self._known.get(transactional_id))
        assert present in PREVIOUS[transition.to], (
            f"{transactional_id!r} cannot become {transition.to!r} from {present!r}"
        )
        self._pending[transactional_id] = transition

    def replay(self, record: CoordinatorRecord) -> str | None:
        """Take over a committed record; gives the id it speaks of, if this version of the key is known here."""
        transactional_id = decode_key(record.key)
        if transactional_id is None:
            return None
        transition = self._pending.pop(transactional_id, None)
        if record.value is None:
            self._known.pop(transactional_id, None)
        else:
            self._replace(transactional_id, decode_value(record.value), transition)
        return transactional_id

    def _replace(self, transactional_id: str, metadata: TransactionMetadata, transition: _Transition | None) -> None:
        before = self._known.get(transactional_id)
        if before and before.metadata.producer == metadata.producer:
            replaced = before.replaced
        else:
            replaced = transition.replaces if transition else None
        self._known[transactional_id] = Transaction(transactional_id, metadata, replaced=replaced)

    def give_up(self, records: Iterable[CoordinatorRecord]) -> list[str]:
        """These records could not be appended: the ids they speak of stay as they are."""
        names = [name for record in records if (name := decode_key(record.key)) is not None]
        for name in names:
            del self._pending[name]
        return names


def _state_of(transaction: Transaction | None) -> TransactionState:
    if transaction is None:
        return TransactionState.EMPTY
    return TransactionState.PREPARE_EPOCH_FENCE if transaction.fenced else transaction.metadata.state
