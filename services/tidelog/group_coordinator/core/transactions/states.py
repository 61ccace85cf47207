"""The states of a transactional id, and which may follow which. The numbers and names are Kafka's.

EMPTY                a producer has its id and epoch, and no transaction was begun under them
ONGOING              partitions take part; only here does the timeout run
PREPARE_EPOCH_FENCE  a newer instance or the timeout ends the transaction: its producer is fenced, in memory only, until
                     the abort under the raised epoch is written
PREPARE_COMMIT,      the result is decided and durable; markers are on their way to every partition. Nothing changes it
PREPARE_ABORT        any more, not even the death of the coordinator: whoever loads this sends the markers again
COMPLETE_COMMIT,     every partition has its marker
COMPLETE_ABORT
DEAD                 nobody used the id for so long that it is forgotten
"""

from collections.abc import Mapping
from enum import IntEnum


class TransactionState(IntEnum):
    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def text(self) -> str:
        """The name that clients see: PREPARE_COMMIT is "PrepareCommit"."""
        return self.name.title().replace("_", "")


_S = TransactionState
PREVIOUS: Mapping[TransactionState, frozenset[TransactionState]] = {
    _S.EMPTY: frozenset({_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}),
    _S.ONGOING: frozenset({_S.ONGOING, _S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}),
    _S.PREPARE_COMMIT: frozenset({_S.ONGOING}),
    _S.PREPARE_ABORT: frozenset({_S.ONGOING, _S.PREPARE_EPOCH_FENCE}),
    _S.COMPLETE_COMMIT: frozenset({_S.PREPARE_COMMIT}),
    _S.COMPLETE_ABORT: frozenset({_S.PREPARE_ABORT}),
    _S.DEAD: frozenset({_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT}),
    _S.PREPARE_EPOCH_FENCE: frozenset({_S.ONGOING}),
}

IDLE = PREVIOUS[_S.DEAD]
PREPARED: Mapping[TransactionState, TransactionState] = {
    _S.PREPARE_COMMIT: _S.COMPLETE_COMMIT,
    _S.PREPARE_ABORT: _S.COMPLETE_ABORT,
}
OPEN = frozenset({_S.ONGOING, *PREPARED})

BY_TEXT: Mapping[str, TransactionState] = {state.text: state for state in TransactionState}
