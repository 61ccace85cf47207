"""Keeps a process registered for as long as it lives: a registration that was lost is made anew, with a larger epoch.

An id that is taken is not always taken for good. Its holder may be a former incarnation whose session has not ended yet.
So the holder is asked: one that lives wins, and this process refuses to start; one that is proven dead is replaced at once;
one that is silent is waited for, until ZooKeeper ends its session.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from tidelog.kafka.cluster import Role
from tidelog.kafka.types import GRPC_LISTENER
from tidelog.runtime import logs
from tidelog.runtime.faults import StartupError
from tidelog.runtime.presence import Incarnation, Verdict, examine
from tidelog.runtime.readiness import Readiness
from tidelog.zk.connection import ZkState
from tidelog.zk.errors import ConnectionLost, SessionExpired
from tidelog.zk.operations import Znode
from tidelog.zk.registration import IdTaken, register, unregister
from tidelog.zk.session import ZkSession
from tidelog.zk.watches import DataWatch
from tidelog.zk.znodes import BROKER_IDS, CONTROLLER_IDS, COORDINATOR_IDS, BrokerRegistration, encode_registration

PARENTS = {
    Role.BROKER: BROKER_IDS,
    Role.CONTROLLER: CONTROLLER_IDS,
    Role.GROUP_COORDINATOR: COORDINATOR_IDS,
}

SESSION, REGISTERED = "zookeeper", "registered"  # conditions of readiness
_EXAMINE_TIMEOUT_MS = 2_000
_HOLDER_PAUSE_S = 0.2

_logger = logs.get("registration")


class Registrant:
    """One process's registration under /brokers/ids, /controllers/ids or /coordinators/ids."""

    def __init__(
        self,
        session: ZkSession,
        role: Role,
        node_id: int,
        describe: Callable[[], BrokerRegistration],
        readiness: Readiness,
        *,
        on_registered: Callable[[int], None] = lambda _: None,
        on_lost: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.incarnation = Incarnation()
        self._session = session
        self._role = role
        self._id = node_id
        self._describe = describe
        self._readiness = readiness
        self._on_registered = on_registered
        self._on_lost = on_lost
        self._gone = asyncio.Event()
        self._why_gone = ""
        self._watch: DataWatch | None = None
        readiness.expect(REGISTERED, "not registered yet")

    async def register(self) -> None:
        """Wait for ZooKeeper and register; raises StartupError if a live process holds the id."""
        self._gone.clear()
        replaceable = self._session.previous_session_id
        while self.incarnation.epoch is None:
            await self._session.connected()
            registration = self._describe()
            try:
                epoch = await register(
                    self._session,
                    PARENTS[self._role],
                    self._id,
                    encode_registration(registration),
                    previous_session_id=replaceable,
                )
            except IdTaken as taken:
                replaceable = await self._contest(taken, registration)
            except (ConnectionLost, SessionExpired):
                continue
            else:
                self._begin(epoch)

    async def keep_registered(self) -> None:
        """Register again whenever the registration is lost; runs until cancelled."""
        while True:
            await self._gone.wait()
            self._end(self._why_gone)
            await self.register()

    async def unregister(self) -> None:
        """Leave of our own will: nobody has to find out."""
        epoch = self.incarnation.epoch
        self._stop_watch()
        if epoch is not None and self._session.state is ZkState.CONNECTED:
            with suppress(ConnectionLost, SessionExpired):
                await unregister(self._session, PARENTS[self._role], self._id)
            self.incarnation.disown(epoch)
            _logger.info("unregistered", epoch=epoch)

    def _begin(self, epoch: int) -> None:
        self.incarnation.begin(epoch)
        self._watch = DataWatch(self._session, f"{PARENTS[self._role]}/{self._id}", self._on_data)
        self._session.add_state_listener(self._on_state)
        self._readiness.ok(REGISTERED)
        _logger.info("registered", epoch=epoch, session=hex(self._session.session_id))
        self._on_registered(epoch)

    def _end(self, why: str) -> None:
        epoch = self.incarnation.epoch
        assert epoch is not None, "a registration ends only after it began"
        self._stop_watch()
        self.incarnation.disown(epoch)
        self._readiness.not_ready(REGISTERED, why)
        _logger.warning("registration lost", epoch=epoch, why=why)
        self._on_lost(why)

    def _stop_watch(self) -> None:
        if self._watch is not None:
            self._watch.stop()
            self._watch = None
        self._session.remove_state_listener(self._on_state)

    def _on_state(self, state: ZkState) -> None:
        if state is ZkState.LOST:
            self._lose("the ZooKeeper session expired")

    def _on_data(self, node: Znode | None) -> None:
        if node is None or node.czxid != self.incarnation.epoch:
            self._lose("the registration was removed: this process was taken for dead")

    def _lose(self, why: str) -> None:
        self._why_gone = why
        self._gone.set()

    async def _contest(self, taken: IdTaken, own: BrokerRegistration) -> int:
        """The session to replace, 0 for none yet; raises StartupError if the holder lives."""
        self.incarnation.disown(taken.epoch)
        verdict = await self._examine_holder(taken, own)
        if verdict is Verdict.ALIVE:
            raise StartupError(
                f"{self._role} id {self._id} is taken by a live process at {taken.at}; stop it or choose another id"
            )
        if verdict is Verdict.DEAD:
            _logger.info("replacing a dead registration", epoch=taken.epoch, session=hex(taken.session_id))
            return taken.session_id
        why = f"{self._role} id {self._id} is registered by a silent process at {taken.at}; waiting for its session to end"
        if self._readiness.reasons.get(REGISTERED) != why:
            _logger.warning("id is taken", why=why)
            self._readiness.not_ready(REGISTERED, why)
        await asyncio.sleep(_HOLDER_PAUSE_S)
        return 0

    async def _examine_holder(self, taken: IdTaken, own: BrokerRegistration) -> Verdict:
        endpoint = taken.registration.endpoint(GRPC_LISTENER) if taken.registration else None
        if endpoint is None:
            return Verdict.UNKNOWN
        # Our own server listens there now, so the holder does not: it was a former incarnation of this process.
        if endpoint == own.endpoint(GRPC_LISTENER):
            return Verdict.DEAD
        return await examine(endpoint, taken.epoch, _EXAMINE_TIMEOUT_MS)


def follow_session(session: ZkSession, connect: str, readiness: Readiness) -> None:
    """Tell readiness and the log what becomes of the session."""

    def on_state(state: ZkState) -> None:
        if state is ZkState.CONNECTED:
            _logger.info("connected to ZooKeeper", at=connect, session=hex(session.session_id))
            readiness.ok(SESSION)
        else:
            _logger.warning("ZooKeeper connection lost", at=connect, state=state)
            readiness.not_ready(SESSION, f"the connection to ZooKeeper at {connect} is {state.lower()}; waiting for it")

    readiness.expect(SESSION, f"waiting for ZooKeeper at {connect}")
    _logger.info("waiting for ZooKeeper", at=connect)
    session.add_state_listener(on_state)
