"""The controller's memory as it is told to others."""

from collections.abc import Iterable

from tidelog.controller.core.context import Context
from tidelog.kafka.cluster import LEADER_DURING_DELETE, PartitionView, TopicView
from tidelog.kafka.types import ControllerEpoch, LeaderEpoch, PartitionEpoch, TopicPartition


def partition_view(context: Context, partition: TopicPartition) -> PartitionView:
    """A partition that has a state, as its leader and followers are told."""
    leadership, assignment = context.leaderships[partition], context.assignment(partition)
    assert assignment is not None, f"{partition} has a state but no assignment"
    return PartitionView(
        index=partition.partition,
        leader=leadership.leader,
        leader_epoch=LeaderEpoch(leadership.leader_epoch),
        isr=leadership.isr,
        replicas=assignment.replicas,
        partition_epoch=PartitionEpoch(leadership.partition_epoch),
        adding_replicas=assignment.adding,
        removing_replicas=assignment.removing,
        offline_replicas=tuple(id for id in assignment.replicas if not context.is_live(id, partition)),
        controller_epoch=ControllerEpoch(leadership.controller_epoch),
    )


def topic_views(context: Context, partitions: Iterable[TopicPartition]) -> tuple[TopicView, ...]:
    """What UpdateMetadata says of these partitions; those without a state are not told of."""
    told: dict[str, dict[int, PartitionView]] = {}
    for partition in sorted(partitions):
        if partition in context.leaderships and context.assignment(partition) is not None:
            told.setdefault(partition.topic, {})[partition.partition] = _metadata_view(context, partition)
    return tuple(
        TopicView(topic, topic_id, told[topic]) for topic, topic_id in context.topic_ids.items() if topic in told
    )


def _metadata_view(context: Context, partition: TopicPartition) -> PartitionView:
    if not context.is_deleting(partition.topic):
        return partition_view(context, partition)
    isr = context.leaderships[partition].isr
    return PartitionView(partition.partition, LEADER_DURING_DELETE, LeaderEpoch(0), isr, context.replicas(partition))
