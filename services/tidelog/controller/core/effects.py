"""What the core wants done; the shell executes effects in the order given."""

from dataclasses import dataclass
from enum import StrEnum

from tidelog.controller.core.answers import Answer
from tidelog.controller.core.requests import BrokerRequest
from tidelog.controller.core.zk_requests import ZkRequest
from tidelog.kafka.cluster import Member, MetadataUpdate, Role


@dataclass(frozen=True, slots=True)
class Elect:
    """Try to become the active controller, in place of a dead one if its epoch's znode version is given."""

    replace_epoch_zk_version: int | None = None


@dataclass(frozen=True, slots=True)
class Attend:
    """Hold a presence stream to this process, to learn of its death; replaces an older stream to the same id."""

    role: Role
    member: Member


@dataclass(frozen=True, slots=True)
class Unattend:
    role: Role
    id: int


@dataclass(frozen=True, slots=True)
class OpenSender:
    """From now on this process is told what happens, in order, each request retried until answered."""

    role: Role
    member: Member


@dataclass(frozen=True, slots=True)
class DismissSender:
    """This process is not registered any more. It may well live, and serve: tell it on, until a call to it fails."""

    role: Role
    id: int


@dataclass(frozen=True, slots=True)
class Tell:
    """Send this update to every open sender and every observer."""

    update: MetadataUpdate


@dataclass(frozen=True, slots=True)
class Fence:
    """Delete this registration, if it is still this one, in a transaction that checks our controller epoch."""

    role: Role
    id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class StartActing:
    """This process is the active controller: writes carry this epoch's znode version from now on."""

    controller_epoch: int
    epoch_zk_version: int


@dataclass(frozen=True, slots=True)
class Resign:
    """Stop acting at once: close every sender, drop every write, and look at /controller anew."""

    why: str


@dataclass(frozen=True, slots=True)
class Zk:
    """Execute this request and hand its answer back as `ZkAnswered` with the same tag. At most one is under way."""

    tag: int
    request: ZkRequest


@dataclass(frozen=True, slots=True)
class Send:
    """Send this request to this incarnation of a broker, in order with updates; drop it if the sender is another's."""

    broker: int
    broker_epoch: int
    request: BrokerRequest


@dataclass(frozen=True, slots=True)
class TellOne:
    """Send this update to this incarnation of a process only, in order with everything else it is sent."""

    role: Role
    id: int
    epoch: int
    update: MetadataUpdate


class WatchKind(StrEnum):
    """What to follow of a node: its children, or its data and existence."""

    CHILDREN = "children"
    DATA = "data"


@dataclass(frozen=True, slots=True)
class Watch:
    """Post `ZnodeChanged(path)` once the watch is armed and after every change, until `Unwatch` or `Resign`."""

    path: str
    kind: WatchKind


@dataclass(frozen=True, slots=True)
class Unwatch:
    path: str


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to the admin request of this number."""

    request: int
    answer: Answer


class What(StrEnum):
    """The kinds of happening that people read about; each is one log line and one count."""

    ELECTION = "election"
    UNCLEAN_ELECTION = "unclean election"
    ELECTION_FAILED = "election failed"
    ISR_SHRUNK = "isr shrunk"
    ISR_CHANGED = "isr changed"
    PARTITION_CREATED = "partition created"
    BROKER_STARTED = "broker started"
    BROKER_FAILED = "broker failed"
    FENCED = "fenced"
    RESIGNED = "resigned"
    BROKER_SHUTTING_DOWN = "broker shutting down"
    REPLICA_OFFLINE = "replica offline"
    REASSIGNMENT_STARTED = "reassignment started"
    REASSIGNMENT_STEP = "reassignment step"
    REASSIGNMENT_COMPLETED = "reassignment completed"
    REASSIGNMENT_REFUSED = "reassignment refused"
    TOPIC_CREATED = "topic created"
    TOPIC_DELETION_STARTED = "topic deletion started"
    TOPIC_DELETION_INELIGIBLE = "topic deletion ineligible"
    TOPIC_DELETED = "topic deleted"
    SHARD_PLACED = "shard placed"
    FAILOVER = "failover"
    INVALID_TRANSITION = "invalid transition"
    MALFORMED_ZNODE = "malformed znode"


@dataclass(frozen=True, slots=True)
class Note:
    """Something happened to `subject`, for this reason: log it and count it.

    `cause` is the kind of the reason, one of a few: what happened is counted by it.
    """

    what: What
    subject: str
    why: str = ""
    cause: str = ""


Effect = (
    Elect
    | Attend
    | Unattend
    | OpenSender
    | DismissSender
    | Tell
    | Fence
    | StartActing
    | Resign
    | Zk
    | Send
    | TellOne
    | Watch
    | Unwatch
    | Reply
    | Note
)
