"""Who answers for a group or a transactional id: the coordinator that owns its shard, if this broker leads the shard.

Clients are told that the leader of the shard's partition is the coordinator, and so only the leader passes their
requests on. Every broker knows all of this from what the controller tells it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.core.auto_created import topic_shape
from tidelog.kafka.coordination.keys import shard_of_key
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import GRPC_LISTENER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidelog.kafka.cluster import ClusterView, Member, PartitionView
    from tidelog.kafka.configs.broker import BrokerConfig
    from tidelog.kafka.types import Endpoint


class CoordinatorRouting:
    """Reads the view whenever it is asked; keeps nothing."""

    def __init__(self, config: BrokerConfig, view: ClusterView) -> None:
        self.broker_id = config.broker_id
        self.view = view
        self._config = config

    def shard(self, topic: str, key: bytes) -> int:
        """The partition of an internal topic that holds this key, also before the topic exists."""
        partitions = self._partitions(topic)
        return shard_of_key(key, len(partitions) if partitions else topic_shape(topic, self._config).partitions)

    def leader(self, topic: str, key: bytes) -> int | None:
        """The broker that leads the key's shard; None if there is none, or the topic does not exist."""
        partition = self._partitions(topic).get(self.shard(topic, key))
        return None if partition is None or partition.leader not in self.view.brokers else partition.leader

    def owner(self, topic: str, key: bytes) -> Member:
        """The coordinator that owns the key's shard, whoever leads it. COORDINATOR_NOT_AVAILABLE if there is none."""
        return self._owner_of(topic, self.shard(topic, key))

    def owner_behind(self, topic: str, key: bytes) -> Member:
        """The same for a client's request to this broker. NOT_COORDINATOR if another broker leads the shard."""
        shard = self.shard(topic, key)
        partition = self._partitions(topic).get(shard)
        if partition is None or partition.leader != self.broker_id:
            raise KafkaError(KafkaCode.NOT_COORDINATOR)
        return self._owner_of(topic, shard)

    def owners_behind(self, topic: str) -> list[Member]:
        """The owners of all shards that this broker leads. COORDINATOR_NOT_AVAILABLE if one has none."""
        led = (index for index, one in self._partitions(topic).items() if one.leader == self.broker_id)
        owners = {owner.id: owner for owner in (self._owner_of(topic, shard) for shard in led)}
        return list(owners.values())

    def partition_exists(self, topic: str, index: int) -> bool:
        known = self.view.topics.get(topic)
        return known is not None and index in known.partitions

    def _owner_of(self, topic: str, shard: int) -> Member:
        owned = self.view.shards.get((topic, shard))
        owner = None if owned is None else self.view.coordinators.get(owned.coordinator)
        if owner is None:
            raise KafkaError(KafkaCode.COORDINATOR_NOT_AVAILABLE)
        return owner

    def _partitions(self, topic: str) -> Mapping[int, PartitionView]:
        known = self.view.topics.get(topic)
        return {} if known is None else known.partitions


def kafka_endpoint(coordinator: Member) -> Endpoint | None:
    """Where a coordinator speaks the Kafka wire."""
    return next((one for one in coordinator.endpoints if one.listener != GRPC_LISTENER), None)
