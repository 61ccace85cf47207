"""The states of a transactional id."""

import pytest

from tests.support.transaction_coordinator import NAME, Coordinator
from tidelog.group_coordinator.core.transactions import ending
from tidelog.group_coordinator.core.transactions.states import BY_TEXT, PREVIOUS, TransactionState


def test_names_and_numbers_are_kafkas() -> None:
    assert [BY_TEXT[text].value for text in BY_TEXT] == list(range(8))
    assert list(BY_TEXT) == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]


def test_every_state_says_what_may_come_before() -> None:
    assert set(PREVIOUS) == set(TransactionState)


def test_a_decided_transaction_is_not_decided_again() -> None:
    after_prepare = {state for state, before in PREVIOUS.items() if TransactionState.PREPARE_COMMIT in before}
    assert after_prepare == {TransactionState.COMPLETE_COMMIT}


def test_wrong_transition_is_a_bug() -> None:
    coordinator = Coordinator()
    coordinator.granted()
    transactions = coordinator.shard.transactions
    transaction = transactions.get(NAME)
    assert transaction is not None
    with pytest.raises(AssertionError):
        ending.fence_and_abort(transactions, transaction, 0)
