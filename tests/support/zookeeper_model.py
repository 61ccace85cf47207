"""A ZooKeeper in memory: paths, versions, transactions with checks, sequence numbers, and who is told of changes."""

# ruff: noqa: N818 - these are ZooKeeper's own names for what went wrong.

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tidelog.zk.operations import ANY_VERSION, Check, Create, Delete, Op, SetData


class ModelError(Exception):
    """An operation was refused, and with it its whole transaction."""

    def __init__(self, index: int, path: str) -> None:
        super().__init__(f"operation {index}: {path}")
        self.index = index
        self.path = path


class NoNode(ModelError):
    pass


class NodeExists(ModelError):
    pass


class BadVersion(ModelError):
    pass


class NotEmpty(ModelError):
    pass


@dataclass(frozen=True, slots=True)
class Node:
    """One node at one moment; null data is empty."""

    data: bytes
    version: int
    czxid: int
    # How many children were ever created, which is also what numbers sequential ones.
    sequences: int = 0
    mzxid: int = 0
    pzxid: int = 0
    ephemeral_owner: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """One node was created, changed or deleted."""

    path: str
    was_there: bool
    is_there: bool

    @property
    def parent(self) -> str:
        return parent_of(self.path)


def parent_of(path: str) -> str:
    return path.rpartition("/")[0] or "/"


class ModelZooKeeper:
    """`on_change` hears of every change, after the transaction that made it."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {"/": Node(b"", 0, 0)}
        self.zxid = 0
        self.on_change: Callable[[Change], None] = lambda _: None
        self._undo: list[tuple[str, Node | None]] = []
        self._session_id = 0

    @property
    def touched(self) -> tuple[str, ...]:
        """The nodes that the last transaction changed, parents of children that came or went included."""
        return tuple(dict.fromkeys(path for path, _ in self._undo))

    def get(self, path: str) -> Node | None:
        return self.nodes.get(path)

    def children(self, path: str) -> tuple[str, ...]:
        prefix = path.rstrip("/") + "/"
        below = (other[len(prefix) :] for other in self.nodes if other.startswith(prefix))
        return tuple(sorted(name for name in below if name and "/" not in name))

    def multi(self, ops: Sequence[Op], session_id: int = 0) -> list[str | int | None]:
        """All or nothing: the path of each creation, the new version of each write, None for the others."""
        self._undo, changes = [], list[Change]()
        self._session_id = session_id
        self.zxid += 1
        try:
            results = [self._apply(index, op, changes) for index, op in enumerate(ops)]
        except ModelError:
            for path, node in tuple(reversed(self._undo)):
                self._put(path, node)
            raise
        for change in changes:
            self.on_change(change)
        return results

    def ensure(self, path: str, data: bytes = b"") -> None:
        """Create a node and those above it, unless they are there."""
        if path not in self.nodes:
            if path != "/":
                self.ensure(parent_of(path))
            self.multi([Create(path, data)])

    def put(self, path: str, data: bytes) -> None:
        """Create or replace a node, whatever its version."""
        self.ensure(path)
        self.multi([SetData(path, data)])

    def delete_tree(self, path: str) -> None:
        for name in self.children(path):
            self.delete_tree(f"{path}/{name}")
        if path in self.nodes:
            self.multi([Delete(path)])

    def _apply(self, index: int, op: Op, changes: list[Change]) -> str | int | None:
        if isinstance(op, Create):
            return self._create(index, op, changes)
        node = self.nodes.get(op.path)
        if node is None:
            raise NoNode(index, op.path)
        if op.version not in (ANY_VERSION, node.version):
            raise BadVersion(index, op.path)
        match op:
            case Check():
                return None
            case SetData():
                changed = replace(node, data=op.data or b"", version=node.version + 1, mzxid=self.zxid)
                self._put(op.path, changed)
                changes.append(Change(op.path, was_there=True, is_there=True))
                return node.version + 1
            case Delete():
                if self.children(op.path):
                    raise NotEmpty(index, op.path)
                self._put(op.path, None)
                parent = self.nodes[parent_of(op.path)]
                self._put(parent_of(op.path), replace(parent, pzxid=self.zxid))
                changes.append(Change(op.path, was_there=True, is_there=False))
                return None

    def _create(self, index: int, op: Create, changes: list[Change]) -> str:
        parent = self.nodes.get(parent_of(op.path))
        if parent is None:
            raise NoNode(index, op.path)
        path = f"{op.path}{parent.sequences:010d}" if op.sequence else op.path
        if path in self.nodes:
            raise NodeExists(index, path)
        self._put(parent_of(path), replace(parent, sequences=parent.sequences + 1, pzxid=self.zxid))
        owner = self._session_id if op.ephemeral else 0
        self._put(path, Node(op.data or b"", 0, self.zxid, mzxid=self.zxid, ephemeral_owner=owner))
        changes.append(Change(path, was_there=False, is_there=True))
        return path

    def _put(self, path: str, node: Node | None) -> None:
        self._undo.append((path, self.nodes.get(path)))
        if node is None:
            self.nodes.pop(path, None)
        else:
            self.nodes[path] = node
