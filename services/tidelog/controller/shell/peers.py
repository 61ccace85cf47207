"""The processes around the controller: streams that tell of their deaths, and senders that tell them everything."""

import asyncio
import itertools
from collections.abc import Callable

from tidelog.controller.core.events import Event, PresenceLost
from tidelog.controller.core.requests import BrokerRequest
from tidelog.controller.shell.senders import Authority, Sender
from tidelog.kafka.cluster import Member, MetadataUpdate, Role
from tidelog.kafka.types import GRPC_LISTENER
from tidelog.runtime import logs
from tidelog.runtime.background import Background
from tidelog.runtime.presence import until_dead

_logger = logs.get("controller")

Peer = tuple[Role, int]


class Peers:
    def __init__(self, post: Callable[[Event], None]) -> None:
        self.may_send = asyncio.Event()
        self._post = post
        self._attending: dict[Peer, asyncio.Task[None]] = {}
        self._senders: dict[Peer, tuple[Sender, asyncio.Task[None]]] = {}
        self._numbers = itertools.count(1)
        self._tasks: Background

    def use(self, tasks: Background) -> None:
        """Where streams and senders run."""
        self._tasks = tasks

    def attend(self, role: Role, member: Member) -> None:
        self.unattend(role, member.id)
        task = self._tasks.spawn(self._until_dead(role, member), f"attend {role} {member.id}")
        self._attending[role, member.id] = task

    def unattend(self, role: Role, id: int) -> None:
        if (task := self._attending.pop((role, id), None)) is not None:
            task.cancel()

    def open_sender(self, role: Role, member: Member, authority: Authority) -> None:
        self.close_sender(role, member.id)
        sender = Sender(role, member, authority, self._post, self._numbers)
        task = self._tasks.spawn(self._tell(role, sender), f"tell {role} {member.id}")
        self._senders[role, member.id] = (sender, task)

    def dismiss_sender(self, role: Role, id: int) -> None:
        """It goes on for as long as the process answers: one that only lost ZooKeeper must hear who leads now."""
        if (entry := self._senders.get((role, id))) is not None:
            entry[0].dismiss()

    def close_sender(self, role: Role, id: int) -> None:
        if (entry := self._senders.pop((role, id), None)) is not None:
            entry[1].cancel()

    def close_all(self) -> None:
        for peer in tuple(self._attending):
            self.unattend(*peer)
        for peer in tuple(self._senders):
            self.close_sender(*peer)

    def tell_all(self, update: MetadataUpdate) -> None:
        for sender, _ in self._senders.values():
            sender.send(update)

    def send(self, role: Role, id: int, epoch: int, message: MetadataUpdate | BrokerRequest) -> None:
        """To that incarnation only: another one gets what it needs by itself."""
        entry = self._senders.get((role, id))
        if entry is not None and entry[0].epoch == epoch:
            entry[0].send(message)

    async def _tell(self, role: Role, sender: Sender) -> None:
        await sender.run(self.may_send)
        entry = self._senders.get((role, sender.id))
        if entry is not None and entry[0] is sender:
            del self._senders[role, sender.id]

    async def _until_dead(self, role: Role, member: Member) -> None:
        endpoint = member.endpoint(GRPC_LISTENER)
        if endpoint is not None:
            await until_dead(endpoint, member.epoch)
            _logger.warning("found dead", role=role, id=member.id, epoch=member.epoch)
            self._post(PresenceLost(role, member.id, member.epoch))
