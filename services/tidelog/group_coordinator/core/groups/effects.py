"""What a shard of groups wants done: records made durable, and answers given to the requests they belong to."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from tidelog.group_coordinator.core.records import Outcome

if TYPE_CHECKING:
    from tidelog.group_coordinator.core.groups.turn import Turn
    from tidelog.kafka.errors import KafkaCode
    from tidelog.kafka.wire.schema import Response


class Reply(NamedTuple):
    """The answer to a request, which may have come long ago; the token is what it came with."""

    token: object
    answer: "Response"


class Settlement(Protocol):
    """What follows once it is known whether records were committed. The shell only carries it back to the shard."""

    def committed(self, turn: "Turn") -> None: ...

    def failed(self, code: "KafkaCode", turn: "Turn") -> None: ...


class Producer(NamedTuple):
    """In whose transaction records are appended."""

    producer_id: int
    producer_epoch: int


@dataclass(frozen=True, slots=True, eq=False)
class Write(Outcome[Settlement]):
    """Records to append as one batch, with acks=all; of a transaction if a producer is named."""

    producer: Producer | None = None


class RebalanceCause(StrEnum):
    MEMBER_JOINED = "member joined"
    MEMBER_LEFT = "member left"
    METADATA_CHANGED = "metadata changed"
    LEADER_REJOINED = "leader rejoined"
    STATIC_MEMBER_RESTARTED = "static member restarted"
    SESSION_EXPIRED = "session expired"
    SYNC_EXPIRED = "sync expired"
    ASSIGNMENT_NOT_STORED = "assignment not stored"
    GROUP_TOO_LARGE = "group too large"


class Rebalance(NamedTuple):
    """That a group began to rebalance, for logs and metrics."""

    group_id: str
    cause: RebalanceCause


class RebalancePhase(StrEnum):
    # From when a rebalance begins until everyone has come, or is not waited for any longer.
    JOIN = "join"
    # From then on until everyone's assignment is stored.
    SYNC = "sync"


class PhaseOver(NamedTuple):
    """How long a phase of a rebalance took, for metrics."""

    phase: RebalancePhase
    took_ms: int


@dataclass(frozen=True, slots=True)
class Effects:
    """Append the writes in this order; send the replies at once. The rest is for logs and metrics."""

    writes: tuple[Write, ...] = ()
    replies: tuple[Reply, ...] = ()
    rebalances: tuple[Rebalance, ...] = ()
    phases: tuple[PhaseOver, ...] = ()
    # How many offsets came to be committed.
    offsets_committed: int = 0
