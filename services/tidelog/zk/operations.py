"""The values that ZooKeeper calls take and give: operations of a multi, stats, nodes, watch events."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

# A server cuts the connection at a request above jute.maxbuffer, 1 MiB by default (0xfffff bytes).
REQUEST_BYTES_MAX = 0xFFFFF
# One transaction of about 100 creations reaches 33 000 znodes/s where single ones reach 2 500; more gains nothing.
MULTI_OPS_MAX = 100
MULTI_BYTES_MAX = 512 * 1024
# What an operation costs on the wire besides path and data: headers, versions and one access control entry.
_OP_OVERHEAD_BYTES = 64

ANY_VERSION = -1


@dataclass(frozen=True, slots=True)
class Create:
    """Create a node; `data` None is ZooKeeper's null, which Kafka writes where a node has nothing to say."""

    path: str
    data: bytes | None = None
    ephemeral: bool = False
    sequence: bool = False


@dataclass(frozen=True, slots=True)
class SetData:
    """Replace a node's data if its version is `version`."""

    path: str
    data: bytes | None
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a node without children if its version is `version`."""

    path: str
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class Check:
    """Fail the multi unless the node's version is `version`."""

    path: str
    version: int


Op = Create | SetData | Delete | Check


@dataclass(frozen=True, slots=True)
class Stat:
    """What ZooKeeper knows of a node besides its data."""

    czxid: int
    mzxid: int
    ctime_ms: int
    mtime_ms: int
    version: int
    cversion: int
    ephemeral_owner: int
    children_count: int
    pzxid: int


# One result an operation: Create gives the path made, SetData the new stat, Delete and Check nothing.
OpResult = str | Stat | None


@dataclass(frozen=True, slots=True)
class Znode:
    """A node as it was read; null data reads as empty."""

    data: bytes
    stat: Stat

    @property
    def version(self) -> int:
        return self.stat.version

    @property
    def czxid(self) -> int:
        return self.stat.czxid

    @property
    def mzxid(self) -> int:
        return self.stat.mzxid

    @property
    def ephemeral_owner(self) -> int:
        return self.stat.ephemeral_owner


@dataclass(frozen=True, slots=True)
class Children:
    """The names of a node's children, sorted, and the stat of the node itself."""

    names: tuple[str, ...]
    stat: Stat


class WatchKind(StrEnum):
    """What a watch saw. A watch that ended with its connection says nothing: read again when connected."""

    CREATED = "CREATED"
    DELETED = "DELETED"
    CHANGED = "CHANGED"
    CHILD = "CHILD"


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One watch fired, and is used up."""

    kind: WatchKind
    path: str


Watcher = Callable[[WatchEvent], None]


def op_bytes(op: Op) -> int:
    """About how much of a request this operation takes; never less than it really does."""
    data = op.data if isinstance(op, (Create, SetData)) else None
    return len(op.path.encode()) + len(data or b"") + _OP_OVERHEAD_BYTES


def pack(
    ops: Iterable[Op], *, ops_max: int = MULTI_OPS_MAX, bytes_max: int = MULTI_BYTES_MAX
) -> Iterator[tuple[Op, ...]]:
    """Cut a run of operations, in order, into pieces that each make one multi."""
    batch: list[Op] = []
    size = 0
    for op in ops:
        if batch and (len(batch) >= ops_max or size + op_bytes(op) > bytes_max):
            yield tuple(batch)
            batch, size = [], 0
        batch.append(op)
        size += op_bytes(op)
    if batch:
        yield tuple(batch)
