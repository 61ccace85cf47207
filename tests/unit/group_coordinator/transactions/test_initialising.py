"""InitProducerId with a transactional id: ids, epochs and fencing."""

import pytest

from tests.support.transaction_coordinator import NAME, Coordinator, tp
from tidelog.group_coordinator.core.transactions.metadata import LAST_PRODUCER_EPOCH
from tidelog.kafka.errors import KafkaCode as K


@pytest.fixture
def coordinator() -> Coordinator:
    return Coordinator()


def raise_epoch_to(coordinator: Coordinator, epoch: int) -> tuple[int, int]:
    who = coordinator.granted()
    while who[1] < epoch:
        who = coordinator.granted()
    return who


def test_first_grant_is_a_fresh_id_at_epoch_0(coordinator: Coordinator) -> None:
    assert coordinator.granted("one") == (5000, 0)
    assert coordinator.granted("two") == (5001, 0)
    assert coordinator.history("one") == [("Empty", 0)]


def test_each_grant_keeps_the_id_and_raises_the_epoch(coordinator: Coordinator) -> None:
    assert [coordinator.granted() for _ in range(3)] == [(5000, 0), (5000, 1), (5000, 2)]


def test_answer_waits_for_the_record(coordinator: Coordinator) -> None:
    outcome = coordinator.asked_init()
    assert len(outcome.records) == 1
    assert len(coordinator.shard.transactions) == 0
    assert coordinator.asked_init().answer.error_code == K.CONCURRENT_TRANSACTIONS
    coordinator.commit(outcome)
    assert coordinator.granted() == (5000, 1)


def test_without_a_transactional_id_nothing_is_remembered(coordinator: Coordinator) -> None:
    outcome = coordinator.asked_init(None)
    assert (outcome.records, outcome.answer.producer_id, outcome.answer.producer_epoch) == ((), 5000, 0)


@pytest.mark.parametrize("name", ["", "x" * 32768])
def test_id_that_cannot_be_stored_is_invalid(coordinator: Coordinator, name: str) -> None:
    response = coordinator.init(name)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (K.INVALID_REQUEST, -1, -1)


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_timeout_out_of_bounds_is_refused(coordinator: Coordinator, timeout_ms: int) -> None:
    assert coordinator.init(timeout_ms=timeout_ms).error_code == K.INVALID_TRANSACTION_TIMEOUT


@pytest.mark.parametrize("timeout_ms", [1, 900_000])
def test_timeout_within_the_bounds_is_kept(coordinator: Coordinator, timeout_ms: int) -> None:
    coordinator.granted(timeout_ms=timeout_ms)
    assert coordinator.metadata().timeout_ms == timeout_ms


def test_no_producer_id_ready_is_told_and_leaves_nothing(coordinator: Coordinator) -> None:
    coordinator.has_producer_ids = False
    outcome = coordinator.asked_init()
    assert (outcome.records, outcome.answer.error_code) == ((), K.COORDINATOR_LOAD_IN_PROGRESS)
    coordinator.has_producer_ids = True
    assert coordinator.granted() == (5000, 0)


# ---- a producer that says who it is


def test_present_holder_is_given_the_next_epoch(coordinator: Coordinator) -> None:
    who = coordinator.granted()
    assert coordinator.granted(told=who) == (5000, 1)


def test_repeated_request_gets_the_same_answer_and_writes_nothing(coordinator: Coordinator) -> None:
    who = coordinator.granted()
    assert coordinator.granted(told=who) == coordinator.granted(told=who) == (5000, 1)
    assert coordinator.history() == [("Empty", 0), ("Empty", 1)]


def test_repeated_request_during_the_next_transaction_disturbs_nothing(coordinator: Coordinator) -> None:
    who = coordinator.granted()
    new = coordinator.granted(told=who)
    coordinator.add(new, tp("a", 0))
    assert coordinator.granted(told=who) == new
    assert coordinator.state() == "Ongoing"


@pytest.mark.parametrize(("version", "code"), [(3, K.INVALID_PRODUCER_EPOCH), (4, K.PRODUCER_FENCED)])
def test_former_holder_is_fenced(coordinator: Coordinator, version: int, code: K) -> None:
    who = coordinator.granted()
    coordinator.granted()
    response = coordinator.init(version=version, told=who)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (code, -1, -1)


def test_holder_before_the_previous_is_fenced(coordinator: Coordinator) -> None:
    who = coordinator.granted()
    coordinator.granted(told=coordinator.granted(told=who))
    assert coordinator.init(told=who).error_code == K.PRODUCER_FENCED


def test_another_instance_makes_a_repeated_request_a_fenced_one(coordinator: Coordinator) -> None:
    who = coordinator.granted()
    coordinator.granted(told=who)
    coordinator.granted()
    assert coordinator.init(told=who).error_code == K.PRODUCER_FENCED


def test_another_producer_id_is_fenced(coordinator: Coordinator) -> None:
    coordinator.granted()
    assert coordinator.init(told=(9999, 0)).error_code == K.PRODUCER_FENCED


def test_fenced_producer_does_not_abort_the_transaction_of_another(coordinator: Coordinator) -> None:
    zombie = coordinator.granted()
    coordinator.add(coordinator.granted(), tp("a", 0))
    assert coordinator.init(told=zombie).error_code == K.PRODUCER_FENCED
    assert coordinator.state() == "Ongoing"


@pytest.mark.parametrize("told", [(-1, 5), (5, -1)])
def test_half_an_identity_is_invalid(coordinator: Coordinator, told: tuple[int, int]) -> None:
    coordinator.granted()
    assert coordinator.init(told=told).error_code == K.INVALID_REQUEST


def test_identity_under_an_unknown_id_starts_anew(coordinator: Coordinator) -> None:
    assert coordinator.granted(told=(77, 3)) == (5000, 0)


# ---- another instance takes over


def test_ongoing_transaction_is_aborted_under_a_raised_epoch_first(coordinator: Coordinator) -> None:
    old = coordinator.granted()
    coordinator.add(old, tp("a", 0))
    assert coordinator.init().error_code == K.CONCURRENT_TRANSACTIONS
    assert coordinator.init().error_code == K.CONCURRENT_TRANSACTIONS
    coordinator.deliver()
    assert coordinator.granted() == (old[0], 2)
    assert coordinator.history() == [
        ("Empty", 0),
        ("Ongoing", 0),
        ("PrepareAbort", 1),
        ("CompleteAbort", 1),
        ("Empty", 2),
    ]


def test_old_instance_is_fenced_before_the_abort_is_durable(coordinator: Coordinator) -> None:
    old = coordinator.granted()
    coordinator.add(old, tp("a", 0))
    coordinator.asked_init()
    assert coordinator.end(old, commit=True) == K.PRODUCER_FENCED
    assert coordinator.add(old, tp("a", 1)) == {tp("a", 1): K.PRODUCER_FENCED}


@pytest.mark.parametrize(
    ("version", "code"),
    [(0, K.INVALID_PRODUCER_EPOCH), (1, K.INVALID_PRODUCER_EPOCH), (2, K.PRODUCER_FENCED), (3, K.PRODUCER_FENCED)],
)
def test_old_instance_is_told_in_the_words_of_its_version(coordinator: Coordinator, version: int, code: K) -> None:
    old = coordinator.granted()
    coordinator.granted()
    assert coordinator.add(old, tp("a", 0), version=version) == {tp("a", 0): code}
    assert coordinator.end(old, commit=True, version=version) == code
    assert coordinator.add_offsets(old, "group", version=version) == code


def test_epoch_from_the_future_is_fenced(coordinator: Coordinator) -> None:
    producer_id, _ = coordinator.granted()
    assert coordinator.end((producer_id, 7), commit=True) == K.PRODUCER_FENCED


def test_decided_transaction_is_waited_for(coordinator: Coordinator) -> None:
    who = coordinator.granted()
    coordinator.add(who, tp("a", 0))
    coordinator.end(who, commit=True)
    assert coordinator.init().error_code == K.CONCURRENT_TRANSACTIONS
    assert coordinator.init(told=who).error_code == K.CONCURRENT_TRANSACTIONS
    coordinator.deliver()
    assert coordinator.granted() == (who[0], 1)


# ---- epochs come to an end


def test_after_the_last_epoch_comes_a_fresh_id(coordinator: Coordinator) -> None:
    who = raise_epoch_to(coordinator, LAST_PRODUCER_EPOCH)
    fresh = coordinator.granted(told=who)
    assert fresh == (5001, 0)
    assert coordinator.granted(told=who) == fresh
    assert coordinator.end(who, commit=True) == K.INVALID_PRODUCER_ID_MAPPING


def test_transaction_under_the_last_epoch_can_still_be_fenced(coordinator: Coordinator) -> None:
    who = raise_epoch_to(coordinator, LAST_PRODUCER_EPOCH)
    coordinator.add(who, tp("a", 0))
    assert coordinator.init().error_code == K.CONCURRENT_TRANSACTIONS
    assert coordinator.metadata(NAME).producer_epoch == 32767
    coordinator.deliver()
    assert coordinator.granted() == (5001, 0)
