"""Watches on children, on a node's data, and on the registrations of processes."""

import asyncio
import logging
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

from tidelog.kafka.types import BrokerEpoch
from tidelog.zk.errors import NoNode
from tidelog.zk.notifications import NotificationWatch
from tidelog.zk.operations import Children, Znode
from tidelog.zk.session import ZkSession
from tidelog.zk.watch_loop import Watch
from tidelog.zk.znodes import BrokerRegistration, MalformedZnode, decode_registration

__all__ = ["ChildrenWatch", "DataWatch", "Member", "NotificationWatch", "RegistrationsWatch", "Watch"]

log = logging.getLogger(__name__)

# A pause before members are read again that came or went while they were read.
_UNSETTLED_PAUSE_S = 0.01


class ChildrenWatch(Watch[Children]):
    """Follows the children of a node: `on_children` gets all names whenever one comes or goes."""

    def __init__(self, session: ZkSession, path: str, on_children: Callable[[tuple[str, ...]], None]) -> None:
        self._path = path
        super().__init__(session, lambda children: on_children(children.names))

    async def _read(self) -> Children:
        return await self._children_of(self._path)

    def _mark(self, value: Children) -> Hashable:
        # pzxid moves with every change of the children, also when one went and came back between two reads.
        return value.stat.czxid, value.stat.pzxid


class DataWatch(Watch[Znode | None]):
    """Follows one node: `on_data` gets it whenever it changes, and None when it is absent."""

    def __init__(self, session: ZkSession, path: str, on_data: Callable[[Znode | None], None]) -> None:
        self._path = path
        super().__init__(session, on_data)

    async def _read(self) -> Znode | None:
        while True:
            try:
                return await self._session.get(self._path, self._on_event)
            except NoNode:
                # Only this call can watch for a creation; if the node has come meanwhile, read it.
                if await self._session.exists(self._path, self._on_event) is None:
                    return None

    def _mark(self, value: Znode | None) -> Hashable:
        return (0, 0) if value is None else (value.czxid, value.mzxid)


@dataclass(frozen=True, slots=True)
class Member:
    """One registered process; the epoch tells its incarnations apart."""

    registration: BrokerRegistration
    epoch: BrokerEpoch


class RegistrationsWatch(Watch[Mapping[int, Znode]]):
    """Follows the registrations below a node: `on_members` gets all of them, read completely, at every change."""

    def __init__(self, session: ZkSession, parent_path: str, on_members: Callable[[dict[int, Member]], None]) -> None:
        self._parent_path = parent_path
        super().__init__(session, lambda nodes: on_members(_members(nodes)))

    async def _read(self) -> Mapping[int, Znode]:
        while True:
            names = (await self._children_of(self._parent_path)).names
            ids = [int(name) for name in names if name.isdecimal()]
            nodes = await self._session.get_many([f"{self._parent_path}/{one}" for one in ids], self._on_event)
            whole = {one: node for one, node in zip(ids, nodes, strict=True) if node is not None}
            if len(whole) == len(ids):
                return whole
            await asyncio.sleep(_UNSETTLED_PAUSE_S)

    def _mark(self, value: Mapping[int, Znode]) -> Hashable:
        return tuple((one, node.czxid, node.mzxid) for one, node in sorted(value.items()))


def _members(nodes: Mapping[int, Znode]) -> dict[int, Member]:
    members: dict[int, Member] = {}
    for one, node in sorted(nodes.items()):
        try:
            members[one] = Member(decode_registration(node.data), BrokerEpoch(node.czxid))
        except MalformedZnode as error:
            # One unreadable registration must not hide the others.
            log.warning("the registration of %d is left out: %s", one, error)
    return members
