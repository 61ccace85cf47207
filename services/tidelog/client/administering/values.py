"""What goes in and out of the admin client."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from tidelog.client.core.cluster import Node
from tidelog.client.records import TopicPartition
from tidelog.kafka.configs.setting import ConfigSource


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create. -1 leaves a number to the brokers; `replicas` places the partitions instead of both numbers."""

    name: str
    partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str] = field(default_factory=dict)
    replicas: Mapping[int, list[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    cluster_id: str | None
    controller_id: int
    brokers: tuple[Node, ...]


class ResourceType(IntEnum):
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8


@dataclass(frozen=True, slots=True)
class ConfigResource:
    """Whose settings are meant. The brokers' common ones belong to the broker with an empty name."""

    type: ResourceType
    name: str

    @classmethod
    def topic(cls, name: str) -> "ConfigResource":
        return cls(ResourceType.TOPIC, name)

    @classmethod
    def broker(cls, broker_id: int | None) -> "ConfigResource":
        return cls(ResourceType.BROKER, "" if broker_id is None else str(broker_id))


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One setting as it is in force, and where its value comes from; a secret has none."""

    name: str
    value: str | None
    source: ConfigSource
    is_read_only: bool
    is_sensitive: bool


@dataclass(frozen=True, slots=True)
class GroupListing:
    group_id: str
    protocol_type: str
    state: str


@dataclass(frozen=True, slots=True)
class MemberDescription:
    member_id: str
    group_instance_id: str | None
    client_id: str
    host: str
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class GroupDescription:
    group_id: str
    state: str
    protocol_type: str
    assignor: str
    members: tuple[MemberDescription, ...]


@dataclass(frozen=True, slots=True)
class Reassignment:
    """A partition whose replicas are on the move."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class ElectionType(IntEnum):
    PREFERRED = 0
    UNCLEAN = 1


@dataclass(frozen=True, slots=True)
class ReplicaInLogDir:
    size_bytes: int
    offset_lag: int
    is_future: bool


@dataclass(frozen=True, slots=True)
class LogDir:
    path: str
    replicas: Mapping[TopicPartition, ReplicaInLogDir]
    total_bytes: int = -1
    usable_bytes: int = -1


@dataclass(frozen=True, slots=True)
class TransactionListing:
    transactional_id: str
    producer_id: int
    state: str


@dataclass(frozen=True, slots=True)
class TransactionDescription:
    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_time_ms: int
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class ActiveProducer:
    """A producer as one partition knows it; an open transaction began at `transaction_start_offset`, else it is -1."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    transaction_start_offset: int


# The kind of an entity ("user", "client-id", "ip") and its name; None is the default of the kind.
QuotaEntity = Mapping[str, str | None]
