"""What a client knows of the cluster: answers, hints and pushes put together; an older one never undoes a newer one."""

from uuid import UUID

from tidelog.client.core.cluster import NO_LEADER, ClusterView, PartitionInfo, PushOutcome, TopicInfo
from tidelog.client.records import TopicPartition
from tidelog.kafka.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

ID, OTHER_ID = UUID(int=1), UUID(int=2)


def answer(*leaders: tuple[int, int], name: str = "t", topic_id: UUID = ID) -> MetadataResponse:
    """One topic whose partitions have these leaders in these epochs."""
    partitions = [
        MetadataResponsePartition(
            partition_index=number, leader_id=leader, leader_epoch=epoch, replica_nodes=[1, 2], isr_nodes=[1, 2]
        )
        for number, (leader, epoch) in enumerate(leaders)
    ]
    brokers = [MetadataResponseBroker(node_id=id, host="h", port=9092, rack=f"r{id}") for id in (1, 2)]
    topic = MetadataResponseTopic(name=name, topic_id=topic_id, partitions=partitions)
    return MetadataResponse(brokers=brokers, controller_id=1, topics=[topic])


def known(*leaders: tuple[int, int]) -> ClusterView:
    view = ClusterView()
    view.take_in(answer(*leaders), all_topics=True)
    return view


def pushed(*leaders: tuple[int, int], topic_id: UUID = ID, isr: tuple[int, ...] = (1, 2)) -> list[TopicInfo]:
    partitions = {
        number: PartitionInfo("t", number, leader, epoch, (1, 2), isr) for number, (leader, epoch) in enumerate(leaders)
    }
    return [TopicInfo("t", topic_id, is_internal=False, partitions=partitions)]


def test_an_answer_about_all_topics_also_tells_which_are_gone() -> None:
    view = known((1, 0), (2, 0))
    assert view.partitions(["t", "none"]) == [TopicPartition("t", 0), TopicPartition("t", 1)]
    view.take_in(answer((1, 0), name="u"), all_topics=False)
    assert set(view.topics) == {"t", "u"}
    view.take_in(answer((1, 0), name="u"), all_topics=True)
    assert set(view.topics) == {"u"}
    assert (view.leader("u", 0), view.leader("t", 0)) == (1, NO_LEADER)
    assert view.nodes[2].rack == "r2"


def test_racks_of_partitions_are_those_of_their_replicas() -> None:
    view = known((1, 0), (2, 0))
    assert view.racks(["t", "none"]) == {TopicPartition("t", n): frozenset({"r1", "r2"}) for n in (0, 1)}


def test_an_older_answer_does_not_undo_a_newer_one() -> None:
    view = known((2, 5))
    view.take_in(answer((1, 4)), all_topics=True)
    assert view.leader("t", 0) == 2
    view.take_in(answer((1, 6)), all_topics=True)
    assert view.leader("t", 0) == 1
    # A topic that was deleted and made again begins with epoch 0.
    view.take_in(answer((2, 0), topic_id=OTHER_ID), all_topics=True)
    assert view.leader("t", 0) == 2


def test_a_hint_is_taken_if_it_is_newer_and_its_broker_is_known() -> None:
    view = known((1, 3))
    version = view.version
    assert not view.learn_leader("t", 0, 2, 3)
    assert not view.learn_leader("t", 0, 9, 4)
    assert not view.learn_leader("t", 7, 2, 4)
    assert view.version == version
    assert view.learn_leader("t", 0, 2, 4)
    assert (view.leader("t", 0), view.version) == (2, version + 1)


def test_a_pushed_leader_is_taken_at_once() -> None:
    view = known((1, 3), (1, 3))
    version = view.version
    assert view.take_push(pushed((2, 4), (1, 3))) == PushOutcome(has_news=True, is_incomplete=False)
    assert (view.leader("t", 0), view.leader("t", 1), view.version) == (2, 1, version + 1)
    assert view.take_push(pushed((2, 4), (1, 3))) == PushOutcome(has_news=False, is_incomplete=False)
    assert view.take_push(pushed((1, 3), (1, 3))) == PushOutcome(has_news=False, is_incomplete=False)
    assert view.leader("t", 0) == 2


def test_a_push_within_an_epoch_changes_the_in_sync_set() -> None:
    view = known((1, 3))
    assert view.take_push(pushed((1, 3), isr=(1,))).has_news
    info = view.partition("t", 0)
    assert info is not None
    assert info.isr == (1,)


def test_what_a_push_cannot_tell_is_left_to_a_broker() -> None:
    view = known((1, 3))
    # A leader whose address is not known, a partition and a topic that are new, a topic that was made again.
    assert view.take_push(pushed((9, 4))) == PushOutcome(has_news=False, is_incomplete=True)
    assert view.take_push(pushed((1, 3), (1, 0))) == PushOutcome(has_news=False, is_incomplete=True)
    assert view.take_push(pushed((2, 9), topic_id=OTHER_ID)) == PushOutcome(has_news=False, is_incomplete=True)
    assert ClusterView().take_push(pushed((1, 0))) == PushOutcome(has_news=False, is_incomplete=True)
    assert view.leader("t", 0) == 1


def test_that_nobody_leads_can_be_pushed() -> None:
    view = known((1, 3))
    assert view.take_push(pushed((NO_LEADER, 4))) == PushOutcome(has_news=True, is_incomplete=False)
    assert view.leader("t", 0) == NO_LEADER
