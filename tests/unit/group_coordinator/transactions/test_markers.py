"""Markers: where they go, what answers mean, and how a transaction is completed."""

import pytest

from tests.support.transaction_coordinator import NAME, Coordinator, all_written, cluster_view, marked, tp
from tidelog.group_coordinator.core.transactions.destinations import Destination
from tidelog.group_coordinator.core.transactions.markers import MARKER_RETRY_MS
from tidelog.kafka.cluster import NO_LEADER, Role
from tidelog.kafka.errors import KafkaCode as K
from tidelog.kafka.wire.messages.write_txn_markers import WriteTxnMarkersResponse

BROKER_1, BROKER_2 = Destination(Role.BROKER, 1), Destination(Role.BROKER, 2)


@pytest.fixture
def coordinator() -> Coordinator:
    return Coordinator()


def decided(coordinator: Coordinator, *partitions: tuple[str, int], name: str = NAME, commit: bool = True) -> int:
    who = coordinator.granted(name)
    coordinator.add(who, *(tp(*each) for each in partitions), name=name)
    coordinator.end(who, commit, name=name)
    return who[0]


def test_each_leader_gets_one_request_with_its_partitions(coordinator: Coordinator) -> None:
    first = decided(coordinator, ("a", 0), ("a", 1), ("b", 0), name="one")
    second = decided(coordinator, ("a", 0), name="two", commit=False)
    found = {each.destination: list(marked(each)) for each in coordinator.send_due()}
    assert found == {
        BROKER_1: [(first, 0, True, tp("a", 0)), (first, 0, True, tp("b", 0)), (second, 0, False, tp("a", 0))],
        BROKER_2: [(first, 0, True, tp("a", 1))],
    }


def test_markers_carry_the_epoch_of_the_shard(coordinator: Coordinator) -> None:
    coordinator.restart()
    decided(coordinator, ("a", 0))
    (sent,) = coordinator.send_due()
    assert [marker.coordinator_epoch for marker in sent.request.markers] == [1]


def test_offsets_are_marked_by_the_owner_of_their_shard(coordinator: Coordinator) -> None:
    who = coordinator.granted()
    coordinator.add_offsets(who, "KafkaConsumerDemo")
    coordinator.end(who, commit=True)
    (sent,) = coordinator.send_due()
    assert sent.destination == Destination(Role.GROUP_COORDINATOR, 7)
    assert list(marked(sent)) == [(who[0], 0, True, tp("__consumer_offsets", 35))]


def test_offsets_wait_for_a_live_owner(coordinator: Coordinator) -> None:
    who = coordinator.granted()
    coordinator.add_offsets(who, "group")
    coordinator.end(who, commit=True)
    coordinators, coordinator.view.coordinators = coordinator.view.coordinators, {}
    assert coordinator.send_due() == ()
    coordinator.view.coordinators = coordinators
    coordinator.now_ms += MARKER_RETRY_MS
    assert len(coordinator.send_due()) == 1


def test_nothing_is_sent_twice_while_an_answer_is_waited_for(coordinator: Coordinator) -> None:
    decided(coordinator, ("a", 0))
    assert len(coordinator.send_due()) == 1
    coordinator.now_ms += 60_000
    assert coordinator.send_due() == ()
    assert coordinator.state() == "PrepareCommit"


def test_transaction_is_complete_when_every_partition_is_marked(coordinator: Coordinator) -> None:
    decided(coordinator, ("a", 0), ("a", 1))
    first, second = coordinator.send_due()
    coordinator.shard.on_markers_answered(first, all_written(first), coordinator.now_ms)
    assert coordinator.send_due() == ()
    assert coordinator.state() == "PrepareCommit"
    coordinator.shard.on_markers_answered(second, all_written(second), coordinator.now_ms)
    coordinator.send_due()
    assert coordinator.state() == "CompleteCommit"


def test_completion_is_handed_out_once(coordinator: Coordinator) -> None:
    decided(coordinator, ("a", 0))
    (sent,) = coordinator.send_due()
    coordinator.shard.on_markers_answered(sent, all_written(sent), coordinator.now_ms)
    due = coordinator.shard.take_due(coordinator.view, coordinator.now_ms)
    assert len(due.completions) == 1
    assert coordinator.shard.take_due(coordinator.view, coordinator.now_ms).completions == ()


@pytest.mark.parametrize(
    "code",
    [
        K.UNKNOWN_TOPIC_OR_PARTITION,
        K.NOT_LEADER_OR_FOLLOWER,
        K.REQUEST_TIMED_OUT,
        K.NOT_ENOUGH_REPLICAS,
        K.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        K.KAFKA_STORAGE_ERROR,
        K.NOT_COORDINATOR,
        K.UNKNOWN_SERVER_ERROR,
    ],
)
def test_refused_marker_is_sent_again_after_a_pause_to_whoever_leads_then(coordinator: Coordinator, code: K) -> None:
    decided(coordinator, ("a", 0))
    (sent,) = coordinator.send_due()
    assert coordinator.shard.on_markers_answered(sent, all_written(sent, code), coordinator.now_ms) == ()
    due = coordinator.shard.take_due(coordinator.view, coordinator.now_ms)
    assert (due.sends, due.completions, due.next_due_ms) == ((), (), coordinator.now_ms + MARKER_RETRY_MS)
    coordinator.view = cluster_view({"a": [2]})
    coordinator.now_ms += MARKER_RETRY_MS
    (again,) = coordinator.send_due()
    assert (again.destination, again.request) == (BROKER_2, sent.request)


def test_only_the_refused_partition_is_sent_again(coordinator: Coordinator) -> None:
    decided(coordinator, ("a", 0), ("b", 0))
    (sent,) = coordinator.send_due()
    response = all_written(sent)
    response.markers[0].topics[1].partitions[0].error_code = K.NOT_LEADER_OR_FOLLOWER
    coordinator.shard.on_markers_answered(sent, response, coordinator.now_ms)
    coordinator.now_ms += MARKER_RETRY_MS
    (again,) = coordinator.send_due()
    assert [partition for *_, partition in marked(again)] == [tp("b", 0)]


def test_lost_request_is_sent_again(coordinator: Coordinator) -> None:
    decided(coordinator, ("a", 0))
    (sent,) = coordinator.send_due()
    coordinator.shard.on_markers_lost(sent, coordinator.now_ms)
    coordinator.now_ms += MARKER_RETRY_MS
    assert [each.request for each in coordinator.send_due()] == [sent.request]


def test_partition_that_an_answer_leaves_out_is_sent_again(coordinator: Coordinator) -> None:
    decided(coordinator, ("a", 0))
    (sent,) = coordinator.send_due()
    coordinator.shard.on_markers_answered(sent, WriteTxnMarkersResponse(markers=[]), coordinator.now_ms)
    coordinator.now_ms += MARKER_RETRY_MS
    assert [each.request for each in coordinator.send_due()] == [sent.request]


def test_late_answer_of_a_lost_request_counts_for_nothing(coordinator: Coordinator) -> None:
    decided(coordinator, ("a", 0))
    (sent,) = coordinator.send_due()
    coordinator.shard.on_markers_lost(sent, coordinator.now_ms)
    coordinator.shard.on_markers_answered(sent, all_written(sent), coordinator.now_ms)
    coordinator.send_due()
    assert coordinator.state() == "PrepareCommit"


@pytest.mark.parametrize("code", [K.INVALID_PRODUCER_EPOCH, K.TRANSACTION_COORDINATOR_FENCED])
def test_refusal_that_tells_of_another_coordinator_ends_the_sending(coordinator: Coordinator, code: K) -> None:
    decided(coordinator, ("a", 0), ("a", 1))
    first, second = coordinator.send_due()
    assert coordinator.shard.on_markers_answered(first, all_written(first, code), coordinator.now_ms) == (NAME,)
    coordinator.shard.on_markers_lost(second, coordinator.now_ms)
    coordinator.now_ms += MARKER_RETRY_MS
    due = coordinator.shard.take_due(coordinator.view, coordinator.now_ms)
    assert (due.sends, due.completions, due.next_due_ms) == ((), (), None)
    assert coordinator.state() == "PrepareCommit"


# ---- partitions without a leader, or without a topic


def test_partition_without_a_leader_is_waited_for(coordinator: Coordinator) -> None:
    decided(coordinator, ("a", 0))
    coordinator.view = cluster_view({"a": [NO_LEADER]})
    due = coordinator.shard.take_due(coordinator.view, coordinator.now_ms)
    assert (due.sends, due.completions, due.next_due_ms) == ((), (), coordinator.now_ms + MARKER_RETRY_MS)


def test_leader_that_is_not_alive_is_waited_for(coordinator: Coordinator) -> None:
    decided(coordinator, ("a", 0))
    coordinator.view.brokers.pop(1)
    assert coordinator.send_due() == ()
    assert coordinator.state() == "PrepareCommit"


def test_deleted_topic_needs_no_marker(coordinator: Coordinator) -> None:
    decided(coordinator, ("a", 0), ("b", 0))
    coordinator.view.topics.pop("a")
    (sent,) = coordinator.deliver()
    assert [partition for *_, partition in marked(sent)] == [tp("b", 0)]
    assert coordinator.state() == "CompleteCommit"


def test_transaction_whose_topics_are_all_deleted_is_completed(coordinator: Coordinator) -> None:
    decided(coordinator, ("a", 0))
    coordinator.view.topics.pop("a")
    assert coordinator.deliver() == []
    assert coordinator.state() == "CompleteCommit"


def test_nothing_counts_as_deleted_before_the_cluster_is_known(coordinator: Coordinator) -> None:
    decided(coordinator, ("a", 0))
    known = coordinator.view.topics
    coordinator.view.topics = {}
    assert coordinator.deliver() == []
    assert coordinator.state() == "PrepareCommit"
    coordinator.view.topics = known
    coordinator.now_ms += MARKER_RETRY_MS
    assert len(coordinator.deliver()) == 1


# ---- another coordinator takes over


@pytest.mark.parametrize("commit", [True, False])
def test_decided_transaction_is_resumed_after_loading(coordinator: Coordinator, commit: bool) -> None:
    producer_id = decided(coordinator, ("a", 0), ("a", 1), commit=commit)
    first, _ = coordinator.send_due()
    coordinator.shard.on_markers_answered(first, all_written(first), coordinator.now_ms)
    coordinator.restart()
    sent = coordinator.deliver()
    # Who has answered is not known any more, so everybody is asked again.
    assert [each for one in sent for each in marked(one)] == [
        (producer_id, 0, commit, tp("a", 0)),
        (producer_id, 0, commit, tp("a", 1)),
    ]
    assert coordinator.state() == ("CompleteCommit" if commit else "CompleteAbort")


def test_complete_transaction_is_not_resumed(coordinator: Coordinator) -> None:
    decided(coordinator, ("a", 0))
    coordinator.deliver()
    coordinator.restart()
    assert coordinator.deliver() == []


def test_loading_gives_the_same_state(coordinator: Coordinator) -> None:
    decided(coordinator, ("a", 0), name="one")
    coordinator.granted("two", timeout_ms=7)
    before = {each.transactional_id: each.metadata for each in coordinator.shard.transactions}
    coordinator.restart()
    assert {each.transactional_id: each.metadata for each in coordinator.shard.transactions} == before
