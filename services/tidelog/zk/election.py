"""Who is controller: one transaction moves /controller and /controller_epoch together.

The version of /controller_epoch is the fence: every later write of the winner checks it, so a controller that was
replaced without knowing cannot change anything.
"""

from dataclasses import dataclass

from tidelog.kafka.types import ControllerEpoch, ControllerId
from tidelog.zk.controller_writer import ControllerMoved, ControllerWriter, resign
from tidelog.zk.errors import BadVersion, ConnectionLost, NodeExists, NoNode
from tidelog.zk.operations import Create, Delete, Op, SetData, Stat, Znode
from tidelog.zk.session import ZkSession
from tidelog.zk.znodes import ActiveController, ControllerEpochZnode, ControllerZnode

__all__ = ["ControllerMoved", "ControllerWriter", "Elected", "NotElected", "elect", "read_active", "resign"]


@dataclass(frozen=True, slots=True)
class Elected:
    """We are controller, in this epoch; `epoch_zk_version` goes into every write."""

    controller_epoch: ControllerEpoch
    epoch_zk_version: int


@dataclass(frozen=True, slots=True)
class NotElected:
    """Somebody else is controller."""

    active_id: ControllerId


async def elect(
    session: ZkSession, controller_id: ControllerId, timestamp_ms: int, *, replace_epoch_zk_version: int | None = None
) -> Elected | NotElected:
    """Become controller unless there is one.

    With `replace_epoch_zk_version` the present controller is known to be dead and is replaced, but only if no election
    has taken place since /controller_epoch had that version.
    """
    while True:
        epoch_node = await _read_epoch(session)
        active_node = await _read_active(session)
        may_replace = active_node is not None and (
            epoch_node.version == replace_epoch_zk_version
            # Left over from a call of ours that was given up, or from before this process knew of its new session.
            or active_node.ephemeral_owner == session.session_id != 0
        )
        if active_node is not None and not may_replace:
            return NotElected(ControllerZnode.decode(active_node.data).controller_id)
        me = ControllerZnode.encode(ActiveController(controller_id, timestamp_ms))
        won = await _attempt(session, epoch_node, me, replace=may_replace)
        if won is not None:
            return won


async def read_active(session: ZkSession) -> ActiveController | None:
    """Who holds /controller."""
    node = await _read_active(session)
    return None if node is None else ControllerZnode.decode(node.data)


async def _attempt(session: ZkSession, epoch_node: Znode, me: bytes, *, replace: bool) -> Elected | None:
    """One transaction; None if others were faster or, after a lost reply, if it was not executed."""
    epoch = ControllerEpoch(ControllerEpochZnode.decode(epoch_node.data) + 1)
    try:
        results = await session.multi(_election_ops(epoch, epoch_node.version, me, replace=replace))
    except (NodeExists, NoNode, BadVersion):
        return None
    except ConnectionLost:
        return await _recover(session, epoch, me)
    stat = next(result for result in results if isinstance(result, Stat))
    return Elected(epoch, stat.version)


def _election_ops(epoch: ControllerEpoch, version: int, me: bytes, *, replace: bool) -> list[Op]:
    create = Create(ControllerZnode.PATH, me, ephemeral=True)
    raise_epoch = SetData(ControllerEpochZnode.PATH, ControllerEpochZnode.encode(epoch), version)
    return [raise_epoch, Delete(ControllerZnode.PATH), create] if replace else [create, raise_epoch]


async def _recover(session: ZkSession, epoch: ControllerEpoch, me: bytes) -> Elected | None:
    """After a lost reply: were we elected? Only our own transaction leaves our node together with this epoch."""
    active_node, epoch_node = await _read_active(session), await _read_epoch(session)
    mine = active_node is not None and active_node.data == me and active_node.ephemeral_owner == session.session_id
    if mine and ControllerEpochZnode.decode(epoch_node.data) == epoch:
        return Elected(epoch, epoch_node.version)
    return None


async def _read_active(session: ZkSession) -> Znode | None:
    return (await session.get_many([ControllerZnode.PATH]))[0]


async def _read_epoch(session: ZkSession) -> Znode:
    while True:
        try:
            return await session.get(ControllerEpochZnode.PATH)
        except NoNode:
            await _create_epoch(session)


async def _create_epoch(session: ZkSession) -> None:
    try:
        await session.create(ControllerEpochZnode.PATH, ControllerEpochZnode.encode(ControllerEpochZnode.INITIAL))
    except (NodeExists, ConnectionLost):
        return  # The caller reads it again, and comes back if it is still missing.
