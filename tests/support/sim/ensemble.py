"""ZooKeeper as its clients see it: three servers that lag behind each other, sessions that expire, one-shot watches.

Writes are decided in one place and order. Every server applies them in that order, each after a delay of its own, and
answers reads from what it has: so a read may be stale, but never older than what the same session has seen before, nor
older than its own writes. A watch is told to a session before any data that is newer than the change.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kazoo import exceptions
from kazoo.protocol.states import EventType, ZnodeStat

from tests.support import zookeeper_model as model
from tests.support.sim.machine import Machine, SimProcess
from tests.support.sim.network import End, Network
from tests.support.sim.trace import Trace
from tests.support.zookeeper_model import ModelError, ModelZooKeeper, Node, parent_of
from tidelog.zk.operations import Create, Delete, Op

PORT = 2181
SERVERS = ("z0", "z1", "z2")
_EXPIRY_CHECK_MS = 50.0

_ERRORS: dict[type[ModelError], type[Exception]] = {
    model.NoNode: exceptions.NoNodeError,
    model.NodeExists: exceptions.NodeExistsError,
    model.BadVersion: exceptions.BadVersionError,
    model.NotEmpty: exceptions.NotEmptyError,
}


@dataclass(slots=True)
class Session:
    id: int
    process: SimProcess
    timeout_ms: float
    heard_ms: float

    @property
    def owner(self) -> str:
        return self.process.machine.name


@dataclass(frozen=True, slots=True)
class Commit:
    """One transaction that took place: what became of each node, and who did it."""

    zxid: int
    session: Session | None
    changes: tuple[tuple[str, Node | None], ...]


class Ensemble:
    """The leader's side: the one order of all writes, and which sessions live."""

    def __init__(self, network: Network, trace: Trace) -> None:
        self.network = network
        self.tree = ModelZooKeeper()
        self.sessions: dict[int, Session] = {}
        self.committed_zxid = 0
        self.on_commit: Callable[[Commit], None] = lambda _: None
        self._trace = trace
        self._session_ids = 0
        self._scheduler = network.scheduler
        self.servers = {name: ZkServer(self, name) for name in SERVERS}
        self._scheduler.every(_EXPIRY_CHECK_MS, self._expire)

    def open_session(self, process: SimProcess, timeout_ms: float) -> int:
        self._session_ids += 1
        session = Session(self._session_ids, process, timeout_ms, self._scheduler.now_ms)
        self.sessions[session.id] = session
        return session.id

    def touch(self, session_id: int) -> bool:
        """Whether the session lives; if so it does for its timeout more."""
        session = self.sessions.get(session_id)
        if session is not None:
            session.heard_ms = self._scheduler.now_ms
        return session is not None

    def write(self, ops: Sequence[Op], session_id: int) -> list[Any]:
        """The results as kazoo gives them; SessionExpiredError if the session is over."""
        session = self.sessions.get(session_id)
        if session is None:
            raise exceptions.SessionExpiredError
        try:
            results = self.tree.multi(ops, session_id)
        except ModelError as error:
            return _failed(len(ops), error)
        self._committed(session)
        return [
            stat_of(self.tree, op.path) if isinstance(result, int) else (True if result is None else result)
            for op, result in zip(ops, results, strict=True)
        ]

    def end_session(self, session_id: int) -> None:
        session = self.sessions.pop(session_id, None)
        if session is None:
            return
        owned = [path for path, node in self.tree.nodes.items() if node.ephemeral_owner == session_id]
        self._trace.note("zk", f"session {session_id} of {session.owner} ended, with {owned}")
        if owned:
            self.tree.multi([Delete(path) for path in owned])
            self._committed(None)

    def create(self, path: str, data: bytes) -> None:
        """By hand, with a tool; nothing happens if it is there."""
        if self.tree.get(path) is None:
            self.tree.multi([Create(path, data)])
            self._committed(None)

    def delete(self, path: str) -> None:
        """By hand, with a tool."""
        if self.tree.get(path) is not None:
            self.tree.multi([Delete(path)])
            self._committed(None)

    def _expire(self) -> None:
        now_ms = self._scheduler.now_ms
        for session in list(self.sessions.values()):
            if now_ms - session.heard_ms > session.timeout_ms:
                self.end_session(session.id)

    def _committed(self, session: Session | None) -> None:
        tree = self.tree
        commit = Commit(tree.zxid, session, tuple((path, tree.get(path)) for path in tree.touched))
        self.committed_zxid = commit.zxid
        told = [(path, None if node is None else node.data) for path, node in commit.changes]
        self._trace.note("zk", f"{commit.zxid} by {session.owner if session else 'expiry'}: {told}")
        for server in self.servers.values():
            server.hear(commit)
        self.on_commit(commit)


class ZkServer:
    """One of the servers: the nodes as far as it has applied what was written, and the clients that chose it."""

    def __init__(self, ensemble: Ensemble, name: str) -> None:
        network = ensemble.network
        self.ensemble = ensemble
        self.machine = network.machines[name] = Machine(name, network.scheduler, network.trace)
        self.machine.process = self
        self.is_dead = False
        self.ends: dict[End, None] = {}
        self.ports: dict[int, Callable[[End], None]] = {PORT: self._accept}
        self.nodes: dict[str, Node] = {}
        self.zxid = 0
        self.on_applied: dict[Callable[[], None], None] = {}
        self.data_watches: dict[str, dict[_Client, None]] = {}
        self.child_watches: dict[str, dict[_Client, None]] = {}
        self._applies_ms = 0.0

    def deliver(self, call: Callable[..., object], *args: object) -> None:
        call(*args)

    def wake(self) -> None: ...

    def hear(self, commit: Commit) -> None:
        scheduler = self.ensemble.network.scheduler
        self._applies_ms = max(self._applies_ms, scheduler.now_ms + self.ensemble.network.delay_ms())
        scheduler.at(self._applies_ms, lambda: self._apply(commit))

    def children(self, path: str) -> list[str]:
        prefix = path.rstrip("/") + "/"
        below = (other[len(prefix) :] for other in self.nodes if other.startswith(prefix))
        return [name for name in below if name and "/" not in name]

    def load(self) -> None:
        """Begin with what is there, before anybody connects."""
        self.nodes, self.zxid = dict(self.ensemble.tree.nodes), self.ensemble.tree.zxid

    def _accept(self, end: End) -> None:
        _Client(self, end)

    def _apply(self, commit: Commit) -> None:
        self.zxid = commit.zxid
        for path, node in commit.changes:
            before = self.nodes.pop(path, None)
            if node is not None:
                self.nodes[path] = node
            self._fire(path, before, node)
        for call in tuple(self.on_applied):
            call()

    def _fire(self, path: str, before: Node | None, node: Node | None) -> None:
        if before is not None and node is not None and before.mzxid == node.mzxid:
            return
        kind = EventType.CREATED if before is None else EventType.DELETED if node is None else EventType.CHANGED
        told = self.data_watches.pop(path, {})
        if node is None:
            told |= self.child_watches.pop(path, {})
        for client in told:
            client.tell(kind, path)
        if before is None or node is None or before.czxid != node.czxid:
            for client in self.child_watches.pop(parent_of(path), {}):
                client.tell(EventType.CHILD, parent_of(path))


class _Client:
    """A connection of one session: its requests are answered one after the other."""

    def __init__(self, server: ZkServer, end: End) -> None:
        self._server = server
        self._end = end
        self._session_id = 0
        self._requests: deque[tuple[int, str, Any]] = deque()
        self._is_busy = False
        end.on_message = self._on_message
        end.on_close = self._forget

    def tell(self, kind: str, path: str) -> None:
        self._end.send(("event", kind, path))

    def _on_message(self, message: tuple[Any, ...]) -> None:
        match message:
            case ("hello", session_id, owner, timeout_ms, seen_zxid):
                self._once_applied(
                    seen_zxid, lambda: self._at_leader(lambda: self._greet(session_id, owner, timeout_ms))
                )
            case ("ping",):
                self._at_leader(self._touch)
                self._end.send(("pong",))
            case ("bye",):
                self._at_leader(lambda: self._server.ensemble.end_session(self._session_id))
            case (int() as xid, str() as kind, asked):
                self._at_leader(self._touch)
                self._requests.append((xid, kind, asked))
                self._next()

    def _greet(self, session_id: int, process: SimProcess, timeout_ms: float) -> None:
        ensemble = self._server.ensemble
        if session_id and not ensemble.touch(session_id):
            self._end.send(("expired",))
            return
        self._session_id = session_id or ensemble.open_session(process, timeout_ms)
        self._end.send(("welcome", self._session_id))

    def _touch(self) -> None:
        if self._session_id and not self._server.ensemble.touch(self._session_id):
            self._end.close()
            self._forget()

    def _at_leader(self, call: Callable[[], None]) -> None:
        network = self._server.ensemble.network
        network.scheduler.after(network.delay_ms(), call)

    def _once_applied(self, zxid: int, call: Callable[[], None]) -> None:
        server = self._server
        if server.zxid >= zxid:
            call()
            return

        def look() -> None:
            if server.zxid >= zxid:
                del server.on_applied[look]
                call()

        server.on_applied[look] = None

    def _next(self) -> None:
        if self._is_busy or not self._requests:
            return
        xid, kind, asked = self._requests.popleft()
        self._is_busy = True
        if kind == "multi":
            self._at_leader(lambda: self._write(xid, asked))
        else:
            self._reply(xid, self._read(kind, *asked))

    def _write(self, xid: int, ops: Sequence[Op]) -> None:
        ensemble = self._server.ensemble
        try:
            result: object = ensemble.write(ops, self._session_id)
        except exceptions.SessionExpiredError as error:
            result = error
        self._once_applied(ensemble.committed_zxid, lambda: self._reply(xid, result))

    def _reply(self, xid: int, result: object) -> None:
        self._end.send(("reply", xid, result, self._server.zxid))
        self._is_busy = False
        self._next()

    def _read(self, kind: str, path: str, watches: bool) -> object:
        server = self._server
        node = server.nodes.get(path)
        if kind == "children":
            if node is not None and watches:
                server.child_watches.setdefault(path, {})[self] = None
            names = server.children(path)
            return exceptions.NoNodeError() if node is None else (names, _stat(node, len(names)))
        if watches and (node is not None or kind == "exists"):
            server.data_watches.setdefault(path, {})[self] = None
        if kind == "exists":
            return None if node is None else _stat(node, 0)
        return exceptions.NoNodeError() if node is None else (node.data, _stat(node, 0))

    def _forget(self) -> None:
        for watches in (self._server.data_watches, self._server.child_watches):
            for clients in watches.values():
                clients.pop(self, None)


def stat_of(tree: ModelZooKeeper, path: str) -> ZnodeStat:
    node = tree.get(path)
    assert node is not None, "it was just written"
    return _stat(node, 0)


def _stat(node: Node, children: int) -> ZnodeStat:
    return ZnodeStat(
        node.czxid,
        node.mzxid,
        0,
        0,
        node.version,
        node.sequences,
        0,
        node.ephemeral_owner,
        len(node.data),
        children,
        node.pzxid,
    )


def _failed(count: int, error: ModelError) -> list[Any]:
    cause = _ERRORS[type(error)]()
    undone = [exceptions.RolledBackError() for _ in range(error.index)]
    return [*undone, cause, *(exceptions.RuntimeInconsistency() for _ in range(count - error.index - 1))]
