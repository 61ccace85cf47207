"""Where the marker of a partition goes.

To the partition's leader; but a partition of __consumer_offsets is written by its shard's owner alone, so its markers go
there, and the owner learns at the same time that pending offsets are committed or dropped.
"""

from dataclasses import dataclass

from tidelog.kafka.cluster import CONSUMER_OFFSETS, TRANSACTION_STATE, ClusterView, PartitionView, Role
from tidelog.kafka.types import TopicPartition


@dataclass(frozen=True, slots=True, order=True)
class Destination:
    """A broker, or the group coordinator that owns a shard."""

    role: Role
    id: int


def is_deleted(partition: TopicPartition, view: ClusterView) -> bool:
    """Whether nobody needs a marker there any more.

    A coordinator of transactions that does not even know the topic of transactions has not been told of the cluster
    yet, and must not conclude anything from what it does not know.
    """
    return TRANSACTION_STATE in view.topics and _known(partition, view) is None


def destination_of(partition: TopicPartition, view: ClusterView) -> Destination | None:
    """None while nobody can take the marker."""
    if partition.topic == CONSUMER_OFFSETS:
        return _shard_owner(partition, view)
    known = _known(partition, view)
    return Destination(Role.BROKER, known.leader) if known and known.leader in view.brokers else None


def _shard_owner(partition: TopicPartition, view: ClusterView) -> Destination | None:
    owner = view.shards.get((partition.topic, partition.partition))
    is_live = owner is not None and owner.coordinator in view.coordinators
    return Destination(Role.GROUP_COORDINATOR, owner.coordinator) if owner and is_live else None


def _known(partition: TopicPartition, view: ClusterView) -> PartitionView | None:
    topic = view.topics.get(partition.topic)
    return topic.partitions.get(partition.partition) if topic else None
