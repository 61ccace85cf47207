"""Between the cluster as values (`kafka.cluster`) and as protobuf messages (`rpc`)."""

from collections.abc import Iterable
from uuid import UUID

from tidelog.kafka.cluster import ClusterView, Member, MetadataUpdate, PartitionView, ShardOwner, TopicView
from tidelog.kafka.types import (
    BrokerEpoch,
    ControllerEpoch,
    ControllerId,
    Endpoint,
    LeaderEpoch,
    PartitionEpoch,
)
from tidelog.rpc import types_pb2


def update_to_rpc(update: MetadataUpdate, recipient_epoch: int, sequence: int = 0) -> types_pb2.UpdateMetadataRequest:
    return types_pb2.UpdateMetadataRequest(
        controller_id=update.controller_id,
        controller_epoch=update.controller_epoch,
        recipient_epoch=recipient_epoch,
        cluster_id=update.cluster_id,
        brokers=members_to_rpc(update.brokers),
        controllers=members_to_rpc(update.controllers),
        coordinators=members_to_rpc(update.coordinators),
        topics=[_topic_to_rpc(topic) for topic in update.topics],
        topics_complete=update.topics_complete,
        shards=[_shard_to_rpc(shard) for shard in update.shards],
        sequence=sequence,
    )


def update_from_rpc(message: types_pb2.UpdateMetadataRequest) -> MetadataUpdate:
    return MetadataUpdate(
        controller_id=ControllerId(message.controller_id),
        controller_epoch=ControllerEpoch(message.controller_epoch),
        cluster_id=message.cluster_id,
        brokers=members_from_rpc(message.brokers),
        controllers=members_from_rpc(message.controllers),
        coordinators=members_from_rpc(message.coordinators),
        topics=tuple(_topic_from_rpc(topic) for topic in message.topics),
        topics_complete=message.topics_complete,
        shards=tuple(ShardOwner(s.topic, s.partition, s.coordinator, s.epoch) for s in message.shards),
    )


def view_to_rpc(view: ClusterView, *, without_topics: bool, topics: Iterable[str] = ()) -> types_pb2.ClusterMetadata:
    """The whole view as one message; `topics` leaves out all others."""
    wanted = set(topics) or view.topics.keys()
    return types_pb2.ClusterMetadata(
        cluster_id=view.cluster_id,
        controller_id=view.active_controller_id,
        controller_epoch=view.controller_epoch,
        brokers=members_to_rpc(view.brokers.values()),
        controllers=members_to_rpc(view.controllers.values()),
        coordinators=members_to_rpc(view.coordinators.values()),
        topics=[] if without_topics else [_topic_to_rpc(t) for t in view.topics.values() if t.name in wanted],
        shards=[_shard_to_rpc(shard) for shard in view.shards.values()],
    )


def members_to_rpc(members: Iterable[Member]) -> list[types_pb2.Member]:
    return [
        types_pb2.Member(
            id=member.id,
            epoch=member.epoch,
            endpoints=[types_pb2.Endpoint(listener=e.listener, host=e.host, port=e.port) for e in member.endpoints],
            rack=member.rack or "",
        )
        for member in sorted(members, key=lambda member: member.id)
    ]


def members_from_rpc(members: Iterable[types_pb2.Member]) -> tuple[Member, ...]:
    return tuple(
        Member(
            member.id,
            BrokerEpoch(member.epoch),
            tuple(Endpoint(e.listener, e.host, e.port) for e in member.endpoints),
            member.rack or None,
        )
        for member in members
    )


def _topic_to_rpc(topic: TopicView) -> types_pb2.TopicState:
    return types_pb2.TopicState(
        name=topic.name,
        topic_id=topic.topic_id.bytes,
        partitions=[partition_to_rpc(partition) for partition in topic.partitions.values()],
    )


def partition_to_rpc(partition: PartitionView) -> types_pb2.PartitionState:
    return types_pb2.PartitionState(
        partition=partition.index,
        leader=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=partition.isr,
        partition_epoch=partition.partition_epoch,
        replicas=partition.replicas,
        adding_replicas=partition.adding_replicas,
        removing_replicas=partition.removing_replicas,
        offline_replicas=partition.offline_replicas,
        controller_epoch=partition.controller_epoch,
    )


def _topic_from_rpc(topic: types_pb2.TopicState) -> TopicView:
    partitions = (partition_from_rpc(partition) for partition in topic.partitions)
    return TopicView(topic.name, UUID(bytes=topic.topic_id), {partition.index: partition for partition in partitions})


def partition_from_rpc(state: types_pb2.PartitionState) -> PartitionView:
    return PartitionView(
        index=state.partition,
        leader=state.leader,
        leader_epoch=LeaderEpoch(state.leader_epoch),
        isr=tuple(state.isr),
        replicas=tuple(state.replicas),
        partition_epoch=PartitionEpoch(state.partition_epoch),
        adding_replicas=tuple(state.adding_replicas),
        removing_replicas=tuple(state.removing_replicas),
        offline_replicas=tuple(state.offline_replicas),
        controller_epoch=ControllerEpoch(state.controller_epoch),
    )


def _shard_to_rpc(shard: ShardOwner) -> types_pb2.ShardOwner:
    return types_pb2.ShardOwner(
        topic=shard.topic, partition=shard.partition, coordinator=shard.coordinator, epoch=shard.epoch
    )
