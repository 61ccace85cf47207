"""One event's turn at a shard: what the handlers see of the shard, and what they want done."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from tidelog.group_coordinator.core.groups.deadlines import Deadlines
from tidelog.group_coordinator.core.groups.effects import (
    Effects,
    PhaseOver,
    Producer,
    Rebalance,
    Reply,
    Settlement,
    Write,
)
from tidelog.group_coordinator.core.groups.limits import GroupLimits
from tidelog.group_coordinator.core.groups.offsets import OffsetStore

if TYPE_CHECKING:
    from tidelog.group_coordinator.core.groups.group import Group
    from tidelog.group_coordinator.core.records import CoordinatorRecord
    from tidelog.kafka.errors import KafkaCode
    from tidelog.kafka.wire.schema import Response


class TimerKind(Enum):
    SESSION = "a member shows no sign of life"
    PENDING = "an id that was handed out is not used"
    JOIN = "the join phase is over"
    SYNC = "the sync phase is over"
    RETENTION = "offsets may be too old"


class Timer(NamedTuple):
    kind: TimerKind
    group_id: str = ""
    member_id: str = ""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, in which version, and the token that the answer goes to."""

    token: object
    version: int
    client_id: str = ""
    client_host: str = ""


@dataclass(slots=True)
class ShardState:
    """Everything that a shard knows."""

    limits: GroupLimits
    partition_exists: Callable[[str, int], bool]
    new_uuid: Callable[[], str]
    groups: "dict[str, Group]" = field(default_factory=dict)
    offsets: OffsetStore = field(default_factory=OffsetStore)
    deadlines: Deadlines[Timer] = field(default_factory=Deadlines)
    is_loading: bool = True


class Nothing:
    """The settlement of records that nobody waits for."""

    def committed(self, turn: "Turn") -> None:
        """Replaying the records was all."""

    def failed(self, code: "KafkaCode", turn: "Turn") -> None:
        """What they told is found out anew after the next load, by the timers of the group."""


_NOTHING = Nothing()


class Turn:
    """Handlers change soft state and collect here what is to be written and answered."""

    __slots__ = ("_offsets_committed", "_phases", "_rebalances", "_replies", "_writes", "now_ms", "shard")

    def __init__(self, shard: ShardState, now_ms: int) -> None:
        self.shard = shard
        self.now_ms = now_ms
        self._writes: list[Write] = []
        self._replies: list[Reply] = []
        self._rebalances: list[Rebalance] = []
        self._phases: list[PhaseOver] = []
        self._offsets_committed = 0

    def reply(self, token: object, answer: "Response") -> None:
        self._replies.append(Reply(token, answer))

    def write(
        self,
        *records: "CoordinatorRecord",
        settlement: Settlement = _NOTHING,
        producer: Producer | None = None,
    ) -> None:
        assert records, "nothing to write"
        self._writes.append(Write(records, settlement, producer))

    def note(self, rebalance: Rebalance) -> None:
        self._rebalances.append(rebalance)

    def note_phase(self, over: PhaseOver) -> None:
        self._phases.append(over)

    def note_offsets_committed(self, count: int) -> None:
        self._offsets_committed += count

    def set_timer(self, timer: Timer, delay_ms: int) -> None:
        self.shard.deadlines.set(timer, self.now_ms + delay_ms)

    def cancel_timer(self, timer: Timer) -> None:
        self.shard.deadlines.cancel(timer)

    def effects(self) -> Effects:
        return Effects(
            tuple(self._writes),
            tuple(self._replies),
            tuple(self._rebalances),
            tuple(self._phases),
            self._offsets_committed,
        )
