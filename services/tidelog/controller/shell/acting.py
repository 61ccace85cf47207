"""Runs the controller's core: one inbox of events, and the execution of the effects that each one brings.

Events come from watches, streams and answers; the inbox hands them to the core one at a time, and effects are executed in
order before the next event. Only what may take long and needs no order (fencing, attending) goes on beside it.
"""

import asyncio
from collections.abc import Callable, Mapping

from tidelog.controller.core.controller import Controller
from tidelog.controller.core.effects import (
    Attend,
    CloseSender,
    Effect,
    Elect,
    Fence,
    OpenSender,
    Resign,
    StartActing,
    Tell,
    Unattend,
)
from tidelog.controller.core.events import (
    ControllerMoved,
    ControllerSeen,
    Elected,
    Event,
    MembersChanged,
    NotElected,
    PresenceLost,
)
from tidelog.controller.shell.observers import Observers
from tidelog.controller.shell.senders import Sender
from tidelog.kafka.cluster import Member, MetadataUpdate, Role
from tidelog.kafka.types import GRPC_LISTENER, BrokerEpoch, ControllerId
from tidelog.runtime import logs
from tidelog.runtime.background import Background
from tidelog.runtime.clock import Clock
from tidelog.runtime.presence import until_dead
from tidelog.zk import election, watches
from tidelog.zk.connection import ZkState
from tidelog.zk.controller_writer import ControllerMoved as EpochIsOver
from tidelog.zk.controller_writer import ControllerWriter
from tidelog.zk.errors import ConnectionLost, NoNode, SessionExpired, ZkError
from tidelog.zk.registrant import PARENTS
from tidelog.zk.registration import fence
from tidelog.zk.session import ZkSession
from tidelog.zk.znodes import ControllerEpochZnode, ControllerZnode

# After an election that came to nothing /controller is looked at again, also if no watch fires.
_LOOK_AGAIN_S = 0.1

_logger = logs.get("controller")

Peer = tuple[Role, int]


class Acting:
    """The shell around `core.Controller`. Decides nothing."""

    def __init__(
        self, core: Controller, controller_id: int, session: ZkSession, observers: Observers, clock: Clock
    ) -> None:
        self._core = core
        self._id = ControllerId(controller_id)
        self._session = session
        self._observers = observers
        self._clock = clock
        self._inbox: asyncio.Queue[Event] = asyncio.Queue()
        self._writer: ControllerWriter | None = None
        self._attending: dict[Peer, asyncio.Task[None]] = {}
        self._senders: dict[Peer, tuple[Sender, asyncio.Task[None]]] = {}
        self._may_send = asyncio.Event()
        self._tasks: Background
        self._look_wanted = asyncio.Event()
        self._listener: Callable[[], None] = lambda: None

    def post(self, event: Event) -> None:
        self._inbox.put_nowait(event)

    def after_each_event(self, listener: Callable[[], None]) -> None:
        self._listener = listener

    async def run(self, tasks: Background) -> None:
        """Follow ZooKeeper and handle events until cancelled."""
        self._tasks = tasks
        self._session.add_state_listener(self._on_state)
        self._on_state(self._session.state)
        active = watches.DataWatch(self._session, ControllerZnode.PATH, lambda _: self.look())
        members = [watches.RegistrationsWatch(self._session, path, self._poster(r)) for r, path in PARENTS.items()]
        tasks.spawn(self._look_when_wanted(), "look at /controller")
        try:
            while True:
                await self._handle(await self._inbox.get())
        finally:
            active.stop()
            for watch in members:
                watch.stop()

    def look(self) -> None:
        """Read /controller soon, and tell the core."""
        self._look_wanted.set()

    def _poster(self, role: Role) -> Callable[[Mapping[int, watches.Member]], None]:
        def post(found: Mapping[int, watches.Member]) -> None:
            members = {
                id: Member(id, each.epoch, each.registration.endpoints, each.registration.rack)
                for id, each in found.items()
            }
            self.post(MembersChanged(role, members))

        return post

    def _on_state(self, state: ZkState) -> None:
        """SUSPENDED means stop acting: another controller may have been elected without our knowing."""
        if state is ZkState.CONNECTED:
            self._may_send.set()
            self.look()
        else:
            self._may_send.clear()

    async def _look_when_wanted(self) -> None:
        while True:
            await self._look_wanted.wait()
            self._look_wanted.clear()
            try:
                self.post(await self._read_controller())
            except (ConnectionLost, SessionExpired):
                await self._session.connected()
                self.look()

    async def _read_controller(self) -> ControllerSeen:
        """The epoch's version first: if an election comes between the two reads, acting on them fails its check."""
        try:
            version = (await self._session.get(ControllerEpochZnode.PATH)).version
        except NoNode:
            version = -1
        active = await election.read_active(self._session)
        return ControllerSeen(None if active is None else active.controller_id, version)

    async def _handle(self, event: Event) -> None:
        for effect in self._core.on(event):
            await self._execute(effect)
        self._listener()

    async def _execute(self, effect: Effect) -> None:
        match effect:
            case Elect(replaced):
                await self._elect(replaced)
            case StartActing(epoch, version):
                self._writer = ControllerWriter(self._session, version)
                _logger.info("elected", controller_epoch=epoch)
            case Resign(why):
                self._resign(why)
            case Attend(role, member):
                self._attend(role, member)
            case Unattend(role, id):
                self._unattend((role, id))
            case OpenSender(role, member):
                self._open_sender(role, member)
            case CloseSender(role, id):
                self._close_sender((role, id))
            case Tell(update):
                self._tell(update)
            case Fence(role, id, epoch):
                assert self._writer is not None, "only the active controller fences"
                self._tasks.spawn(self._fence(self._writer, role, id, epoch), f"fence {role} {id}")

    async def _elect(self, replaced: int | None) -> None:
        try:
            result = await election.elect(
                self._session, self._id, self._clock.now_ms(), replace_epoch_zk_version=replaced
            )
        except ZkError as error:
            _logger.warning("election came to nothing", why=error)
            result = None
        if isinstance(result, election.Elected):
            self.post(Elected(result.controller_epoch, result.epoch_zk_version))
        else:
            self.post(NotElected())
            asyncio.get_running_loop().call_later(_LOOK_AGAIN_S, self.look)

    def _resign(self, why: str) -> None:
        _logger.warning("resigned", why=why)
        self._writer = None
        for peer in tuple(self._attending):
            self._unattend(peer)
        for peer in tuple(self._senders):
            self._close_sender(peer)
        self.look()

    def _attend(self, role: Role, member: Member) -> None:
        self._unattend((role, member.id))
        task = self._tasks.spawn(self._until_dead(role, member), f"attend {role} {member.id}")
        self._attending[role, member.id] = task

    def _unattend(self, peer: Peer) -> None:
        if (task := self._attending.pop(peer, None)) is not None:
            task.cancel()

    async def _until_dead(self, role: Role, member: Member) -> None:
        endpoint = member.endpoint(GRPC_LISTENER)
        if endpoint is not None:
            await until_dead(endpoint, member.epoch)
            _logger.warning("found dead", role=role, id=member.id, epoch=member.epoch)
            self.post(PresenceLost(role, member.id, member.epoch))

    def _open_sender(self, role: Role, member: Member) -> None:
        self._close_sender((role, member.id))
        sender = Sender(role, member, lambda epoch: self.post(ControllerMoved(epoch)))
        task = self._tasks.spawn(sender.run(self._may_send), f"tell {role} {member.id}")
        self._senders[role, member.id] = (sender, task)

    def _close_sender(self, peer: Peer) -> None:
        if (entry := self._senders.pop(peer, None)) is not None:
            entry[1].cancel()

    def _tell(self, update: MetadataUpdate) -> None:
        for sender, _ in self._senders.values():
            sender.send(update)
        self._observers.publish(update)

    async def _fence(self, writer: ControllerWriter, role: Role, id: int, epoch: int) -> None:
        controller_epoch = self._core.controller_epoch
        try:
            fenced = await fence(writer, PARENTS[role], id, BrokerEpoch(epoch))
        except EpochIsOver:
            self.post(ControllerMoved(controller_epoch))
        except ZkError as error:
            _logger.warning("not fenced; its session will end", role=role, id=id, why=error)
        else:
            if fenced:
                _logger.info("fenced", role=role, id=id, epoch=epoch)
