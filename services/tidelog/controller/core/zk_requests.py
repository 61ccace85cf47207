"""What handlers ask of ZooKeeper, and the tasks that wait for the answers.

A handler is a generator: it yields one request at a time and is sent the answer. Whoever drives it (the shell, a test, a
simulation) executes requests in order. A `Write` carries operations that succeed or fail each on its own account, in the
order given, each checked against the controller epoch; if that check fails the handler is never resumed and the
controller resigns. Lost connections are the driver's to retry, so an answer is always definite, but a creation may find
what an earlier attempt made, and a conditional write may meet its own version.
"""

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeVar

from tidelog.zk.operations import Create, Delete, SetData

T = TypeVar("T")

WriteOp = Create | SetData | Delete


@dataclass(frozen=True, slots=True)
class Read:
    """The data of these nodes; answered by `Nodes`."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadChildren:
    """The children of these nodes; answered by `Names`."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Write:
    """These operations; answered by `Outcomes`."""

    ops: tuple[WriteOp, ...]


@dataclass(frozen=True, slots=True)
class DeleteTrees:
    """Delete these nodes and all below them, in order; what is gone already is fine. Answered by `Outcomes(())`."""

    paths: tuple[str, ...]


ZkRequest = Read | ReadChildren | Write | DeleteTrees


@dataclass(frozen=True, slots=True)
class Found:
    """A node as it was read; null data reads as empty."""

    data: bytes
    version: int


class Refusal(Enum):
    """Why ZooKeeper did not execute one operation."""

    NO_NODE = auto()
    NODE_EXISTS = auto()
    BAD_VERSION = auto()
    NOT_EMPTY = auto()


@dataclass(frozen=True, slots=True)
class Written:
    """An operation was executed; the node has this version now, 0 if created or deleted."""

    version: int


Outcome = Written | Refusal


@dataclass(frozen=True, slots=True)
class Nodes:
    """One for each path; None where there is no such node."""

    nodes: tuple[Found | None, ...]


@dataclass(frozen=True, slots=True)
class Names:
    """One for each path, empty where there is no such node."""

    names: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Outcomes:
    """One for each operation."""

    outcomes: tuple[Outcome, ...]


ZkAnswer = Nodes | Names | Outcomes

Task = Generator[ZkRequest, ZkAnswer, T]


def read(paths: Iterable[str]) -> Task[tuple[Found | None, ...]]:
    paths = tuple(paths)
    if not paths:
        return ()
    answer = yield Read(paths)
    assert isinstance(answer, Nodes), f"{answer} answers a Read"
    assert len(answer.nodes) == len(paths), "one node for each path"
    return answer.nodes


def read_one(path: str) -> Task[Found | None]:
    (node,) = yield from read((path,))
    return node


def children(path: str) -> Task[tuple[str, ...]]:
    answer = yield ReadChildren((path,))
    assert isinstance(answer, Names), f"{answer} answers a ReadChildren"
    return answer.names[0]


def write(ops: Iterable[WriteOp]) -> Task[tuple[Outcome, ...]]:
    ops = tuple(ops)
    if not ops:
        return ()
    answer = yield Write(ops)
    assert isinstance(answer, Outcomes), f"{answer} answers a Write"
    assert len(answer.outcomes) == len(ops), "one outcome for each operation"
    return answer.outcomes


def delete_trees(paths: Iterable[str]) -> Task[None]:
    paths = tuple(paths)
    if paths:
        yield DeleteTrees(paths)
