"""The states of a transactional producer."""

import pytest

from tidelog.client.core.transaction import TransactionManagerState, TransactionState
from tidelog.client.errors import IllegalStateError, ProducerFencedError, RequestTimeoutError
from tidelog.client.records import TopicPartition
from tidelog.kafka.errors import KafkaCode, KafkaError

P0 = TopicPartition("t", 0)


def begun() -> TransactionManagerState:
    state = TransactionManagerState()
    state.on_initialised()
    state.begin()
    return state


def test_commit_and_begin_again() -> None:
    state = begun()
    state.check_can_send()
    state.begin_commit()
    state.end()
    state.begin()
    assert state.state is TransactionState.IN_TRANSACTION


def test_partitions_join_once_a_transaction() -> None:
    state = begun()
    assert not state.has_joined(P0)
    assert state.joining() == {P0}
    state.on_joined([P0])
    assert state.has_joined(P0)
    assert not state.joining()
    assert state.is_known_to_coordinator
    state.begin_commit()
    state.end()
    state.begin()
    assert not state.has_joined(P0)


def test_offsets_alone_are_something_to_end() -> None:
    state = begun()
    assert not state.is_known_to_coordinator
    state.on_offsets_added()
    assert state.is_known_to_coordinator


def test_nothing_is_sent_outside_of_a_transaction() -> None:
    state = TransactionManagerState()
    with pytest.raises(IllegalStateError, match="send: the transaction is uninitialised"):
        state.check_can_send()
    state.on_initialised()
    with pytest.raises(IllegalStateError, match="commit_transaction: the transaction is ready"):
        state.begin_commit()
    state.begin()
    with pytest.raises(IllegalStateError, match="begin_transaction: the transaction is in a transaction"):
        state.begin()


def test_after_a_failure_only_aborting_is_left() -> None:
    state = begun()
    state.fail(KafkaError(KafkaCode.INVALID_RECORD))
    for call in (state.check_can_send, state.begin_commit, state.begin):
        with pytest.raises(IllegalStateError, match="can only be aborted") as caught:
            call()
        assert isinstance(caught.value.__cause__, KafkaError)
    state.begin_abort()
    state.end()
    state.begin()


def test_a_fenced_producer_is_over() -> None:
    state = begun()
    state.fail(ProducerFencedError(KafkaCode.PRODUCER_FENCED))
    for call in (state.check_can_send, state.begin_commit, state.begin_abort, state.begin):
        with pytest.raises(ProducerFencedError):
            call()


def test_a_commit_without_an_answer_can_only_be_repeated() -> None:
    state = begun()
    state.begin_commit()
    with pytest.raises(IllegalStateError, match="abort_transaction: the transaction is committing"):
        state.begin_abort()
    state.begin_commit()
    state.fail(RequestTimeoutError("late"))
    state.begin_abort()
