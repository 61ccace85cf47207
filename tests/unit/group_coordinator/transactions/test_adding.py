"""AddPartitionsToTxn, AddOffsetsToTxn, and leaders that ask whether a partition was added."""

import pytest

from tests.support.transaction_coordinator import Coordinator, tp
from tidelog.kafka.errors import KafkaCode as K
from tidelog.kafka.errors import KafkaError


@pytest.fixture
def coordinator() -> Coordinator:
    return Coordinator()


def test_first_partition_begins_the_transaction(coordinator: Coordinator) -> None:
    who = coordinator.granted()
    coordinator.now_ms = 2_000_000
    assert coordinator.add(who, tp("a", 0), tp("b", 0)) == {tp("a", 0): K.NONE, tp("b", 0): K.NONE}
    metadata = coordinator.metadata()
    assert (metadata.state.text, metadata.start_ms, metadata.last_update_ms) == ("Ongoing", 2_000_000, 2_000_000)
    assert metadata.partitions == {tp("a", 0), tp("b", 0)}


def test_further_partitions_join_and_the_start_stays(coordinator: Coordinator) -> None:
    who = coordinator.granted()
    coordinator.add(who, tp("a", 0))
    start_ms = coordinator.now_ms
    coordinator.now_ms += 5
    coordinator.add(who, tp("a", 1))
    metadata = coordinator.metadata()
    assert metadata.partitions == {tp("a", 0), tp("a", 1)}
    assert (metadata.start_ms, metadata.last_update_ms) == (start_ms, start_ms + 5)


def test_adding_again_writes_nothing(coordinator: Coordinator) -> None:
    who = coordinator.granted()
    coordinator.add(who, tp("a", 0), tp("a", 1))
    outcome = coordinator.asked_add(who, tp("a", 1))
    assert (outcome.records, outcome.answer) == ((), {tp("a", 1): K.NONE})


def test_next_transaction_begins_with_its_own_partitions(coordinator: Coordinator) -> None:
    who = coordinator.granted()
    coordinator.add(who, tp("a", 0))
    coordinator.end(who, commit=True)
    coordinator.deliver()
    coordinator.now_ms += 9
    coordinator.add(who, tp("a", 1))
    assert (coordinator.metadata().partitions, coordinator.metadata().start_ms) == (
        frozenset({tp("a", 1)}),
        coordinator.now_ms,
    )


def test_unknown_partition_is_refused_and_the_others_are_not_attempted(coordinator: Coordinator) -> None:
    who = coordinator.granted()
    assert coordinator.add(who, tp("a", 0), tp("never-was", 0), tp("a", 9)) == {
        tp("a", 0): K.OPERATION_NOT_ATTEMPTED,
        tp("never-was", 0): K.UNKNOWN_TOPIC_OR_PARTITION,
        tp("a", 9): K.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert coordinator.state() == "Empty"


def test_internal_topics_are_not_for_producers(coordinator: Coordinator) -> None:
    who = coordinator.granted()
    offsets = tp("__consumer_offsets", 0)
    assert coordinator.add(who, offsets) == {offsets: K.TOPIC_AUTHORIZATION_FAILED}


@pytest.mark.parametrize("is_known", [True, False])
def test_unknown_id_or_wrong_producer_id_is_a_wrong_mapping(coordinator: Coordinator, is_known: bool) -> None:
    if is_known:
        coordinator.granted()
    stranger = (2**40, 0)
    assert coordinator.add(stranger, tp("a", 0)) == {tp("a", 0): K.INVALID_PRODUCER_ID_MAPPING}
    assert coordinator.end(stranger, commit=True) == K.INVALID_PRODUCER_ID_MAPPING
    assert coordinator.add_offsets(stranger, "group") == K.INVALID_PRODUCER_ID_MAPPING


def test_empty_transactional_id_is_invalid(coordinator: Coordinator) -> None:
    assert coordinator.add((1, 0), tp("a", 0), name="") == {tp("a", 0): K.INVALID_REQUEST}
    assert coordinator.end((1, 0), commit=True, name="") == K.INVALID_REQUEST
    assert coordinator.add_offsets((1, 0), "group", name="") == K.INVALID_REQUEST


def test_change_that_is_being_written_blocks_others(coordinator: Coordinator) -> None:
    who = coordinator.granted()
    outcome = coordinator.asked_add(who, tp("a", 0))
    assert coordinator.add(who, tp("a", 1)) == {tp("a", 1): K.CONCURRENT_TRANSACTIONS}
    assert coordinator.end(who, commit=True) == K.CONCURRENT_TRANSACTIONS
    assert coordinator.add_offsets(who, "group") == K.CONCURRENT_TRANSACTIONS
    coordinator.commit(outcome)
    assert coordinator.add(who, tp("a", 1)) == {tp("a", 1): K.NONE}


def test_decided_transaction_takes_no_partitions(coordinator: Coordinator) -> None:
    who = coordinator.granted()
    coordinator.add(who, tp("a", 0))
    coordinator.end(who, commit=True)
    assert coordinator.add(who, tp("a", 0)) == {tp("a", 0): K.CONCURRENT_TRANSACTIONS}


def test_request_without_partitions_begins_nothing(coordinator: Coordinator) -> None:
    who = coordinator.granted()
    assert coordinator.add(who) == {}
    assert coordinator.state() == "Empty"


@pytest.mark.parametrize(("group", "partition"), [("KafkaConsumerDemo", 35), ("", 0)])
def test_offsets_of_a_group_are_its_partition(coordinator: Coordinator, group: str, partition: int) -> None:
    who = coordinator.granted()
    assert coordinator.add_offsets(who, group) == K.NONE
    assert coordinator.metadata().partitions == {tp("__consumer_offsets", partition)}


# ---- verification


def test_leader_is_told_which_partitions_take_part(coordinator: Coordinator) -> None:
    who = coordinator.granted()
    coordinator.add(who, tp("a", 0))
    assert coordinator.verify(who, tp("a", 0), tp("a", 1)) == {tp("a", 0): K.NONE, tp("a", 1): K.INVALID_TXN_STATE}


def test_partition_that_is_still_being_written_does_not_take_part(coordinator: Coordinator) -> None:
    who = coordinator.granted()
    coordinator.asked_add(who, tp("a", 0))
    assert coordinator.verify(who, tp("a", 0)) == {tp("a", 0): K.INVALID_TXN_STATE}


def test_ended_transaction_has_no_partitions(coordinator: Coordinator) -> None:
    who = coordinator.granted()
    coordinator.add(who, tp("a", 0))
    coordinator.end(who, commit=True)
    with pytest.raises(KafkaError) as refused:
        coordinator.verify(who, tp("a", 0))
    assert refused.value.code == K.CONCURRENT_TRANSACTIONS
    coordinator.deliver()
    assert coordinator.verify(who, tp("a", 0)) == {tp("a", 0): K.INVALID_TXN_STATE}


@pytest.mark.parametrize(
    ("who", "code"), [((5000, 1), K.PRODUCER_FENCED), ((1, 0), K.INVALID_PRODUCER_ID_MAPPING)], ids=["epoch", "id"]
)
def test_leader_learns_that_a_producer_is_not_the_one(coordinator: Coordinator, who: tuple[int, int], code: K) -> None:
    coordinator.granted()
    with pytest.raises(KafkaError) as refused:
        coordinator.verify(who, tp("a", 0))
    assert refused.value.code == code
