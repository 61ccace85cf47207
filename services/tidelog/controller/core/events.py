"""What can happen to a controller process; the shell hands these to the core one at a time."""

from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.kafka.cluster import Member, Role


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


Event = (
    Registered
    | RegistrationLost
    | ControllerSeen
    | Elected
    | NotElected
    | MembersChanged
    | PresenceLost
    | ControllerMoved
)
