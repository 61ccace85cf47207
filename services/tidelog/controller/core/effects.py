"""What the core wants done; the shell executes effects in the order given."""

from dataclasses import dataclass

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
class CloseSender:
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


Effect = Elect | Attend | Unattend | OpenSender | CloseSender | Tell | Fence | StartActing | Resign
