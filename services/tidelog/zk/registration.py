"""Ephemeral registrations of processes: made with an epoch, removed by their owner or by the controller.

The epoch is the czxid of the node. Every registration also raises the data version of the parent. ZooKeeper cannot
compare a czxid in a transaction, so this version is what lets the controller delete exactly the registration that it
knew: if the process has registered again meanwhile, the version differs.
"""

from contextlib import suppress

from tidelog.kafka.types import BrokerEpoch
from tidelog.zk.controller_writer import ControllerWriter
from tidelog.zk.errors import BadVersion, ConnectionLost, NodeExists, NoNode, ZkError
from tidelog.zk.operations import ANY_VERSION, Check, Create, Delete, SetData, Stat, Znode
from tidelog.zk.session import ZkSession
from tidelog.zk.znodes import BROKER_SEQUENCE_ID, BrokerRegistration, MalformedZnode, decode_registration


class IdTaken(ZkError):  # noqa: N818 - says what is the matter
    """Another session holds the id; `registration` tells where its process is, or was, reached."""

    def __init__(self, path: str, node_id: int, node: Znode) -> None:
        self.registration = _decoded(node.data)
        self.at = ", ".join(map(str, self.registration.endpoints)) if self.registration else "an unknown address"
        super().__init__(f"id {node_id} is registered by a process at {self.at}", path=path)
        self.node_id = node_id
        self.epoch = BrokerEpoch(node.czxid)
        self.session_id = node.ephemeral_owner


async def register(
    session: ZkSession, parent_path: str, node_id: int, data: bytes, *, previous_session_id: int = 0
) -> BrokerEpoch:
    """Register for as long as the session lives, and return the epoch. Repeats itself over a broken connection.

    A node of `previous_session_id`, a session whose process is known to be over, is replaced; one of any other raises
    IdTaken.
    """
    path = f"{parent_path}/{node_id}"
    while True:
        try:
            return await _create(session, parent_path, path, data)
        except (NodeExists, ConnectionLost):
            epoch = await _reuse(session, parent_path, node_id, data, previous_session_id)
        if epoch is not None:
            return epoch


async def _create(session: ZkSession, parent_path: str, path: str, data: bytes) -> BrokerEpoch:
    # Creating returns no stat, so the data is set by a second operation, which does.
    made = Create(path, None, ephemeral=True)
    results = await session.multi([made, SetData(path, data, 0), SetData(parent_path, b"", ANY_VERSION)])
    stat = results[1]
    assert isinstance(stat, Stat)
    return BrokerEpoch(stat.czxid)


async def _reuse(
    session: ZkSession, parent_path: str, node_id: int, data: bytes, previous_session_id: int
) -> BrokerEpoch | None:
    """The epoch of a node that is already ours; None if the way is free for another attempt."""
    path = f"{parent_path}/{node_id}"
    parent, node = await _read_with_parent(session, parent_path, path)
    if node is None:
        return None
    if node.ephemeral_owner == session.session_id:
        return await _update(session, path, node, data)
    if not previous_session_id or node.ephemeral_owner != previous_session_id:
        raise IdTaken(path, node_id, node)
    with suppress(NoNode, BadVersion, ConnectionLost):
        await session.multi([Check(parent_path, parent.version), Delete(path)])
    return None


async def _read_with_parent(session: ZkSession, parent_path: str, path: str) -> tuple[Znode, Znode | None]:
    # The parent first: a registration after this read raises the version that the deletion checks.
    parent = await session.get(parent_path)
    return parent, (await session.get_many([path]))[0]


async def _update(session: ZkSession, path: str, node: Znode, data: bytes) -> BrokerEpoch | None:
    if node.data != data:
        try:
            await session.set(path, data, node.version)
        except (NoNode, BadVersion, ConnectionLost):
            return None
    return BrokerEpoch(node.czxid)


async def unregister(session: ZkSession, parent_path: str, node_id: int) -> None:
    """Remove our registration, if it is there and ours."""
    path = f"{parent_path}/{node_id}"
    node = (await session.get_many([path]))[0]
    if node is not None and node.ephemeral_owner == session.session_id:
        with suppress(NoNode):
            await session.delete(path)


async def fence(writer: ControllerWriter, parent_path: str, node_id: int, epoch: BrokerEpoch) -> bool:
    """Delete the registration if it is still the one with this epoch; False if that one was gone already.

    Repeats itself when another process registers at the same time, and over a broken connection, after which it is True
    if the registration is gone, whoever did it.
    """
    session, path = writer.session, f"{parent_path}/{node_id}"
    unclear = False
    while True:
        parent, node = await _read_with_parent(session, parent_path, path)
        if node is None or node.czxid != epoch:
            return unclear
        try:
            await writer.multi([Check(parent_path, parent.version), Delete(path)])
            return True
        except (BadVersion, NoNode):
            continue
        except ConnectionLost:
            unclear = True


async def next_broker_id(session: ZkSession, reserved_broker_max_id: int) -> int:
    """An id that no broker had before: the version of /brokers/seqid counts them, above those left to be chosen."""
    while True:
        try:
            stat = await session.set(BROKER_SEQUENCE_ID, b"", ANY_VERSION)
            return reserved_broker_max_id + stat.version
        except ConnectionLost:
            # Waits for the connection, within bounds. An id that was counted in vain does no harm.
            await session.exists(BROKER_SEQUENCE_ID)


def _decoded(data: bytes) -> BrokerRegistration | None:
    try:
        return decode_registration(data)
    except MalformedZnode:
        return None
