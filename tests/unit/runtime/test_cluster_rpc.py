"""The cluster as values and as messages says the same thing."""

from uuid import UUID

import pytest

from tidelog.kafka.cluster import ClusterView, Member, MetadataUpdate, PartitionView, ShardOwner, TopicView
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import BrokerEpoch, ControllerEpoch, ControllerId, Endpoint, LeaderEpoch, PartitionEpoch
from tidelog.rpc import types_pb2
from tidelog.runtime.cluster_mirror import ClusterMirror
from tidelog.runtime.cluster_rpc import update_from_rpc, update_to_rpc, view_to_rpc
from tidelog.runtime.readiness import Readiness

PARTITION = PartitionView(
    index=3,
    leader=1,
    leader_epoch=LeaderEpoch(5),
    isr=(1, 2),
    replicas=(2, 1, 3),
    partition_epoch=PartitionEpoch(9),
    adding_replicas=(3,),
    removing_replicas=(2,),
    offline_replicas=(3,),
    controller_epoch=ControllerEpoch(4),
)
UPDATE = MetadataUpdate(
    controller_id=ControllerId(1),
    controller_epoch=ControllerEpoch(4),
    cluster_id="abc",
    brokers=(Member(1, BrokerEpoch(2**40), (Endpoint("PLAINTEXT", "h", 9092), Endpoint("GRPC", "::1", 1)), "r1"),),
    controllers=(Member(0, BrokerEpoch(7), ()),),
    coordinators=(Member(2, BrokerEpoch(8), ()),),
    topics=(TopicView("t", UUID(int=2**100), {3: PARTITION}), TopicView("u", UUID(int=1), {})),
    topics_complete=True,
    shards=(ShardOwner("__consumer_offsets", 4, 2, 6),),
)


def test_an_update_survives_the_way_there_and_back() -> None:
    assert (
        update_from_rpc(types_pb2.UpdateMetadataRequest.FromString(update_to_rpc(UPDATE, 5).SerializeToString()))
        == UPDATE
    )


def test_a_view_can_be_told_without_topics_or_with_some() -> None:
    view = ClusterView()
    view.apply(UPDATE)
    assert [topic.name for topic in view_to_rpc(view, without_topics=False).topics] == ["t"]
    assert not view_to_rpc(view, without_topics=True).topics
    assert not view_to_rpc(view, without_topics=False, topics=["other"]).topics


def test_a_mirror_is_ready_once_it_was_told_and_refuses_what_is_outdated() -> None:
    readiness = Readiness()
    mirror = ClusterMirror(readiness, lambda: 50)
    with pytest.raises(KafkaError) as unknown:
        mirror.describe(types_pb2.DescribeClusterRequest())
    assert unknown.value.code is KafkaCode.LEADER_NOT_AVAILABLE
    changed = mirror.next_change
    mirror.take(update_to_rpc(UPDATE, 50))
    assert readiness.ready
    assert changed.is_set()
    assert not mirror.next_change.is_set()
    with pytest.raises(KafkaError) as stale:
        mirror.take(update_to_rpc(UPDATE, 49))
    assert stale.value.code is KafkaCode.STALE_BROKER_EPOCH
