"""One ZooKeeper session over kazoo: connecting, its state, and the way of a request to kazoo's thread and back.

Kazoo's threads only hand things over: every result, watch and state change is applied on the event loop. A state goes

    SUSPENDED -> CONNECTED -> SUSPENDED -> CONNECTED (same session id: nothing was lost)
                                        -> LOST -> CONNECTED (new session id: ephemeral nodes are gone)

SUSPENDED means stop acting. Kazoo learns of an expired session only by reconnecting, so LOST may come late.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kazoo.client import KazooClient
from kazoo.protocol.states import EventType, KeeperState, WatchedEvent
from kazoo.retry import KazooRetry

from tidelog.zk.errors import ConnectionLost, NodeExists, SessionExpired, ZkError, from_kazoo
from tidelog.zk.handshake import be_impatient
from tidelog.zk.operations import Watcher, WatchEvent, WatchKind

log = logging.getLogger(__name__)
# While ZooKeeper is away kazoo warns at every attempt, several a second; our own lines tell of the changes.
_kazoo_log = logging.getLogger(f"{__name__}.kazoo")
_kazoo_log.setLevel(logging.ERROR)

# Kazoo wakes its thread by a byte in a socket pair, and writing it blocks, with the event loop, after about 280 bytes
# that were not taken out yet. So no more than this many requests are in kazoo's hands at a time.
IN_FLIGHT_MAX = 128


class ZkState(StrEnum):
    """What a process may assume of its session."""

    CONNECTED = "CONNECTED"
    SUSPENDED = "SUSPENDED"
    LOST = "LOST"


StateListener = Callable[[ZkState], None]
Submit = Callable[[KazooClient], Any]


@dataclass(frozen=True, slots=True)
class _LoopWatcher:
    """A watch as kazoo keeps it. Equal watchers are one to kazoo, so arming a watch twice still fires it once."""

    connection: "ZkConnection"
    watcher: Watcher

    def __call__(self, event: WatchedEvent) -> None:
        self.connection.hand_over_watch(self.watcher, event)


class ZkConnection:
    """The session's life: start, connected, state, close; and `send`, the only way to kazoo."""

    def __init__(self, connect: str, session_timeout_ms: int, *, close_timeout_ms: int = 5_000) -> None:
        hosts, _, chroot = connect.partition("/")
        self.chroot = f"/{chroot.strip('/')}" if chroot.strip("/") else ""
        self._close_timeout_s = close_timeout_ms / 1000
        self._client = KazooClient(
            hosts=hosts,
            timeout=session_timeout_ms / 1000,
            # Kazoo resolves the names again at every attempt. Its own delays grow to seconds; these stay near 0.25 s.
            connection_retry=KazooRetry(max_tries=-1, delay=0.05, backoff=1.5, max_delay=0.25),
            logger=_kazoo_log,
        )
        be_impatient(self._client)
        self._client.add_listener(self._on_kazoo_state)
        self._state = ZkState.SUSPENDED
        self._client_id: tuple[int, bytes] = (0, b"")
        self._previous_session_id = 0
        self._listeners: list[StateListener] = []
        self._slots = asyncio.Semaphore(IN_FLIGHT_MAX)
        self._in_flight: set[asyncio.Future[Any]] = set()
        self._closed = False
        self._chroot_made = not self.chroot
        self._chroot_task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop
        self._gate: asyncio.Future[None]

    def start(self) -> None:
        """Begin to connect, in the background and for as long as it takes."""
        self._loop = asyncio.get_running_loop()
        self._gate = self._loop.create_future()
        self._client.start_async()

    async def connected(self) -> None:
        """Wait until requests can be sent; raises SessionExpired only if the session is closed meanwhile."""
        while True:
            try:
                return await asyncio.shield(self._gate)
            except SessionExpired:
                if self._closed:
                    raise

    @property
    def state(self) -> ZkState:
        return self._state

    @property
    def session_id(self) -> int:
        """The id of the present session, 0 while there is none."""
        return self._client_id[0]

    @property
    def previous_session_id(self) -> int:
        """The id of the last session that expired, 0 if none did. Nodes that it owned were ours."""
        return self._previous_session_id

    @property
    def client_id(self) -> tuple[int, bytes]:
        """Session id and password: whoever holds both can take the session over, and end it."""
        return self._client_id

    def add_state_listener(self, listener: StateListener) -> None:
        """Call `listener` on the loop at every change of state, in order. It must not wait for ZooKeeper."""
        self._listeners.append(listener)

    def remove_state_listener(self, listener: StateListener) -> None:
        if listener in self._listeners:
            self._listeners.remove(listener)

    async def close(self) -> None:
        """End the session, so that its ephemeral nodes go at once; give up after a bound if ZooKeeper is away."""
        if self._closed:
            return
        self._closed = True
        stopped = self._loop.create_future()
        # A daemon thread, unlike an executor's, does not hold up the end of the process if kazoo hangs.
        threading.Thread(target=self._stop_kazoo, args=(stopped,), daemon=True, name="zk-close").start()
        done, _ = await asyncio.wait([stopped], timeout=self._close_timeout_s)
        if not done:
            log.warning("ZooKeeper did not confirm the end of session 0x%x; it will expire", self.session_id)
        self._end()

    def _stop_kazoo(self, stopped: asyncio.Future[None]) -> None:
        try:
            self._client.stop()
            self._client.close()
        finally:
            self._hand_over(_resolve, stopped)

    def _end(self) -> None:
        self._state = ZkState.LOST
        self._listeners.clear()
        over = SessionExpired("the session is closed")
        for future in self._in_flight:
            if not future.done():
                future.set_exception(over)
        if self._gate.done():
            self._gate = self._loop.create_future()
        _fail(self._gate, over)

    async def send(self, submit: Submit, *, path: str = "") -> Any:
        """Hand one request to kazoo once connected, and wait for its result."""
        await self._slots.acquire()
        try:
            await asyncio.shield(self._gate)
            result = submit(self._client)
        except BaseException:
            self._slots.release()
            raise
        return await self._outcome(result, path)

    async def _outcome(self, result: Any, path: str) -> Any:
        future: asyncio.Future[Any] = self._loop.create_future()
        self._in_flight.add(future)
        result.rawlink(lambda ready: self._hand_over(self._finish, future, ready))
        try:
            return await future
        except ZkError:
            raise
        except Exception as error:
            raise from_kazoo(error, path=path) from error

    def _finish(self, future: "asyncio.Future[Any]", result: Any) -> None:
        self._slots.release()
        self._in_flight.discard(future)
        if future.done():
            return
        if result.exception is None:
            future.set_result(result.value)
        else:
            future.set_exception(result.exception)

    def _hand_over(self, call: Callable[..., None], *args: Any) -> None:
        """Run `call` on the loop; called on kazoo's threads, which may outlive the loop when closing took too long."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call, *args)

    def kazoo_watcher(self, watcher: Watcher | None) -> _LoopWatcher | None:
        return None if watcher is None else _LoopWatcher(self, watcher)

    def hand_over_watch(self, watcher: Watcher, event: WatchedEvent) -> None:
        """Pass a fired watch to the loop. A watch that only ended with its connection is not passed on."""
        if event.type != EventType.NONE:
            path = event.path.removeprefix(self.chroot) or "/"
            self._hand_over(watcher, WatchEvent(WatchKind(event.type), path))

    def _on_kazoo_state(self, state: str) -> None:
        died = self._client.client_state == KeeperState.CLOSED
        self._hand_over(self._on_state, ZkState(state), self._client.client_id, died)

    def _on_state(self, state: ZkState, client_id: tuple[int, bytes] | None, died: bool) -> None:
        if self._closed:
            return
        log.info("ZooKeeper session 0x%x: %s", client_id[0] if client_id else self.session_id, state)
        self._state = state
        if state is ZkState.CONNECTED:
            self._open(client_id or self._client_id)
        else:
            self._shut(lost=state is ZkState.LOST)
        for listener in tuple(self._listeners):
            self._tell(listener, state)
        if died:
            self._revive()

    def _tell(self, listener: StateListener, state: ZkState) -> None:
        try:
            listener(state)
        except Exception:
            # The others must hear of it all the same: not to stop acting is worse than one bug.
            log.exception("a listener to the ZooKeeper session failed")

    def _open(self, client_id: tuple[int, bytes]) -> None:
        self._client_id = client_id
        if self._chroot_made:
            _resolve(self._gate)
        else:
            self._chroot_task = self._loop.create_task(self._make_chroot())

    async def _make_chroot(self) -> None:
        """Create what is missing of the chroot, and only then let requests through."""
        try:
            await self._create_chroot_nodes()
        except (ConnectionLost, SessionExpired):
            return  # The next connection begins again.
        except ZkError as error:
            _fail(self._gate, error)
            return
        self._chroot_made = True
        if self._state is ZkState.CONNECTED:
            _resolve(self._gate)

    async def _create_chroot_nodes(self) -> None:
        await self._slots.acquire()
        if await self._outcome(self._client.exists_async(self.chroot), self.chroot) is not None:
            return
        names = self.chroot.strip("/").split("/")
        for depth in range(1, len(names) + 1):
            await self._slots.acquire()
            path = "/" + "/".join(names[:depth])
            with suppress(NodeExists):
                await self._outcome(self._client.create_async(path, b""), path)

    def _shut(self, *, lost: bool) -> None:
        if lost:
            self._previous_session_id, self._client_id = self.session_id, (0, b"")
            _fail(self._gate, SessionExpired("the session expired"))
        if self._gate.done():
            self._gate = self._loop.create_future()

    def _revive(self) -> None:
        """Start kazoo's connection thread again: it ends for good at an exception that its author did not foresee."""
        log.error("the ZooKeeper client ended unexpectedly and is started again")
        threading.Thread(target=self._client.start_async, daemon=True, name="zk-revive").start()


def _resolve(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


def _fail(future: "asyncio.Future[None]", error: ZkError) -> None:
    if not future.done():
        future.set_exception(error)
        future.exception()  # Marks it as seen: that nobody waited is not a fault.
