"""EndTxn: what each state allows."""

import pytest

from tests.support.transaction_coordinator import Coordinator, tp
from tidelog.kafka.errors import KafkaCode as K


@pytest.fixture
def coordinator() -> Coordinator:
    return Coordinator()


@pytest.fixture
def who(coordinator: Coordinator) -> tuple[int, int]:
    return coordinator.granted()


both = pytest.mark.parametrize("commit", [True, False])


@both
def test_end_without_a_transaction_is_a_wrong_state(
    coordinator: Coordinator, who: tuple[int, int], commit: bool
) -> None:
    assert coordinator.end(who, commit) == K.INVALID_TXN_STATE


@both
def test_each_step_is_written(coordinator: Coordinator, who: tuple[int, int], commit: bool) -> None:
    coordinator.add(who, tp("a", 0))
    start_ms = coordinator.now_ms
    coordinator.now_ms += 10
    assert coordinator.end(who, commit) == K.NONE
    assert coordinator.metadata().partitions == {tp("a", 0)}
    coordinator.deliver()
    result = "Commit" if commit else "Abort"
    assert coordinator.history() == [("Empty", 0), ("Ongoing", 0), (f"Prepare{result}", 0), (f"Complete{result}", 0)]
    metadata = coordinator.metadata()
    assert (metadata.partitions, metadata.start_ms, metadata.last_update_ms) == (frozenset(), start_ms, start_ms + 10)


@both
def test_repeated_end_waits_for_the_markers_and_is_fine_then(
    coordinator: Coordinator, who: tuple[int, int], commit: bool
) -> None:
    coordinator.add(who, tp("a", 0))
    coordinator.end(who, commit)
    assert coordinator.end(who, commit) == K.CONCURRENT_TRANSACTIONS
    assert coordinator.end(who, not commit) == K.INVALID_TXN_STATE
    coordinator.deliver()
    assert coordinator.asked_end(who, commit).records == ()
    assert coordinator.end(who, commit) == K.NONE
    assert coordinator.end(who, not commit) == K.INVALID_TXN_STATE


def test_answer_comes_before_the_markers(coordinator: Coordinator, who: tuple[int, int]) -> None:
    coordinator.add(who, tp("a", 0))
    outcome = coordinator.asked_end(who, commit=True)
    assert coordinator.send_due() == ()
    assert coordinator.commit(outcome) == K.NONE
    assert len(coordinator.send_due()) == 1


def test_next_transaction_follows_under_the_same_epoch(coordinator: Coordinator, who: tuple[int, int]) -> None:
    for commit in (True, False, True):
        coordinator.add(who, tp("a", 0))
        assert coordinator.end(who, commit) == K.NONE
        coordinator.deliver()
    assert coordinator.metadata().producer_epoch == 0
