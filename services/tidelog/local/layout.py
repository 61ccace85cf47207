"""Which processes make a cluster on this machine, and on which ports each of them listens.

Ports come in ranges, one range for each kind of listener of a role. By default a range starts at a fixed, documented
port (`DEFAULT_RANGES`) and is RANGE_WIDTH wide. With a port base the same ranges, in the same order, are packed from
that port upwards, each only as wide as its role has processes; the brokers' Kafka ports come first, so they stay where
they are when a cluster grows.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from tidelog.local.faults import WrongUsageError

HOST = "127.0.0.1"
RANGE_WIDTH = 100
PORT_MAX = 65535


class Role(StrEnum):
    """The kinds of processes, by the names that `tidelog kill` and `tidelog start` take."""

    ZOOKEEPER = "zookeeper"
    CONTROLLER = "controller"
    BROKER = "broker"
    GROUP_COORDINATOR = "group-coordinator"
    METADATA = "metadata"


# A broker hands its partitions over through the controller when it stops, and everybody needs ZooKeeper to the end.
STOP_ORDER = (Role.METADATA, Role.GROUP_COORDINATOR, Role.BROKER, Role.CONTROLLER, Role.ZOOKEEPER)


class Listener(StrEnum):
    """The kinds of listeners a process can have."""

    KAFKA = "kafka"
    GRPC = "grpc"
    HTTP = "http"
    ZOOKEEPER = "zookeeper"


DEFAULT_RANGES: Mapping[tuple[Role, Listener], int] = {
    (Role.BROKER, Listener.KAFKA): 9092,
    (Role.ZOOKEEPER, Listener.ZOOKEEPER): 2181,
    (Role.METADATA, Listener.HTTP): 8080,
    (Role.BROKER, Listener.GRPC): 9192,
    (Role.BROKER, Listener.HTTP): 9292,
    (Role.CONTROLLER, Listener.GRPC): 9392,
    (Role.CONTROLLER, Listener.HTTP): 9492,
    (Role.GROUP_COORDINATOR, Listener.KAFKA): 9592,
    (Role.GROUP_COORDINATOR, Listener.GRPC): 9692,
    (Role.GROUP_COORDINATOR, Listener.HTTP): 9792,
    (Role.METADATA, Listener.GRPC): 9892,
}


@dataclass(frozen=True, slots=True)
class LocalProcess:
    """One process of the cluster and the port of each of its listeners."""

    role: Role
    id: int
    ports: Mapping[Listener, int]

    def address(self, listener: Listener) -> str | None:
        """The "host:port" of a listener, or None if this process has no such listener."""
        port = self.ports.get(listener)
        return None if port is None else f"{HOST}:{port}"

    def __str__(self) -> str:
        return f"{self.role} {self.id}"


@dataclass(frozen=True, slots=True)
class Shape:
    """A whole cluster: its processes, and the ZooKeeper they share."""

    zookeeper: str
    processes: tuple[LocalProcess, ...]
    port_base: int | None = None

    def of(self, role: Role) -> tuple[LocalProcess, ...]:
        """The processes of one role, by id."""
        return tuple(process for process in self.processes if process.role is role)

    def addresses(self, role: Role, listener: Listener) -> list[str]:
        """The addresses that one kind of listener has over all processes of a role."""
        return [address for process in self.of(role) if (address := process.address(listener)) is not None]

    @property
    def has_embedded_zookeeper(self) -> bool:
        """Whether ZooKeeper is one of our own processes rather than a server somewhere else."""
        return bool(self.of(Role.ZOOKEEPER))

    @property
    def bootstrap(self) -> str:
        """What a Kafka client takes as bootstrap.servers."""
        return ",".join(self.addresses(Role.BROKER, Listener.KAFKA))

    @property
    def console(self) -> str | None:
        """The web console, if the cluster has a metadata process."""
        addresses = self.addresses(Role.METADATA, Listener.HTTP)
        return f"http://{addresses[0]}" if addresses else None


@dataclass(frozen=True, slots=True)
class Counts:
    """How many processes of each role a cluster has."""

    brokers: int = 3
    controllers: int = 2
    group_coordinators: int = 2
    metadata: int = 1

    def of(self, role: Role) -> int:
        """The number of processes of a role; there is at most one embedded ZooKeeper."""
        by_role = {
            Role.ZOOKEEPER: 1,
            Role.CONTROLLER: self.controllers,
            Role.BROKER: self.brokers,
            Role.GROUP_COORDINATOR: self.group_coordinators,
            Role.METADATA: self.metadata,
        }
        return by_role[role]


def lay_out(counts: Counts, *, zookeeper: str | None = None, port_base: int | None = None) -> Shape:
    """The cluster with these numbers of processes; an embedded ZooKeeper is part of it unless an address is given."""
    starts = dict(DEFAULT_RANGES) if port_base is None else _packed_ranges(counts, port_base)
    _check_ranges(counts, starts, packed=port_base is not None)
    processes = tuple(
        LocalProcess(role, number, _ports(starts, role, number))
        for role in Role
        if role is not Role.ZOOKEEPER or zookeeper is None
        for number in range(counts.of(role))
    )
    embedded_address = f"{HOST}:{starts[Role.ZOOKEEPER, Listener.ZOOKEEPER]}"
    return Shape(zookeeper=zookeeper or embedded_address, processes=processes, port_base=port_base)


def listening_ports(shape: Shape) -> Iterator[tuple[int, str]]:
    """Every port the cluster needs, with the words for it in a sentence."""
    for process in shape.processes:
        for listener, port in process.ports.items():
            what = str(process.role) if listener is Listener.ZOOKEEPER else f"{listener} listener of {process}"
            yield port, what


def _packed_ranges(counts: Counts, port_base: int) -> dict[tuple[Role, Listener], int]:
    starts = {}
    for key in DEFAULT_RANGES:
        starts[key] = port_base
        port_base += counts.of(key[0])
    return starts


def _ports(starts: Mapping[tuple[Role, Listener], int], role: Role, number: int) -> dict[Listener, int]:
    return {listener: start + number for (owner, listener), start in starts.items() if owner is role}


def _check_ranges(counts: Counts, starts: Mapping[tuple[Role, Listener], int], *, packed: bool) -> None:
    crowded = [role for role in Role if counts.of(role) > RANGE_WIDTH]
    if crowded and not packed:
        raise WrongUsageError(
            f"{counts.of(crowded[0])} processes of role {crowded[0]} do not fit into the default {RANGE_WIDTH} "
            "ports of a range: give --port-base, or fewer of them."
        )
    highest = max(start + counts.of(role) - 1 for (role, _), start in starts.items())
    if highest > PORT_MAX or min(starts.values()) < 1:
        raise WrongUsageError(f"The ports would run up to {highest}, which does not exist: give a lower --port-base.")
