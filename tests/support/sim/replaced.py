"""Where the simulated edges take the place of the real ones. Nothing else of the processes is touched."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from random import Random
from typing import Any
from unittest import mock
from uuid import UUID

from tests.support.sim.disk import SimFiles
from tests.support.sim.kafka_wire import NoDescriptors, SimAcceptor, SimOutbox
from tests.support.sim.kazoo_client import SimKazoo
from tests.support.sim.node_loop import SimExecutor
from tests.support.sim.rpc import SimChannel, running_process, sim_probe, sim_server
from tidelog.broker.shell.data_path import DataPath
from tidelog.broker.shell.partition import Partition
from tidelog.controller.core.controller import Controller
from tidelog.controller.core.effects import Note
from tidelog.kafka.records.header import read_header


@asynccontextmanager
async def _no_ops_http(*_: object) -> AsyncIterator[None]:
    yield


class _LoopTime:
    """In the place of `time` where a deadline is reckoned."""

    @staticmethod
    def monotonic() -> float:
        return asyncio.get_running_loop().time()


class _NoThreads:
    """In the place of `threading` where one thread is started to end a session."""

    class Thread:
        def __init__(self, target: Callable[..., None], args: tuple[Any, ...] = (), **_: object) -> None:
            self._target, self._args = target, args

        def start(self) -> None:
            asyncio.get_running_loop().call_soon(self._target, *self._args)


class _Reporting:
    """In the place of the controller's metrics: what it notes goes into the trace."""

    def __init__(self, core: Controller, process: object) -> None: ...

    def refresh(self) -> None: ...

    def note(self, note: Note) -> None:
        machine = running_process().machine
        machine.trace.note(machine.name, f"{note.what.value} {note.subject} {note.cause}: {note.why}")


class _SeenDataPath(DataPath):
    """Known to the world, which looks at its partitions after every event."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        running_process().seen["data"] = self


class _SeenController(Controller):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        running_process().seen["core"] = self


def _number_of(connection: Any) -> int:
    """In the place of an address: connections are kept in a set, and closed in its order."""
    number: int | None = vars(connection).get("_number")
    if number is None:
        number = connection._number = running_process().machine.scheduler.number()
    return number


_append_fenced = Partition.append_fenced


def _seen_append_fenced(partition: Partition, data: memoryview, fence: int, *args: Any) -> Any:
    """What a coordinator appends, and under which fence, is known to the world."""
    appended = _append_fenced(partition, data, fence, *args)
    process = running_process()
    process.on_fenced(partition.name, appended.first_offset, read_header(data).crc, fence)
    return appended


def _files() -> SimFiles:
    process = running_process()
    files = SimFiles(process.seen["disk"])
    process.seen["files"] = files
    return files


def _luck() -> Random:
    return Random(running_process().machine.scheduler.random.getrandbits(64))


class _Luck:
    """In the place of `uuid` where members get their names."""

    @staticmethod
    def uuid4() -> UUID:
        return UUID(int=running_process().machine.scheduler.random.getrandbits(128))


_EDGES: Mapping[str, object] = {
    "tidelog.zk.connection.KazooClient": SimKazoo,
    "tidelog.zk.connection.be_impatient": lambda _: None,
    "tidelog.zk.connection.threading": _NoThreads,
    "tidelog.zk.membership.host_name": lambda: "nowhere",
    "tidelog.runtime.presence.connect": SimChannel,
    "tidelog.runtime.presence.probe": sim_probe,
    "tidelog.runtime.controller_client.connect": SimChannel,
    "tidelog.runtime.controller_client.time": _LoopTime,
    "tidelog.controller.shell.senders.connect": SimChannel,
    "tidelog.controller.shell.process.server": sim_server,
    "tidelog.controller.shell.process.ops_http": _no_ops_http,
    "tidelog.controller.shell.process.SystemRandom": _luck,
    "tidelog.controller.shell.process.Reporting": _Reporting,
    "tidelog.controller.shell.process.Controller": _SeenController,
    "tidelog.group_coordinator.shell.process.server": sim_server,
    "tidelog.group_coordinator.shell.process.ops_http": _no_ops_http,
    "tidelog.group_coordinator.shell.process.host_name": lambda: "nowhere",
    "tidelog.group_coordinator.shell.coordination.uuid": _Luck,
    "tidelog.broker.shell.process.server": sim_server,
    "tidelog.broker.shell.process.ops_http": _no_ops_http,
    "tidelog.broker.shell.process.host_name": lambda: "nowhere",
    "tidelog.broker.shell.process.DataPath": _SeenDataPath,
    "tidelog.broker.shell.data_path._session_id": lambda: running_process().machine.scheduler.random.randint(
        1, 2**31 - 1
    ),
    "tidelog.broker.shell.partition.Partition.append_fenced": _seen_append_fenced,
    "tidelog.broker.shell.storage.Files": _files,
    "tidelog.broker.shell.storage.ThreadPoolExecutor": SimExecutor,
    "tidelog.broker.shell.cold_reads.ThreadPoolExecutor": SimExecutor,
    "tidelog.broker.log.flusher.ThreadPoolExecutor": SimExecutor,
    "tidelog.net.listener.Acceptor": SimAcceptor,
    "tidelog.net.server_connection.Outbox": SimOutbox,
    "tidelog.net.server_connection.ServerConnection.__hash__": _number_of,
    "tidelog.net.server_connection.os": NoDescriptors,
}


@contextmanager
def simulated(bugs: Mapping[str, object]) -> Iterator[None]:
    """Processes that are started within are simulated; `bugs` are planted by the names of what they replace."""
    with ExitStack() as stack:
        for target, replacement in {**_EDGES, **bugs}.items():
            stack.enter_context(mock.patch(target, replacement))
        yield
