"""What can happen to a controller process; the shell hands these to the core one at a time."""

from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.controller.core.requests import StopReplica
from tidelog.controller.core.topic_checks import MorePartitions, NewTopic
from tidelog.controller.core.zk_requests import ZkAnswer
from tidelog.kafka.cluster import Member, Role
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.types import TopicId, TopicPartition


@dataclass(frozen=True, slots=True)
class Registered:
    """This process holds its registration: others can find it, so it may stand for election."""


@dataclass(frozen=True, slots=True)
class RegistrationLost:
    """The ZooKeeper session ended or the registration was removed: whatever this process was, it is no longer."""

    why: str


@dataclass(frozen=True, slots=True)
class ControllerSeen:
    """/controller was read, the epoch's znode version *before* it, so acting on an outdated pair fails the check."""

    active_id: int | None
    epoch_zk_version: int


@dataclass(frozen=True, slots=True)
class Elected:
    controller_epoch: int
    epoch_zk_version: int


@dataclass(frozen=True, slots=True)
class NotElected:
    """Somebody else won, or the outcome is unknown. The watch on /controller tells what came of it."""


@dataclass(frozen=True, slots=True)
class MembersChanged:
    """All registered processes of one role, as read from ZooKeeper."""

    role: Role
    members: Mapping[int, Member]


@dataclass(frozen=True, slots=True)
class PresenceLost:
    """The process that held this registration is dead: its port refuses, or another incarnation answers there."""

    role: Role
    id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class ControllerMoved:
    """A write or a request of ours was refused because its controller epoch is outdated."""

    controller_epoch: int


@dataclass(frozen=True, slots=True)
class ZkAnswered:
    """The answer to the `Zk` effect of this tag."""

    tag: int
    answer: ZkAnswer


@dataclass(frozen=True, slots=True)
class ZnodeChanged:
    """A node that the core asked to watch has changed, or may have."""

    path: str


@dataclass(frozen=True, slots=True)
class LeaderAndIsrAnswered:
    """A broker answered a LeaderAndIsr; `code` refuses the whole request, else there is one for each partition."""

    broker: int
    broker_epoch: int
    code: KafkaCode
    partitions: Mapping[TopicPartition, KafkaCode]


@dataclass(frozen=True, slots=True)
class StopReplicaAnswered:
    """A broker answered this StopReplica; partitions without a code failed."""

    broker: int
    broker_epoch: int
    request: StopReplica
    code: KafkaCode
    partitions: Mapping[TopicPartition, KafkaCode]


@dataclass(frozen=True, slots=True)
class Ticked:
    """Time passes: some answers may have waited for long enough."""

    now_ms: int


@dataclass(frozen=True, slots=True)
class RebalanceDue:
    """It is time to look for leaders that are not preferred."""


@dataclass(frozen=True, slots=True)
class ElectionsDue:
    """It is time to look for partitions without leaders: unclean elections may have been allowed since."""


@dataclass(frozen=True, slots=True)
class CreateTopicsRequested:
    request: int
    topics: tuple[NewTopic, ...]
    deadline_ms: int
    validate_only: bool = False


@dataclass(frozen=True, slots=True)
class CreatePartitionsRequested:
    request: int
    topics: tuple[MorePartitions, ...]
    deadline_ms: int
    validate_only: bool = False


@dataclass(frozen=True, slots=True)
class DeleteTopicsRequested:
    """Topics by name or by id."""

    request: int
    topics: tuple[str | TopicId, ...]
    deadline_ms: int


@dataclass(frozen=True, slots=True)
class ElectLeadersRequested:
    """Preferred leaders, or with `unclean` any leader for partitions without one; None means all partitions."""

    request: int
    partitions: tuple[TopicPartition, ...] | None
    unclean: bool = False


@dataclass(frozen=True, slots=True)
class ReassignmentsRequested:
    """The replicas wanted for each partition; None cancels."""

    request: int
    targets: Mapping[TopicPartition, tuple[int, ...] | None]


@dataclass(frozen=True, slots=True)
class ReassignmentsListRequested:
    """None means all partitions."""

    request: int
    partitions: tuple[TopicPartition, ...] | None = None


@dataclass(frozen=True, slots=True)
class ControlledShutdownRequested:
    request: int
    broker: int
    broker_epoch: int


@dataclass(frozen=True, slots=True)
class ProducerIdsRequested:
    """By this incarnation of a broker or coordinator."""

    request: int
    role: Role
    id: int
    epoch: int


AdminRequest = (
    CreateTopicsRequested
    | CreatePartitionsRequested
    | DeleteTopicsRequested
    | ElectLeadersRequested
    | ReassignmentsRequested
    | ReassignmentsListRequested
    | ControlledShutdownRequested
    | ProducerIdsRequested
)

# What happens to the cluster while this process is its active controller.
ClusterEvent = (
    ZkAnswered
    | ZnodeChanged
    | LeaderAndIsrAnswered
    | StopReplicaAnswered
    | Ticked
    | RebalanceDue
    | ElectionsDue
    | AdminRequest
)

Event = (
    Registered
    | RegistrationLost
    | ControllerSeen
    | Elected
    | NotElected
    | MembersChanged
    | PresenceLost
    | ControllerMoved
    | ClusterEvent
)
