"""Executes what the core asks of ZooKeeper. An answer is always definite: lost connections are waited out here."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tidelog.controller.core.zk_requests import (
    DeleteTrees,
    Found,
    Names,
    Nodes,
    Outcome,
    Outcomes,
    Read,
    ReadChildren,
    Refusal,
    Write,
    Written,
    ZkAnswer,
    ZkRequest,
)
from tidelog.zk.controller_writer import ControllerWriter
from tidelog.zk.errors import BadVersion, ConnectionLost, NodeExists, NoNode, NotEmpty, ZkError
from tidelog.zk.operations import Children, OpResult, Stat

T = TypeVar("T")

_PAUSE_S = 0.05
_REFUSALS: dict[type[ZkError], Refusal] = {
    NoNode: Refusal.NO_NODE,
    NodeExists: Refusal.NODE_EXISTS,
    BadVersion: Refusal.BAD_VERSION,
    NotEmpty: Refusal.NOT_EMPTY,
}


async def execute(writer: ControllerWriter, request: ZkRequest) -> ZkAnswer:
    """Raises ControllerMoved or SessionExpired when this controller's time is over, and nothing else that can pass."""
    match request:
        case Read(paths):
            nodes = await _until_connected(lambda: writer.session.get_many(paths))
            return Nodes(tuple(None if node is None else Found(node.data, node.version) for node in nodes))
        case ReadChildren(paths):
            return Names(await _names(writer, paths))
        case Write(ops):
            outcomes = await writer.try_write(ops)
            return Outcomes(tuple([await _settled(writer, op, each) for op, each in zip(ops, outcomes, strict=True)]))
        case DeleteTrees(paths):
            for path in paths:
                await _until_connected(lambda path=path: writer.delete_recursive(path))  # type: ignore[misc]
            return Outcomes(())


async def _names(writer: ControllerWriter, paths: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    session = writer.session
    listed = await _until_connected(
        lambda: session.pipeline((lambda path=path: session.children(path)) for path in paths)  # type: ignore[misc]
    )
    return tuple(_children(one) for one in listed)


def _children(listed: Children | ZkError) -> tuple[str, ...]:
    if isinstance(listed, Children):
        return listed.names
    if isinstance(listed, NoNode):
        return ()
    raise listed


async def _settled(writer: ControllerWriter, op: object, outcome: OpResult | ZkError) -> Outcome:
    """An operation whose answer was lost is sent again: what it finds then is for the core to understand."""
    while isinstance(outcome, ConnectionLost):
        await asyncio.sleep(_PAUSE_S)
        outcome = (await writer.try_write([op]))[0]  # type: ignore[list-item]
    if isinstance(outcome, ZkError):
        refusal = _REFUSALS.get(type(outcome))
        if refusal is None:
            raise outcome
        return refusal
    return Written(outcome.version if isinstance(outcome, Stat) else 0)


async def _until_connected(call: Callable[[], Awaitable[T]]) -> T:
    while True:
        try:
            return await call()
        except ConnectionLost:
            await asyncio.sleep(_PAUSE_S)
