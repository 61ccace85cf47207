"""Transactions that take too long, and ids that nobody uses."""

import pytest

from tests.support.transaction_coordinator import NAME, Coordinator, marked, tp
from tidelog.group_coordinator.core.transactions.shard import TransactionLimits
from tidelog.group_coordinator.core.transactions.state_records import tombstone
from tidelog.kafka.errors import KafkaCode as K

WEEK_MS = 7 * 24 * 3600 * 1000


@pytest.fixture
def coordinator() -> Coordinator:
    return Coordinator(TransactionLimits(transactional_id_expiration_ms=WEEK_MS))


def scan(coordinator: Coordinator) -> int:
    outcomes = coordinator.shard.abort_timed_out(coordinator.now_ms)
    for outcome in outcomes:
        coordinator.commit(outcome)
    return len(outcomes)


def expire(coordinator: Coordinator) -> int:
    outcomes = coordinator.shard.forget_expired(coordinator.now_ms)
    for outcome in outcomes:
        coordinator.commit(outcome)
    return len(outcomes)


def test_transaction_beyond_its_timeout_is_aborted_and_its_producer_fenced(coordinator: Coordinator) -> None:
    who = coordinator.granted(timeout_ms=1000)
    coordinator.add(who, tp("a", 0))
    coordinator.now_ms += 1000
    assert scan(coordinator) == 0
    coordinator.now_ms += 1
    assert scan(coordinator) == 1
    (sent,) = coordinator.deliver()
    assert list(marked(sent)) == [(who[0], 1, False, tp("a", 0))]
    assert coordinator.state() == "CompleteAbort"
    assert coordinator.end(who, commit=True) == K.PRODUCER_FENCED
    assert coordinator.end(who, commit=False, version=1) == K.INVALID_PRODUCER_EPOCH
    assert coordinator.add(who, tp("a", 0)) == {tp("a", 0): K.PRODUCER_FENCED}
    assert coordinator.init(told=who).error_code == K.PRODUCER_FENCED
    assert coordinator.granted() == (who[0], 2)


def test_timeout_runs_from_the_start_of_the_transaction(coordinator: Coordinator) -> None:
    who = coordinator.granted(timeout_ms=1000)
    coordinator.now_ms += 5000
    coordinator.add(who, tp("a", 0))
    coordinator.now_ms += 900
    coordinator.add(who, tp("a", 1))
    coordinator.now_ms += 101
    assert scan(coordinator) == 1


def test_decided_and_idle_transactions_have_no_timeout(coordinator: Coordinator) -> None:
    coordinator.granted("idle", timeout_ms=1)
    who = coordinator.granted(timeout_ms=1)
    coordinator.add(who, tp("a", 0))
    coordinator.end(who, commit=True)
    coordinator.now_ms += 1_000_000
    assert scan(coordinator) == 0


def test_change_that_is_being_written_is_not_overtaken_by_the_timeout(coordinator: Coordinator) -> None:
    who = coordinator.granted(timeout_ms=1)
    coordinator.add(who, tp("a", 0))
    coordinator.now_ms += 10
    outcome = coordinator.asked_end(who, commit=True)
    assert scan(coordinator) == 0
    assert coordinator.commit(outcome) == K.NONE


@pytest.mark.parametrize("used", [False, True])
def test_id_that_nobody_uses_is_forgotten(coordinator: Coordinator, used: bool) -> None:
    who = coordinator.granted()
    if used:
        coordinator.add(who, tp("a", 0))
        coordinator.end(who, commit=True)
        coordinator.deliver()
    coordinator.now_ms += WEEK_MS - 1
    assert expire(coordinator) == 0
    coordinator.now_ms += 1
    assert expire(coordinator) == 1
    assert coordinator.log[-1] == tombstone(NAME)
    assert coordinator.add(who, tp("a", 0)) == {tp("a", 0): K.INVALID_PRODUCER_ID_MAPPING}
    coordinator.restart()
    assert len(coordinator.shard.transactions) == 0
    assert coordinator.granted() == (5001, 0)


def test_id_is_not_used_while_it_is_being_forgotten(coordinator: Coordinator) -> None:
    coordinator.granted()
    coordinator.now_ms += WEEK_MS
    (outcome,) = coordinator.shard.forget_expired(coordinator.now_ms)
    assert coordinator.shard.forget_expired(coordinator.now_ms) == ()
    assert coordinator.init().error_code == K.CONCURRENT_TRANSACTIONS
    coordinator.commit(outcome)
    assert coordinator.granted() == (5001, 0)


def test_open_transaction_does_not_expire(coordinator: Coordinator) -> None:
    coordinator.add(coordinator.granted(), tp("a", 0))
    coordinator.now_ms += 2 * WEEK_MS
    assert expire(coordinator) == 0
