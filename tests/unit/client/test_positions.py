"""Positions, subscriptions and the lines before a full buffer."""

from uuid import UUID

import pytest

from tidelog.client.core.cluster import ClusterView, PartitionInfo, PushOutcome, TopicInfo
from tidelog.client.core.fetched import FetchedRecords
from tidelog.client.core.positions import EARLIEST_TIMESTAMP, PartitionPosition, Positions, Truncation
from tidelog.client.core.subscription import Mode, Subscription
from tidelog.client.core.waiting import WaitingLines, WaitingRecord
from tidelog.client.errors import IllegalStateError, WrongArgumentError
from tidelog.client.records import OffsetAndMetadata, TopicPartition
from tidelog.kafka.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


def test_those_that_stay_keep_their_position() -> None:
    positions = Positions()
    positions.assign([P0])
    positions.of(P0, "test").seek(5)
    positions.assign([P0, P1])
    assert positions.consumed() == {P0: OffsetAndMetadata(5)}
    assert [each.partition for each in positions.without_position()] == [P1]


def test_a_committed_offset_never_overrules_a_seek_or_a_reset() -> None:
    positions = Positions()
    positions.assign([P0, P1])
    positions.of(P0, "test").seek(5)
    positions.of(P1, "test").reset(EARLIEST_TIMESTAMP)
    positions.take_committed({P0: OffsetAndMetadata(9), P1: OffsetAndMetadata(9)})
    assert positions.of(P0, "test").position == 5
    assert positions.of(P1, "test").position is None


def test_a_jump_drops_what_was_fetched() -> None:
    positions = Positions()
    positions.assign([P0])
    state = positions.of(P0, "test")
    state.seek(0)
    state.take_in(FetchedRecords(P0, b"", 0), 10)
    assert (state.position, state.fetch_offset) == (0, 10)
    state.seek(3)
    assert (state.position, state.fetch_offset, len(state.fetched)) == (3, 3, 0)


def test_fetching_pauses_when_enough_waits_here() -> None:
    positions = Positions()
    positions.assign([P0])
    state = positions.of(P0, "test")
    assert not state.is_fetchable(0)
    state.seek(0)
    assert state.is_fetchable(0)
    state.take_in(FetchedRecords(P0, b"", 0), 10)
    assert state.is_fetchable(0)
    state.take_in(FetchedRecords(P0, b"", 0), 20)
    assert not state.is_fetchable(0)
    state.seek(0)
    state.is_paused = True
    assert not state.is_fetchable(0)


def read_up_to(position: int, *, fetched: int, epoch: int) -> PartitionPosition:
    """A partition that was read up to an offset, with more waiting here; the leader epoch is that of all of it."""
    state = PartitionPosition(P0)
    state.seek(0)
    assert state.is_valid_in(epoch)
    state.take_in(FetchedRecords(P0, b"", 0), fetched, epoch)
    state.position, state.leader_epoch = position, epoch
    return state


def test_a_position_is_right_until_the_leader_changes() -> None:
    state = read_up_to(5, fetched=10, epoch=3)
    assert state.is_valid_in(3)
    assert not state.is_valid_in(4)
    assert state.on_epoch_end(4, 10, 3) is None
    assert state.is_valid_in(4)
    assert (state.position, state.fetch_offset, len(state.fetched)) == (5, 10, 1)


def test_a_position_without_an_epoch_cannot_be_wrong() -> None:
    state = PartitionPosition(P0)
    state.seek(7)
    assert state.is_valid_in(3)
    assert state.is_valid_in(4)


def test_a_committed_offset_is_checked_unless_it_is_of_the_leaders_own_epoch() -> None:
    state = PartitionPosition(P0)
    state.seek(7, leader_epoch=3)
    assert not state.is_valid_in(4)
    assert state.is_valid_in(3)


def test_what_waits_here_is_fetched_again_if_the_log_parts_within_it() -> None:
    state = read_up_to(5, fetched=10, epoch=3)
    assert state.on_epoch_end(4, 8, 3) is None
    assert (state.position, state.fetch_offset, len(state.fetched)) == (5, 5, 0)
    assert state.is_valid_in(4)


def test_what_the_application_has_may_be_gone() -> None:
    state = read_up_to(9, fetched=10, epoch=3)
    assert state.on_epoch_end(4, 8, 2) == Truncation(8, 2)
    assert not state.is_valid_in(4), "nobody has decided yet where to go on"
    assert state.on_epoch_end(4, -1, -1) == Truncation(-1, -1)


def test_who_is_not_assigned_is_named() -> None:
    with pytest.raises(IllegalStateError, match="seek: t-1 is not assigned"):
        Positions().of(P1, "seek")


def test_one_way_of_subscribing_at_a_time() -> None:
    subscription = Subscription()
    subscription.to_topics(["a"])
    with pytest.raises(IllegalStateError, match=r"assign: the consumer is subscribed to topics; unsubscribe\(\) first"):
        subscription.to_partitions()
    subscription.clear()
    subscription.to_partitions()
    assert subscription.mode is Mode.PARTITIONS


@pytest.mark.parametrize("topics", ["a", [""], [1]])
def test_topics_are_a_list_of_names(topics: object) -> None:
    with pytest.raises(WrongArgumentError, match="topics"):
        Subscription().to_topics(topics)  # type: ignore[arg-type]


def test_a_pattern_matches_whole_names_without_internal_topics() -> None:
    view = ClusterView()
    view.take_in(answer("orders", "orders-eu", "my-orders", "__orders"), all_topics=True)
    subscription = Subscription()
    subscription.to_pattern("(__)?orders.*")
    assert subscription.match(view, excludes_internal=True)
    assert subscription.topics == {"orders", "orders-eu"}
    assert not subscription.match(view, excludes_internal=True)
    with pytest.raises(WrongArgumentError, match="pattern"):
        Subscription().to_pattern("(")


def answer(*topics: str, leader: int = 1, epoch: int = 0) -> MetadataResponse:
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=n, host="h", port=n) for n in (1, 2)],
        controller_id=1,
        topics=[
            MetadataResponseTopic(
                name=name,
                is_internal=name.startswith("__"),
                partitions=[
                    MetadataResponsePartition(
                        partition_index=0, leader_id=leader, leader_epoch=epoch, replica_nodes=[1, 2], isr_nodes=[1]
                    )
                ],
            )
            for name in topics
        ],
    )


def test_an_older_answer_does_not_bring_an_old_leader_back() -> None:
    view = ClusterView()
    view.take_in(answer("t", leader=1, epoch=3), all_topics=False)
    view.take_in(answer("t", leader=2, epoch=2), all_topics=False)
    assert view.leader("t", 0) == 1
    view.take_in(answer("t", leader=2, epoch=4), all_topics=False)
    assert view.leader("t", 0) == 2


def test_a_hint_is_taken_if_it_is_newer() -> None:
    view = ClusterView()
    view.take_in(answer("t", leader=1, epoch=3), all_topics=False)
    assert not view.learn_leader("t", 0, 2, 3)
    assert not view.learn_leader("t", 0, 9, 4)
    assert view.learn_leader("t", 0, 2, 4)
    assert view.leader("t", 0) == 2


def pushed(name: str, topic_id: UUID, leader: int, epoch: int, partition: int = 0) -> TopicInfo:
    info = PartitionInfo(name, partition, leader, epoch, (1, 2), (1,))
    return TopicInfo(name, topic_id, is_internal=False, partitions={partition: info})


def test_what_is_pushed_is_taken_if_it_is_newer() -> None:
    view = ClusterView()
    view.take_in(answer("t", leader=1, epoch=3), all_topics=False)
    topic_id = view.topics["t"].topic_id
    assert view.take_push([pushed("t", topic_id, 2, 2)]) == PushOutcome(has_news=False, is_incomplete=False)
    assert view.take_push([pushed("t", topic_id, 1, 3)]) == PushOutcome(has_news=False, is_incomplete=False)
    assert view.take_push([pushed("t", topic_id, 2, 4)]) == PushOutcome(has_news=True, is_incomplete=False)
    assert view.leader("t", 0) == 2
    assert view.take_push([pushed("t", topic_id, -1, 5)]) == PushOutcome(has_news=True, is_incomplete=False)
    assert view.leader("t", 0) == -1


def test_what_a_push_cannot_tell_is_left_to_a_broker() -> None:
    view = ClusterView()
    view.take_in(answer("t", leader=1, epoch=3), all_topics=False)
    topic_id = view.topics["t"].topic_id
    unknown = PushOutcome(has_news=False, is_incomplete=True)
    assert view.take_push([pushed("u", topic_id, 1, 0)]) == unknown, "another topic"
    assert view.take_push([pushed("t", UUID(int=7), 1, 0)]) == unknown, "a topic that was created anew"
    assert view.take_push([pushed("t", topic_id, 1, 0, partition=1)]) == unknown, "a new partition"
    assert view.take_push([pushed("t", topic_id, 9, 4)]) == unknown, "a leader whose address is not known"
    assert view.leader("t", 0) == 1


def test_an_answer_about_all_topics_forgets_those_that_are_gone() -> None:
    view = ClusterView()
    view.take_in(answer("a", "b"), all_topics=True)
    view.take_in(answer("b"), all_topics=False)
    assert set(view.topics) == {"a", "b"}
    view.take_in(answer("b"), all_topics=True)
    assert view.partitions(["a", "b"]) == [TopicPartition("b", 0)]


def waiting(give_up_at_ms: int, size: int = 10) -> WaitingRecord:
    return WaitingRecord(None, b"v", (), 0, None, None, give_up_at_ms, size)


def test_lines_keep_their_order_and_their_bound() -> None:
    lines = WaitingLines(25)
    first, second = waiting(100), waiting(200)
    assert lines.has_room_for(10)
    lines.add("t", first)
    lines.add("t", second)
    assert not lines.has_room_for(10)
    assert lines.leave("t") is first
    assert lines.has_room_for(10)
    assert lines.next_expiry_ms() == 200
    assert lines.expired(150) == []
    assert lines.expired(200) == [("t", second)]
    assert not lines
