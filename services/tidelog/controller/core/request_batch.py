"""Requests to brokers, gathered while states change and sent together.

Each broker gets at most one LeaderAndIsr, one UpdateMetadata and one StopReplica a batch, in this order: it hears of its
new roles before clients are told of them, and of replicas to drop last. Only what was written to ZooKeeper is added.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from tidelog.controller.core.context import Context
from tidelog.controller.core.effects import Effect, Send, Tell
from tidelog.controller.core.requests import (
    EPOCH_DURING_DELETE,
    NO_EPOCH,
    BrokerRequest,
    LeaderAndIsr,
    LeaderAndIsrPartition,
    StopReplica,
    StopReplicaPartition,
)
from tidelog.controller.core.views import partition_view, topic_views
from tidelog.kafka.cluster import MetadataUpdate, ShardOwner
from tidelog.kafka.types import TopicPartition


class RequestBatch:
    """What is to be told when the next batch is sent. `base_update` names the members as they are known now."""

    def __init__(self, context: Context, base_update: Callable[[], MetadataUpdate]) -> None:
        self._context = context
        self._base_update = base_update
        self._leader_and_isr: dict[int, dict[TopicPartition, LeaderAndIsrPartition]] = {}
        self._stop_replica: dict[int, dict[TopicPartition, StopReplicaPartition]] = {}
        self._changed: set[TopicPartition] = set()
        self._shards: list[ShardOwner] = []
        self._tell = False

    def add_leader_and_isr(self, brokers: Iterable[int], partition: TopicPartition, *, is_new: bool) -> None:
        """These brokers get the partition's state as it is known now; everybody gets its metadata."""
        state, leadership = partition_view(self._context, partition), self._context.leaderships[partition]
        for broker in brokers:
            asked = self._leader_and_isr.setdefault(broker, {})
            new = is_new or (partition in asked and asked[partition].is_new)
            asked[partition] = LeaderAndIsrPartition(partition.topic, state, new, leadership.recovering)
        self.add_metadata((partition,))

    def add_stop_replica(self, broker: int, partition: TopicPartition, *, delete: bool) -> None:
        leadership = self._context.leaderships.get(partition)
        epoch = NO_EPOCH if leadership is None else leadership.leader_epoch
        if self._context.is_deleting(partition.topic):
            epoch = EPOCH_DURING_DELETE
        self._stop_replica.setdefault(broker, {})[partition] = StopReplicaPartition(partition, epoch, delete)

    def add_metadata(self, partitions: Iterable[TopicPartition] = ()) -> None:
        """Everybody is told of all members, and of these partitions."""
        self._changed.update(partitions)
        self._tell = True

    def add_shards(self, shards: Iterable[ShardOwner]) -> None:
        self._shards += shards
        self._tell = True

    def take(self) -> list[Effect]:
        """The requests of this batch, which is empty afterwards. Brokers that are gone get none."""
        effects = [*self._roles(), *self._metadata(), *self._stops()]
        self._leader_and_isr.clear()
        self._stop_replica.clear()
        self._changed.clear()
        self._shards.clear()
        self._tell = False
        return effects

    def _roles(self) -> Iterable[Effect]:
        for broker, asked in sorted(self._leader_and_isr.items()):
            topic_ids = {each.topic: self._context.topic_ids[each.topic] for each in asked.values()}
            leaders = sorted({each.state.leader for each in asked.values()} & self._context.brokers.keys())
            members = tuple(self._context.brokers[id] for id in leaders)
            yield from self._to(broker, LeaderAndIsr(tuple(asked.values()), tuple(topic_ids.items()), members))

    def _metadata(self) -> Iterable[Effect]:
        if self._tell:
            topics = topic_views(self._context, self._changed)
            yield Tell(replace(self._base_update(), topics=topics, topics_complete=False, shards=tuple(self._shards)))

    def _stops(self) -> Iterable[Effect]:
        for broker, asked in sorted(self._stop_replica.items()):
            yield from self._to(broker, StopReplica(tuple(asked.values())))

    def _to(self, broker: int, request: BrokerRequest) -> Iterable[Effect]:
        member = self._context.brokers.get(broker)
        if member is not None:
            yield Send(broker, member.epoch, request)
