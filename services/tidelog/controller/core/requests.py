"""What the controller asks of brokers about their replicas, as values."""

from dataclasses import dataclass

from tidelog.kafka.cluster import Member, PartitionView
from tidelog.kafka.types import PartitionIndex, TopicId, TopicName, TopicPartition

EPOCH_DURING_DELETE = -2  # StopReplica's leader epoch when the whole topic goes
NO_EPOCH = -1  # StopReplica's leader epoch when the partition has no state


@dataclass(frozen=True, slots=True)
class LeaderAndIsrPartition:
    """One partition that the receiver leads or follows from now on."""

    topic: TopicName
    state: PartitionView
    is_new: bool
    recovering: bool = False

    @property
    def partition(self) -> TopicPartition:
        return TopicPartition(self.topic, PartitionIndex(self.state.index))


@dataclass(frozen=True, slots=True)
class LeaderAndIsr:
    """To one broker; `live_leaders` are the brokers behind the leaders named, so that it knows where to fetch."""

    partitions: tuple[LeaderAndIsrPartition, ...]
    topic_ids: tuple[tuple[TopicName, TopicId], ...]
    live_leaders: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class StopReplicaPartition:
    """Stop serving this partition; delete its data too if so said."""

    partition: TopicPartition
    leader_epoch: int
    delete: bool


@dataclass(frozen=True, slots=True)
class StopReplica:
    """To one broker."""

    partitions: tuple[StopReplicaPartition, ...]


BrokerRequest = LeaderAndIsr | StopReplica
