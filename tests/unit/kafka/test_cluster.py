"""What a process believes of the cluster, and whom it believes."""

from uuid import UUID

import pytest

from tidelog.kafka.cluster import LEADER_DURING_DELETE, ClusterView, Member, MetadataUpdate, PartitionView, TopicView
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import BrokerEpoch, ControllerEpoch, ControllerId, Endpoint, LeaderEpoch

OLD, NEW = UUID(int=1), UUID(int=2)


def update(
    epoch: int = 1, brokers: tuple[int, ...] = (), topics: tuple[TopicView, ...] = (), *, complete: bool = False
) -> MetadataUpdate:
    return MetadataUpdate(
        controller_id=ControllerId(9),
        controller_epoch=ControllerEpoch(epoch),
        cluster_id="abc",
        brokers=tuple(Member(id, BrokerEpoch(100 + id), (Endpoint("PLAINTEXT", "h", 9092),)) for id in brokers),
        topics=topics,
        topics_complete=complete,
    )


def topic(name: str, topic_id: UUID, **leaders: int) -> TopicView:
    return TopicView(
        name,
        topic_id,
        {
            int(p[1:]): PartitionView(int(p[1:]), leader, LeaderEpoch(0), (leader,), (leader,))
            for p, leader in leaders.items()
        },
    )


@pytest.mark.parametrize(
    ("controller_epoch", "recipient_epoch", "code"),
    [
        (4, 50, KafkaCode.STALE_CONTROLLER_EPOCH),
        (5, 49, KafkaCode.STALE_BROKER_EPOCH),
        (5, 50, None),
        (6, 50, None),
        (5, -1, None),
        (5, 51, None),  # the controller heard of our new registration before we did
    ],
)
def test_epochs_decide_what_is_heard(controller_epoch: int, recipient_epoch: int, code: KafkaCode | None) -> None:
    view = ClusterView(controller_epoch=ControllerEpoch(5))
    if code is None:
        view.check_epochs(controller_epoch, recipient_epoch, own_epoch=50)
    else:
        with pytest.raises(KafkaError) as refused:
            view.check_epochs(controller_epoch, recipient_epoch, own_epoch=50)
        assert refused.value.code is code


def test_members_are_replaced_and_topics_merged() -> None:
    view = ClusterView()
    view.apply(update(brokers=(1, 2), topics=(topic("a", OLD, p0=1, p1=2),)))
    view.apply(update(brokers=(2,), topics=(topic("a", OLD, p1=1), topic("b", NEW, p0=2))))
    assert list(view.brokers) == [2]
    assert {p: view.topics["a"].partitions[p].leader for p in (0, 1)} == {0: 1, 1: 1}
    assert view.topic_names == {OLD: "a", NEW: "b"}


def test_a_complete_update_forgets_what_it_does_not_name() -> None:
    view = ClusterView()
    view.apply(update(topics=(topic("a", OLD, p0=1),)))
    view.apply(update(topics=(topic("b", NEW, p0=2),), complete=True))
    assert (list(view.topics), view.topic_names) == (["b"], {NEW: "b"})


def test_a_deleted_partition_goes_and_with_the_last_one_the_topic() -> None:
    view = ClusterView()
    view.apply(update(topics=(topic("a", OLD, p0=1, p1=1),)))
    view.apply(update(topics=(topic("a", OLD, p0=LEADER_DURING_DELETE),)))
    assert list(view.topics["a"].partitions) == [1]
    view.apply(update(topics=(topic("a", OLD, p1=LEADER_DURING_DELETE),)))
    assert (view.topics, view.topic_names) == ({}, {})


def test_a_topic_made_again_under_its_old_name_shares_nothing_with_the_old_one() -> None:
    view = ClusterView()
    view.apply(update(topics=(topic("a", OLD, p0=1, p1=1),)))
    view.apply(update(topics=(topic("a", NEW, p0=2),)))
    assert list(view.topics["a"].partitions) == [0]
    assert view.topic_names == {NEW: "a"}


def test_clients_are_told_the_lowest_live_broker_as_controller() -> None:
    view = ClusterView()
    assert view.controller_id == -1
    view.apply(update(brokers=(3, 2)))
    assert view.controller_id == 2
