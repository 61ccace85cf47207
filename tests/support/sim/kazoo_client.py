"""In the place of kazoo's client: the same calls and states, over the simulated network."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from kazoo import exceptions
from kazoo.protocol.serialization import CheckVersion, Create, SetData
from kazoo.protocol.states import KazooState, KeeperState, WatchedEvent

from tests.support.sim.ensemble import PORT, SERVERS
from tests.support.sim.network import Attempt, End
from tidelog.zk import operations

if TYPE_CHECKING:
    from tests.support.sim.node_loop import NodeLoop

_CONNECT_TIMEOUT_S = 0.5
_RETRY_S_MAX = 0.25


class Result:
    """What kazoo's asynchronous calls give at once."""

    def __init__(self) -> None:
        self.value: Any = None
        self.exception: Exception | None = None
        self._is_ready = False
        self._links: list[Callable[[Result], None]] = []

    def rawlink(self, call: "Callable[[Result], None]") -> None:
        if self._is_ready:
            call(self)
        else:
            self._links.append(call)

    def finish(self, outcome: object) -> None:
        if isinstance(outcome, Exception):
            self.exception = outcome
        else:
            self.value = outcome
        self._is_ready = True
        for call in self._links:
            call(self)


class Transaction:
    def __init__(self, client: "SimKazoo") -> None:
        self.operations: list[Any] = []
        self._client = client

    def commit_async(self) -> Result:
        return self._client.ask("multi", [_op(one) for one in self.operations])


class SimKazoo:
    def __init__(self, hosts: str, timeout: float, connection_retry: object, logger: object) -> None:
        self.client_state = KeeperState.CONNECTING
        self._loop = cast("NodeLoop", asyncio.get_running_loop())
        self._process = self._loop.process
        self._network = self._process.network
        self._timeout_s = timeout
        self._session_id = 0
        self._listeners: list[Callable[[str], None]] = []
        self._pending: dict[int, tuple[Result, str, str, object]] = {}
        self._data_watchers: dict[str, dict[Any, None]] = {}
        self._child_watchers: dict[str, dict[Any, None]] = {}
        self._xid = 0
        self._seen_zxid = 0
        self._heard_s = 0.0
        self._end: End | None = None
        self._attempt: Attempt | None = None
        self._attempts = 0
        self._is_connected = False
        self._is_stopped = False

    @property
    def client_id(self) -> tuple[int, bytes]:
        return self._session_id, b"secret"

    def add_listener(self, listener: Callable[[str], None]) -> None:
        self._listeners.append(listener)

    def start_async(self) -> None:
        self._connect()
        self._beat()

    def stop(self) -> None:
        self._is_stopped = True
        if self._end is not None:
            self._end.send(("bye",))
            self._end.close()

    def close(self) -> None: ...

    # Requests

    def get_async(self, path: str, watch: object = None) -> Result:
        return self.ask("get", (path, watch is not None), watch)

    def exists_async(self, path: str, watch: object = None) -> Result:
        return self.ask("exists", (path, watch is not None), watch)

    def get_children_async(self, path: str, watch: object = None, *, include_data: bool = False) -> Result:
        assert include_data, "only this form is simulated"
        return self.ask("children", (path, watch is not None), watch)

    def transaction(self) -> Transaction:
        return Transaction(self)

    def ask(self, kind: str, asked: Any, watch: object = None) -> Result:
        result = Result()
        if not self._is_connected or self._end is None:
            result.finish(exceptions.ConnectionLoss())
            return result
        self._xid += 1
        self._pending[self._xid] = (result, kind, asked[0] if watch is not None else "", watch)
        self._end.send((self._xid, kind, asked))
        return result

    # The connection

    def _connect(self) -> None:
        if self._is_stopped:
            return
        self._attempts += 1
        number = self._attempts
        server = self._loop.process.machine.scheduler.random.choice(SERVERS)
        self._attempt = self._network.connect(self._process, server, PORT, self._opened, lambda: None)
        self._loop.call_later(_CONNECT_TIMEOUT_S, self._give_up, number)

    def _give_up(self, number: int) -> None:
        if number == self._attempts and not self._is_connected:
            self._drop()

    def _opened(self, end: End) -> None:
        self._end = end
        end.on_message = self._on_message
        end.on_close = self._drop
        end.send(("hello", self._session_id, self._process, self._timeout_s * 1000, self._seen_zxid))

    def _beat(self) -> None:
        if self._is_stopped:
            return
        if self._is_connected and self._end is not None:
            if self._loop.time() - self._heard_s > self._timeout_s * 2 / 3:
                self._drop()
            else:
                self._end.send(("ping",))
        self._loop.call_later(self._timeout_s / 3, self._beat)

    def _drop(self) -> None:
        """The connection is gone, or as good as gone: what was asked has no answer, and no watch is left."""
        if self._attempt is not None:
            self._attempt.cancel()
        if self._end is not None:
            self._end.on_message = lambda _: None
            self._end.on_close = lambda: None
            self._end.close()
        was_connected, self._is_connected, self._end = self._is_connected, False, None
        self._attempts += 1
        self._data_watchers.clear()
        self._child_watchers.clear()
        pending, self._pending = self._pending, {}
        if was_connected:
            self._tell(KazooState.SUSPENDED)
        for result, _, _, _ in pending.values():
            result.finish(exceptions.ConnectionLoss())
        self._loop.call_later(self._process.machine.scheduler.random.uniform(0.02, _RETRY_S_MAX), self._connect)

    def _on_message(self, message: tuple[Any, ...]) -> None:
        self._heard_s = self._loop.time()
        match message:
            case ("welcome", session_id):
                self._session_id = session_id
                self._is_connected = True
                self._tell(KazooState.CONNECTED)
            case ("expired",):
                self._tell(KazooState.LOST)
                self._session_id = 0
                self._drop()
            case ("reply", xid, outcome, zxid):
                self._seen_zxid = max(self._seen_zxid, zxid)
                self._on_reply(xid, outcome)
            case ("event", kind, path):
                self._on_event(kind, path)

    def _on_reply(self, xid: int, outcome: object) -> None:
        result, kind, path, watch = self._pending.pop(xid)
        if watch is not None and (not isinstance(outcome, Exception) or kind == "exists"):
            watchers = self._child_watchers if kind == "children" else self._data_watchers
            watchers.setdefault(path, {})[watch] = None
        result.finish(outcome)

    def _on_event(self, kind: str, path: str) -> None:
        watchers = self._child_watchers.pop(path, {}) if kind in ("CHILD", "DELETED") else {}
        if kind != "CHILD":
            watchers |= self._data_watchers.pop(path, {})
        for watcher in watchers:
            watcher(WatchedEvent(kind, KeeperState.CONNECTED, path))

    def _tell(self, state: str) -> None:
        for listener in self._listeners:
            listener(state)


def _op(request: Any) -> operations.Op:
    if isinstance(request, Create):
        flags = request.flags
        return operations.Create(request.path, request.data, ephemeral=bool(flags & 1), sequence=bool(flags & 2))
    if isinstance(request, SetData):
        return operations.SetData(request.path, request.data, request.version)
    if isinstance(request, CheckVersion):
        return operations.Check(request.path, request.version)
    return operations.Delete(request.path, request.version)
