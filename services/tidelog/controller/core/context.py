"""The controller's memory of the cluster. ZooKeeper is the truth; this is what was read from it and written to it.

All of it is thrown away with the controller's epoch. "Live" leaves out brokers that are shutting down and, for one
partition, brokers whose log directory with that partition failed.
"""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from tidelog.controller.core.assignment import Assignment
from tidelog.controller.core.leadership import Leadership
from tidelog.controller.core.states import PartitionStatus, ReplicaStatus
from tidelog.kafka.cluster import Member, ShardOwner
from tidelog.kafka.types import PartitionIndex, TopicId, TopicName, TopicPartition

Replica = tuple[TopicPartition, int]


@dataclass(slots=True)
class Context:
    """Plain data with the questions that several handlers ask of it."""

    brokers: dict[int, Member] = field(default_factory=dict)
    shutting_down: set[int] = field(default_factory=set)
    offline_dirs: dict[int, set[TopicPartition]] = field(default_factory=dict)
    coordinators: dict[int, Member] = field(default_factory=dict)
    topic_ids: dict[TopicName, TopicId] = field(default_factory=dict)
    assignments: dict[TopicName, dict[PartitionIndex, Assignment]] = field(default_factory=dict)
    leaderships: dict[TopicPartition, Leadership] = field(default_factory=dict)
    partition_status: dict[TopicPartition, PartitionStatus] = field(default_factory=dict)
    replica_status: dict[Replica, ReplicaStatus] = field(default_factory=dict)
    topics_to_delete: set[TopicName] = field(default_factory=set)
    topics_ineligible: set[TopicName] = field(default_factory=set)
    deletions_started: set[TopicName] = field(default_factory=set)
    reassigning: set[TopicPartition] = field(default_factory=set)
    shards: dict[TopicPartition, ShardOwner] = field(default_factory=dict)

    # Brokers

    def is_live(self, broker: int, partition: TopicPartition, *, or_shutting_down: bool = False) -> bool:
        """Whether this broker can serve a replica of this partition."""
        registered = broker in self.brokers and (or_shutting_down or broker not in self.shutting_down)
        return registered and partition not in self.offline_dirs.get(broker, ())

    # Topics and their partitions

    @property
    def topics(self) -> AbstractSet[TopicName]:
        return self.assignments.keys()

    def assignment(self, partition: TopicPartition) -> Assignment | None:
        return self.assignments.get(partition.topic, {}).get(partition.partition)

    def replicas(self, partition: TopicPartition) -> tuple[int, ...]:
        assignment = self.assignment(partition)
        return assignment.replicas if assignment else ()

    def assign(self, partition: TopicPartition, assignment: Assignment) -> None:
        self.assignments.setdefault(partition.topic, {})[partition.partition] = assignment

    def partitions_of(self, topic: TopicName) -> list[TopicPartition]:
        return [TopicPartition(topic, index) for index in sorted(self.assignments.get(topic, {}))]

    def partitions(self) -> Iterator[TopicPartition]:
        for topic in sorted(self.assignments):
            yield from self.partitions_of(topic)

    def partitions_on(self, broker: int) -> list[TopicPartition]:
        return [partition for partition in self.partitions() if broker in self.replicas(partition)]

    def partitions_with_leaders(self) -> list[TopicPartition]:
        """Those that brokers are told of: with a state, and not on their way out."""
        return [p for p in self.partitions() if p in self.leaderships and not self.is_deleting(p.topic)]

    def partitions_with_dead_leaders(self) -> list[TopicPartition]:
        return [p for p in self.partitions_with_leaders() if not self.is_live(self.leaderships[p].leader, p)]

    def partitions_without_leaders(self) -> list[TopicPartition]:
        """Those that an election may help: new or offline, and not on their way out."""
        waiting = (PartitionStatus.NEW, PartitionStatus.OFFLINE)
        return [p for p in self.partitions() if self.status_of(p) in waiting and not self.is_deleting(p.topic)]

    def forget_topic(self, topic: TopicName) -> None:
        for partition in self.partitions_of(topic):
            for broker in self.replicas(partition):
                self.replica_status.pop((partition, broker), None)
            self.partition_status.pop(partition, None)
            self.leaderships.pop(partition, None)
            self.reassigning.discard(partition)
            for offline in self.offline_dirs.values():
                offline.discard(partition)
        self.assignments.pop(topic, None)
        self.topic_ids.pop(topic, None)
        for topics in (self.topics_to_delete, self.topics_ineligible, self.deletions_started):
            topics.discard(topic)

    # States

    def status_of(self, partition: TopicPartition) -> PartitionStatus:
        return self.partition_status.get(partition, PartitionStatus.NON_EXISTENT)

    def replica_status_of(self, partition: TopicPartition, broker: int) -> ReplicaStatus:
        return self.replica_status.get((partition, broker), ReplicaStatus.NON_EXISTENT)

    def replicas_of(self, partitions: Iterable[TopicPartition]) -> list[Replica]:
        return [(partition, broker) for partition in partitions for broker in self.replicas(partition)]

    def replicas_on(self, broker: int) -> list[Replica]:
        return [(partition, broker) for partition in self.partitions_on(broker)]

    def replica_statuses(self, topic: TopicName) -> Mapping[Replica, ReplicaStatus]:
        replicas = self.replicas_of(self.partitions_of(topic))
        return {replica: self.replica_status_of(*replica) for replica in replicas}

    # Deletion

    def is_deleting(self, topic: TopicName) -> bool:
        return topic in self.topics_to_delete

    def is_being_reassigned(self, topic: TopicName) -> bool:
        return any(partition.topic == topic for partition in self.reassigning)
