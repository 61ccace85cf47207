"""The cluster as one process knows it: what the active controller told it last.

Brokers, group-coordinators and metadata processes each keep one `ClusterView` and change it only by `apply`. Two epochs
keep it true. The *controller epoch* of an update must not be older than the newest seen, so a deposed controller that
wakes up cannot turn back time. The *recipient epoch* must not be older than the receiver's own registration, so an
update meant for the incarnation before a restart is refused. Members are always told whole; topics are merged, unless
an update says that it tells them all.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import BrokerEpoch, ControllerEpoch, ControllerId, Endpoint, LeaderEpoch, PartitionEpoch

NO_LEADER = -1
LEADER_DURING_DELETE = -2  # Kafka's sentinel: the receiver forgets the partition
CONSUMER_OFFSETS, TRANSACTION_STATE = "__consumer_offsets", "__transaction_state"
INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE})


class Role(StrEnum):
    """The kinds of process; the names are those of folders, images, charts and commands."""

    BROKER = "broker"
    CONTROLLER = "controller"
    GROUP_COORDINATOR = "group-coordinator"
    METADATA = "metadata"


@dataclass(frozen=True, slots=True)
class Member:
    """A registered process. Its epoch, the registration's czxid, tells one incarnation from the next."""

    id: int
    epoch: BrokerEpoch
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None

    def endpoint(self, listener: str) -> Endpoint | None:
        return next((endpoint for endpoint in self.endpoints if endpoint.listener == listener), None)


@dataclass(frozen=True, slots=True)
class PartitionView:
    """One partition as its state znode and the controller tell it."""

    index: int
    leader: int
    leader_epoch: LeaderEpoch
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    partition_epoch: PartitionEpoch = PartitionEpoch(0)
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    offline_replicas: tuple[int, ...] = ()
    controller_epoch: ControllerEpoch = ControllerEpoch(0)


@dataclass(frozen=True, slots=True)
class TopicView:
    name: str
    topic_id: UUID
    partitions: Mapping[int, PartitionView]

    @property
    def internal(self) -> bool:
        return self.name in INTERNAL_TOPICS


@dataclass(frozen=True, slots=True)
class ShardOwner:
    """The coordinator of one partition of an internal topic."""

    topic: str
    partition: int
    coordinator: int
    epoch: int
    # The registration of the coordinator that was given the shard; only controllers know it, others go by the epoch.
    coordinator_epoch: int = field(default=-1, compare=False)


@dataclass(frozen=True, slots=True)
class MetadataUpdate:
    """What the active controller tells: all members, and the topics and shards that changed."""

    controller_id: ControllerId
    controller_epoch: ControllerEpoch
    cluster_id: str
    brokers: tuple[Member, ...] = ()
    controllers: tuple[Member, ...] = ()
    coordinators: tuple[Member, ...] = ()
    topics: tuple[TopicView, ...] = ()
    topics_complete: bool = False
    shards: tuple[ShardOwner, ...] = ()


@dataclass(slots=True)
class ClusterView:
    """What this process knows of the cluster; `apply` is its only writer."""

    cluster_id: str = ""
    active_controller_id: ControllerId = ControllerId(-1)
    controller_epoch: ControllerEpoch = ControllerEpoch(0)
    brokers: dict[int, Member] = field(default_factory=dict)
    controllers: dict[int, Member] = field(default_factory=dict)
    coordinators: dict[int, Member] = field(default_factory=dict)
    topics: dict[str, TopicView] = field(default_factory=dict)
    topic_names: dict[UUID, str] = field(default_factory=dict)
    shards: dict[tuple[str, int], ShardOwner] = field(default_factory=dict)
    # Whether all topics were told once; before that one that is missing here may well exist.
    knows_topics: bool = False

    @property
    def controller_id(self) -> int:
        """The controller that Kafka clients are told: the lowest live broker; any broker passes admin requests on."""
        return min(self.brokers, default=-1)

    @property
    def active_controller(self) -> Member | None:
        return self.controllers.get(self.active_controller_id)

    def check_epochs(self, controller_epoch: int, recipient_epoch: int, own_epoch: int) -> None:
        """Refuses what a deposed controller says, and what was meant for an earlier incarnation of this process."""
        if controller_epoch < self.controller_epoch:
            raise KafkaError(
                KafkaCode.STALE_CONTROLLER_EPOCH,
                f"controller epoch {controller_epoch} is older than {self.controller_epoch}, the newest seen here",
            )
        if recipient_epoch not in (-1, own_epoch) and recipient_epoch < own_epoch:
            raise KafkaError(
                KafkaCode.STALE_BROKER_EPOCH,
                f"meant for registration {recipient_epoch}, but this process holds registration {own_epoch}",
            )

    def apply(self, update: MetadataUpdate) -> None:
        """Takes over an update whose epochs were checked."""
        assert update.controller_epoch >= self.controller_epoch, "check_epochs was not called"
        self.controller_epoch = update.controller_epoch
        self.active_controller_id = update.controller_id
        self.cluster_id = update.cluster_id or self.cluster_id
        self.brokers = {member.id: member for member in update.brokers}
        self.controllers = {member.id: member for member in update.controllers}
        self.coordinators = {member.id: member for member in update.coordinators}
        if update.topics_complete:
            self.knows_topics = True
            self.topics.clear()
            self.topic_names.clear()
        for topic in update.topics:
            self._merge_topic(topic)
        self.shards.update(((shard.topic, shard.partition), shard) for shard in update.shards)

    def _merge_topic(self, told: TopicView) -> None:
        known = self.topics.get(told.name)
        # A topic deleted and created again has a new id: nothing of the old one may shine through.
        kept = known.partitions if known and known.topic_id == told.topic_id else {}
        if known and known.topic_id != told.topic_id:
            self.topic_names.pop(known.topic_id, None)
        partitions = _without_deleted({**kept, **told.partitions}.values())
        if partitions:
            self.topics[told.name] = TopicView(told.name, told.topic_id, partitions)
            self.topic_names[told.topic_id] = told.name
        else:
            self.topics.pop(told.name, None)
            self.topic_names.pop(told.topic_id, None)


def _without_deleted(partitions: Iterable[PartitionView]) -> dict[int, PartitionView]:
    return {p.index: p for p in partitions if p.leader != LEADER_DURING_DELETE}
