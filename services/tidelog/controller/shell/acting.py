"""Runs the controller's core: one inbox of events, and the execution of the effects that each one brings.

Events come from watches, streams and answers; the inbox hands them to the core one at a time, and effects are executed in
order before the next event. What an effect brings back at once (an election's outcome, ZooKeeper's answer) goes to the core
before anything else. Only what may take long and needs no order (fencing, attending) goes on beside it.
"""

import asyncio
from collections import deque
from collections.abc import Mapping
from functools import partial

from tidelog.controller.core.controller import Controller
from tidelog.controller.core.effects import (
    Attend,
    DismissSender,
    Effect,
    Elect,
    Fence,
    Note,
    OpenSender,
    Reply,
    Resign,
    Send,
    StartActing,
    Tell,
    TellOne,
    Unattend,
    Unwatch,
    Watch,
    WatchKind,
    What,
    Zk,
)
from tidelog.controller.core.events import (
    ControllerMoved,
    ControllerSeen,
    Elected,
    Event,
    MembersChanged,
    NotElected,
    ZkAnswered,
    ZnodeChanged,
)
from tidelog.controller.core.zk_requests import ZkRequest
from tidelog.controller.shell import zk_execution
from tidelog.controller.shell.admin_desk import AdminDesk
from tidelog.controller.shell.observers import Observers
from tidelog.controller.shell.peers import Peers
from tidelog.controller.shell.reporting import Reporting
from tidelog.controller.shell.senders import Authority
from tidelog.kafka.cluster import Member, MetadataUpdate, Role
from tidelog.kafka.types import BrokerEpoch, ControllerId
from tidelog.runtime import logs
from tidelog.runtime.background import Background
from tidelog.runtime.clock import Clock
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


class Acting:
    """The shell around `core.Controller`. Decides nothing."""

    def __init__(
        self,
        core: Controller,
        controller_id: int,
        session: ZkSession,
        observers: Observers,
        clock: Clock,
        reporting: Reporting,
    ) -> None:
        self.desk = AdminDesk(self.post)
        self._core = core
        self._id = ControllerId(controller_id)
        self._session = session
        self._observers = observers
        self._clock = clock
        self._reporting = reporting
        self._peers = Peers(self.post)
        self._inbox: asyncio.Queue[Event] = asyncio.Queue()
        self._writer: ControllerWriter | None = None
        self._watches: dict[str, watches.ChildrenWatch | watches.DataWatch] = {}
        self._tasks: Background
        self._look_wanted = asyncio.Event()

    def post(self, event: Event) -> None:
        self._inbox.put_nowait(event)

    async def run(self, tasks: Background) -> None:
        """Follow ZooKeeper and handle events until cancelled."""
        self._tasks = tasks
        self._peers.use(tasks)
        self._session.add_state_listener(self._on_state)
        self._on_state(self._session.state)
        active = watches.DataWatch(self._session, ControllerZnode.PATH, lambda _: self.look())
        members = [
            watches.RegistrationsWatch(self._session, path, partial(self._on_members, role))
            for role, path in PARENTS.items()
        ]
        tasks.spawn(self._look_when_wanted(), "look at /controller")
        try:
            while True:
                await self._handle(await self._inbox.get())
        finally:
            for watch in (active, *members, *self._watches.values()):
                watch.stop()

    def look(self) -> None:
        """Read /controller soon, and tell the core."""
        self._look_wanted.set()

    def _on_members(self, role: Role, found: Mapping[int, watches.Member]) -> None:
        members = {
            id: Member(id, each.epoch, each.registration.endpoints, each.registration.rack)
            for id, each in found.items()
        }
        self.post(MembersChanged(role, members))

    def _on_state(self, state: ZkState) -> None:
        """SUSPENDED means stop acting: another controller may have been elected without our knowing."""
        if state is ZkState.CONNECTED:
            self._peers.may_send.set()
            self.look()
        else:
            self._peers.may_send.clear()

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
        events = deque([event])
        while events:
            for effect in self._core.on(events.popleft()):
                if (brought := await self._execute(effect)) is not None:
                    events.append(brought)
        self._reporting.refresh()

    async def _execute(self, effect: Effect) -> Event | None:
        """Do it; gives the event that it brings at once, if any."""
        match effect:
            case Elect(replaced):
                return await self._elect(replaced)
            case Zk(tag, request):
                return await self._ask_zookeeper(tag, request)
            case StartActing(epoch, version):
                self._writer = ControllerWriter(self._session, version)
                _logger.info("elected", controller_epoch=epoch)
            case Resign(why):
                self._resign(why)
            case Watch(path, kind):
                self._watch(path, kind)
            case Unwatch(path):
                self._unwatch(path)
            case Fence(role, id, epoch):
                assert self._writer is not None, "only the active controller fences"
                self._tasks.spawn(self._fence(self._writer, role, id, epoch), f"fence {role} {id}")
            case Note():
                self._reporting.note(effect)
            case Reply(number, answer):
                self.desk.reply(number, answer)
            case _:
                self._execute_for_peers(effect)
        return None

    def _execute_for_peers(self, effect: Effect) -> None:
        match effect:
            case Attend(role, member):
                self._peers.attend(role, member)
            case Unattend(role, id):
                self._peers.unattend(role, id)
            case OpenSender(role, member):
                self._peers.open_sender(role, member, Authority(self._id, self._core.controller_epoch))
            case DismissSender(role, id):
                self._peers.dismiss_sender(role, id)
            case Tell(update):
                self._tell(update)
            case TellOne(role, id, epoch, update):
                self._peers.send(role, id, epoch, update)
            case Send(id, epoch, request):
                self._peers.send(Role.BROKER, id, epoch, request)
            case _:
                raise AssertionError(f"nobody executes {effect}")

    async def _elect(self, replaced: int | None) -> Event:
        try:
            result = await election.elect(
                self._session, self._id, self._clock.now_ms(), replace_epoch_zk_version=replaced
            )
        except ZkError as error:
            _logger.warning("election came to nothing", why=error)
            result = None
        if isinstance(result, election.Elected):
            return Elected(result.controller_epoch, result.epoch_zk_version)
        asyncio.get_running_loop().call_later(_LOOK_AGAIN_S, self.look)
        return NotElected()

    async def _ask_zookeeper(self, tag: int, request: ZkRequest) -> Event | None:
        assert self._writer is not None, "only the active controller works"
        try:
            return ZkAnswered(tag, await zk_execution.execute(self._writer, request))
        except EpochIsOver:
            return ControllerMoved(self._core.controller_epoch)
        except SessionExpired:
            # The registration is lost with the session, and with it everything that waits here.
            return None

    def _resign(self, why: str) -> None:
        self._reporting.note(Note(What.RESIGNED, f"controller epoch {self._core.controller_epoch}", why))
        self._writer = None
        self._peers.close_all()
        for path in tuple(self._watches):
            self._unwatch(path)
        self.look()

    def _watch(self, path: str, kind: WatchKind) -> None:
        self._unwatch(path)
        changed = ZnodeChanged(path)
        if kind is WatchKind.CHILDREN:
            self._watches[path] = watches.ChildrenWatch(self._session, path, lambda _: self.post(changed))
        else:
            self._watches[path] = watches.DataWatch(self._session, path, lambda _: self.post(changed))

    def _unwatch(self, path: str) -> None:
        if (watch := self._watches.pop(path, None)) is not None:
            watch.stop()

    def _tell(self, update: MetadataUpdate) -> None:
        self._peers.tell_all(update)
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
                self._reporting.note(Note(What.FENCED, f"{role} {id}", f"epoch {epoch} was found dead", "found dead"))
