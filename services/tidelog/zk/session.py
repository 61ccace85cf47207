"""ZooKeeper's operations on one session, as coroutines.

Reads are repeated over a broken connection until they get through. Writes are not: they raise ConnectionLost, their
outcome is unknown, and the caller reads before it decides. An expired session raises SessionExpired and is never
repeated over. Every call ends within `operation_timeout_ms`, with ConnectionLost if with nothing else.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Self, TypeVar

from kazoo.protocol import serialization
from kazoo.protocol.states import ZnodeStat
from kazoo.security import OPEN_ACL_UNSAFE

from tidelog.zk.connection import Submit, ZkConnection, ZkState
from tidelog.zk.errors import ConnectionLost, NodeExists, NoNode, NotEmpty, ZkError, from_kazoo, is_cause
from tidelog.zk.operations import (
    ANY_VERSION,
    REQUEST_BYTES_MAX,
    Check,
    Children,
    Create,
    Delete,
    Op,
    OpResult,
    SetData,
    Stat,
    Watcher,
    Znode,
    op_bytes,
    pack,
)

__all__ = ["PIPELINE_WINDOW", "ZkSession", "ZkState"]

T = TypeVar("T")

# 3000 requests submitted at once stalled the loop for a second; 32 at a time are as fast and stall it for 15 ms.
PIPELINE_WINDOW = 32

_EPHEMERAL_FLAG = 1
_SEQUENCE_FLAG = 2


class ZkSession(ZkConnection):
    """One session with ZooKeeper, or one after the other: after LOST the next comes by itself."""

    def __init__(
        self,
        connect: str,
        session_timeout_ms: int = 18_000,
        *,
        operation_timeout_ms: int = 30_000,
        close_timeout_ms: int = 5_000,
    ) -> None:
        super().__init__(connect, session_timeout_ms, close_timeout_ms=close_timeout_ms)
        self._operation_timeout_s = operation_timeout_ms / 1000

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def get(self, path: str, watch: Watcher | None = None) -> Znode:
        """Data and stat; the watch, armed only if the node exists, sees the next change or deletion."""
        full, watcher = self._full(path), self.kazoo_watcher(watch)
        data, stat = await self._read(lambda client: client.get_async(full, watcher), path)
        return Znode(data or b"", _stat(stat))

    async def exists(self, path: str, watch: Watcher | None = None) -> Stat | None:
        """The stat, or None; the watch sees the next creation, change or deletion."""
        full, watcher = self._full(path), self.kazoo_watcher(watch)
        stat = await self._read(lambda client: client.exists_async(full, watcher), path)
        return None if stat is None else _stat(stat)

    async def children(self, path: str, watch: Watcher | None = None) -> Children:
        """The children; the watch sees the next child created or deleted, or the deletion of the node itself."""
        full, watcher = self._full(path), self.kazoo_watcher(watch)
        names, stat = await self._read(lambda client: client.get_children_async(full, watcher, include_data=True), path)
        return Children(tuple(sorted(names)), _stat(stat))

    async def get_many(self, paths: Iterable[str], watch: Watcher | None = None) -> list[Znode | None]:
        """Read many nodes in one pipeline; None stands for a node that is not there."""
        found = await self.pipeline(partial(self.get, path, watch) for path in paths)
        return [None if isinstance(node, NoNode) else _raised(node) for node in found]

    async def create(
        self, path: str, data: bytes | None = None, *, ephemeral: bool = False, sequence: bool = False
    ) -> str:
        """Create a node and return its path, which for a sequential one ends in the ten digits that ZooKeeper chose."""
        result = (await self.multi([Create(path, data, ephemeral, sequence)]))[0]
        assert isinstance(result, str)
        return result

    async def set(self, path: str, data: bytes | None, version: int = ANY_VERSION) -> Stat:
        result = (await self.multi([SetData(path, data, version)]))[0]
        assert isinstance(result, Stat)
        return result

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        await self.multi([Delete(path, version)])

    async def ensure_path(self, path: str) -> None:
        """Create the node and its parents where they are missing. Repeats itself over a broken connection."""
        parts = [part for part in path.split("/") if part]
        prefixes = ["/" + "/".join(parts[: depth + 1]) for depth in range(len(parts))]
        async with self._bound(path):
            while await self.exists(path) is None:
                for prefix in prefixes:
                    with suppress(NodeExists, ConnectionLost, NoNode):
                        await self.create(prefix)

    async def delete_recursive(self, path: str) -> None:
        """Delete the node and all below it; nothing happens if it is not there."""
        while doomed := await self.tree(path):
            outcomes = await self.pipeline(partial(self.multi, batch) for batch in pack(map(Delete, doomed)))
            for outcome in outcomes:
                # Somebody else deleted or created below: look again.
                if isinstance(outcome, ZkError) and not isinstance(outcome, (NoNode, NotEmpty)):
                    raise outcome

    async def tree(self, path: str) -> list[str]:
        """The paths of the node and all below it, children before parents."""
        found: list[str] = []
        level = [path]
        while level:
            listed = await self.pipeline(partial(self.children, parent) for parent in level)
            present = [
                (parent, _raised(children))
                for parent, children in zip(level, listed, strict=True)
                if not isinstance(children, NoNode)
            ]
            found.extend(parent for parent, _ in present)
            level = [f"{parent}/{name}" for parent, children in present for name in children.names]
        return found[::-1]

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        """All or nothing. A failure raises the error of the operation that caused it, with its index and path."""
        if sum(map(op_bytes, ops)) > REQUEST_BYTES_MAX:
            raise ZkError(f"a request of {len(ops)} operations is larger than ZooKeeper accepts", path=ops[0].path)
        requests = [self._kazoo_op(op) for op in ops]
        async with self._bound(ops[0].path):
            outcomes = await self.send(_transaction(requests), path=ops[0].path)
        for index, outcome in enumerate(outcomes):
            if isinstance(outcome, Exception) and is_cause(outcome):
                raise from_kazoo(outcome, path=ops[index].path, index=index)
        return [self._op_result(outcome) for outcome in outcomes]

    async def pipeline(
        self, calls: Iterable[Callable[[], Awaitable[T]]], window: int = PIPELINE_WINDOW
    ) -> list[T | ZkError]:
        """Keep up to `window` calls in flight; results in the order of the calls, an error in the place of its call."""
        results: dict[int, T | ZkError] = {}
        waiting: Iterator[tuple[int, Callable[[], Awaitable[T]]]] = enumerate(calls)

        async def work() -> None:
            for index, call in waiting:
                try:
                    results[index] = await call()
                except ZkError as error:
                    results[index] = error

        async with asyncio.TaskGroup() as group:
            for _ in range(window):
                group.create_task(work())
        return [results[index] for index in range(len(results))]

    async def _read(self, submit: Submit, path: str) -> Any:
        async with self._bound(path):
            while True:
                with suppress(ConnectionLost):
                    return await self.send(submit, path=path)

    @asynccontextmanager
    async def _bound(self, path: str) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._operation_timeout_s):
                yield
        except TimeoutError:
            raise ConnectionLost(f"no answer within {self._operation_timeout_s} s", path=path) from None

    def _full(self, path: str) -> str:
        return self.chroot + path if path != "/" else self.chroot or "/"

    def _kazoo_op(self, op: Op) -> Any:
        # Kazoo's own builder refuses null data, which Kafka's znodes have.
        path = self._full(op.path)
        match op:
            case Create():
                flags = _EPHEMERAL_FLAG * op.ephemeral | _SEQUENCE_FLAG * op.sequence
                return serialization.Create(path, op.data, OPEN_ACL_UNSAFE, flags)
            case SetData():
                return serialization.SetData(path, op.data, op.version)
            case Delete():
                return serialization.Delete(path, op.version)
            case Check():
                return serialization.CheckVersion(path, op.version)

    def _op_result(self, outcome: Any) -> OpResult:
        if isinstance(outcome, str):
            return outcome.removeprefix(self.chroot)
        return _stat(outcome) if isinstance(outcome, ZnodeStat) else None


def _transaction(requests: list[Any]) -> Submit:
    def submit(client: Any) -> Any:
        transaction = client.transaction()
        transaction.operations.extend(requests)
        return transaction.commit_async()

    return submit


def _stat(stat: ZnodeStat) -> Stat:
    return Stat(
        czxid=stat.czxid,
        mzxid=stat.mzxid,
        ctime_ms=stat.ctime,
        mtime_ms=stat.mtime,
        version=stat.version,
        cversion=stat.cversion,
        ephemeral_owner=stat.ephemeralOwner,
        children_count=stat.numChildren,
        pzxid=stat.pzxid,
    )


def _raised(outcome: T | ZkError) -> T:
    if isinstance(outcome, ZkError):
        raise outcome
    return outcome
