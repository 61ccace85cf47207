"""What a client knows of the cluster: brokers, and who leads each partition."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from uuid import UUID

from tidelog.client.records import TopicPartition
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.metadata import MetadataResponse, MetadataResponseTopic

NO_LEADER = -1


@dataclass(frozen=True, slots=True)
class Node:
    """One broker."""

    id: int
    host: str
    port: int
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    """One partition: who leads it and who has copies."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline_replicas: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """One topic; an error other than NONE says why there is nothing else."""

    name: str
    topic_id: UUID
    is_internal: bool
    partitions: Mapping[int, PartitionInfo]
    error: KafkaCode = KafkaCode.NONE


@dataclass(frozen=True, slots=True)
class PushOutcome:
    """Whether the view has changed, and whether a broker has to be asked for the rest."""

    has_news: bool
    is_incomplete: bool


@dataclass(slots=True)
class ClusterView:
    """The newest answers of brokers put together. Answers about some topics leave the others as they are."""

    nodes: Mapping[int, Node] = field(default_factory=dict)
    topics: dict[str, TopicInfo] = field(default_factory=dict)
    controller_id: int = NO_LEADER
    cluster_id: str | None = None
    # Grows with each answer that was taken in.
    version: int = 0

    def take_in(self, response: MetadataResponse, *, all_topics: bool) -> None:
        """Learn from a Metadata answer; one about all topics also tells which are gone."""
        self.nodes = MappingProxyType(
            {each.node_id: Node(each.node_id, each.host, each.port, each.rack) for each in response.brokers}
        )
        self.controller_id = response.controller_id
        self.cluster_id = response.cluster_id
        told = {topic.name: self._topic(topic) for topic in response.topics if topic.name is not None}
        if all_topics:
            self.topics = told
        else:
            self.topics.update(told)
        self.version += 1

    def leader(self, topic: str, partition: int) -> int:
        """The broker that leads a partition, or NO_LEADER."""
        info = self.partition(topic, partition)
        return NO_LEADER if info is None else info.leader

    def partition(self, topic: str, partition: int) -> PartitionInfo | None:
        known = self.topics.get(topic)
        return None if known is None else known.partitions.get(partition)

    def partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        """Every known partition of these topics."""
        found = (self.topics[name] for name in topics if name in self.topics)
        return [TopicPartition(topic.name, each) for topic in found for each in sorted(topic.partitions)]

    def racks(self, topics: Iterable[str]) -> dict[TopicPartition, frozenset[str]]:
        """The racks in which the partitions of these topics have replicas."""
        rack_of = {node.id: node.rack for node in self.nodes.values() if node.rack}
        return {
            TopicPartition(name, number): frozenset(rack_of[each] for each in info.replicas if each in rack_of)
            for name in topics
            if name in self.topics
            for number, info in self.topics[name].partitions.items()
        }

    def learn_leader(self, topic: str, partition: int, leader: int, leader_epoch: int) -> bool:
        """Take a hint that came with a refusal; False if it is not newer than what is known."""
        info = self.partition(topic, partition)
        if info is None or leader not in self.nodes or leader_epoch <= info.leader_epoch:
            return False
        changed = PartitionInfo(topic, partition, leader, leader_epoch, info.replicas, info.isr, info.offline_replicas)
        known = self.topics[topic]
        partitions = {**known.partitions, partition: changed}
        self.topics[topic] = TopicInfo(topic, known.topic_id, known.is_internal, partitions, known.error)
        self.version += 1
        return True

    def take_push(self, pushed: Iterable[TopicInfo]) -> PushOutcome:
        """Learn what a metadata process says of topics that are known. It cannot tell everything, such as where brokers
        listen for this client: what goes beyond changed partitions is left to a broker's answer.
        """
        has_news = is_incomplete = False
        for topic in pushed:
            known = self.topics.get(topic.name)
            if (
                known is None
                or known.topic_id != topic.topic_id
                or not topic.partitions.keys() <= known.partitions.keys()
            ):
                is_incomplete = True
                continue
            newer = {
                number: info for number, info in topic.partitions.items() if _is_news(info, known.partitions[number])
            }
            unknown = {number for number, info in newer.items() if info.leader not in self.nodes and info.leader >= 0}
            is_incomplete = is_incomplete or bool(unknown)
            if newer.keys() - unknown:
                taken = {number: info for number, info in newer.items() if number not in unknown}
                self.topics[topic.name] = replace(known, partitions={**known.partitions, **taken})
                has_news = True
        self.version += has_news
        return PushOutcome(has_news, is_incomplete)

    def _topic(self, told: MetadataResponseTopic) -> TopicInfo:
        name = told.name or ""
        before = self.topics.get(name)
        partitions = {}
        for each in told.partitions:
            info = PartitionInfo(
                name,
                each.partition_index,
                each.leader_id,
                each.leader_epoch,
                tuple(each.replica_nodes),
                tuple(each.isr_nodes),
                tuple(each.offline_replicas),
            )
            known = before.partitions.get(each.partition_index) if before and before.topic_id == told.topic_id else None
            # A broker that has not heard of an election yet may answer after one that has.
            is_older = known is not None and 0 <= info.leader_epoch < known.leader_epoch
            partitions[each.partition_index] = known if is_older and known is not None else info
        return TopicInfo(name, told.topic_id, told.is_internal, partitions, KafkaCode(told.error_code))


def _is_news(info: PartitionInfo, known: PartitionInfo) -> bool:
    return info.leader_epoch > known.leader_epoch or (info.leader_epoch == known.leader_epoch and info != known)
