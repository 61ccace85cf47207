"""A machine: its clock, which runs a little fast or slow, and the one process on it, which may stand still or be gone."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol

from tests.support.sim.node_loop import NodeLoop
from tests.support.sim.scheduler import Scheduler
from tests.support.sim.trace import Trace
from tidelog.runtime.background import Background
from tidelog.runtime.readiness import Readiness
from tidelog.runtime.timers import LoopTimers

if TYPE_CHECKING:
    from tests.support.sim.kafka_wire import SimTransport
    from tests.support.sim.network import End, Network
    from tidelog.kafka.types import TopicPartition
    from tidelog.runtime.clock import Clock
    from tidelog.runtime.timers import Timers

_WALL_MS = 1_700_000_000_000
_DRIFT_MAX = 0.02
_WALL_SKEW_MS_MAX = 2_000


class Listening(Protocol):
    """What runs on a machine, as the network sees it."""

    is_dead: bool
    ends: "dict[End, None]"
    ports: "dict[int, Callable[[End], None]]"

    @property
    def machine(self) -> "Machine": ...
    def deliver(self, call: Callable[..., object], *args: object) -> None: ...
    def wake(self) -> None: ...


class Machine:
    """A name on the network. Its disk outlives its processes, and its power may fail."""

    def __init__(self, name: str, scheduler: Scheduler, trace: Trace) -> None:
        self.name = name
        self.scheduler = scheduler
        self.trace = trace
        self.is_on = True
        self.is_paused = False
        self.process: Listening | None = None
        self._rate = 1 + scheduler.random.uniform(-_DRIFT_MAX, _DRIFT_MAX)
        self._wall_ms = _WALL_MS + scheduler.random.randint(-_WALL_SKEW_MS_MAX, _WALL_SKEW_MS_MAX)

    def now_ms(self) -> int:
        return int(self._wall_ms + self.monotonic_ms())

    def monotonic_ms(self) -> float:
        return self.scheduler.now_ms * self._rate

    def moment_of(self, monotonic_ms: float) -> float:
        """When, in the world's time, this machine's clock will show that."""
        return monotonic_ms / self._rate

    def pause(self) -> None:
        self.is_paused = True

    def resume(self) -> None:
        self.is_paused = False
        if self.process is not None:
            self.process.wake()


class _Untold:
    """Metrics that nobody looks at."""

    def register(self, collector: object) -> None: ...

    @property
    def registry(self) -> "_Untold":
        return self

    def counter(self, *_: object, **__: object) -> "_Untold":
        return self

    histogram = gauge = labels = counter

    def inc(self, *_: object) -> None: ...

    def observe(self, *_: object) -> None: ...


class SimProcess:
    """What `serve(config, process)` gets, and everything of it that the world must know when it dies."""

    def __init__(
        self, machine: Machine, network: "Network", on_error: Callable[[str, BaseException | None], None]
    ) -> None:
        self.machine = machine
        self.network = network
        self.sockets: list[SimTransport] = []
        # What the world looks at: the parts of a process that made themselves known.
        self.seen: dict[str, Any] = {}
        self.loop = NodeLoop(self)  # type: ignore[abstract]  # what needs threads or sockets is missing
        self.clock: Clock = machine
        self.timers: Timers = LoopTimers(self.loop, lambda error: on_error("a timer failed", error))
        self.readiness = Readiness()
        self.registry = self.metrics = _Untold()
        self.pages = None
        self.is_dead = False
        self.ends: dict[End, None] = {}
        self.ports: dict[int, Callable[[End], None]] = {}
        self.on_turn: Callable[[], None] = lambda: None
        self.on_death: Callable[[], None] = lambda: None
        self.on_fenced: Callable[[TopicPartition, int, int, int], None] = lambda *_: None
        self._on_error = on_error
        self._stop = asyncio.Event()
        self._background = Background(self._task_failed)
        machine.process = self

    # What a process gives to its shell

    @property
    def stopping(self) -> bool:
        return self._stop.is_set()

    async def stopped(self) -> None:
        await self._stop.wait()

    def stop(self) -> None:
        """SIGTERM."""
        self._stop.set()

    def fail(self, what: str, error: BaseException | None = None) -> None:
        if not self.is_dead:
            self._on_error(what, error)

    def spawn(self, coroutine: Coroutine[Any, Any, Any], name: str) -> "asyncio.Task[Any]":
        return self._background.spawn(coroutine, name)

    def background(self) -> Background:
        return Background(self._task_failed)

    # What the world does with it

    def deliver(self, call: Callable[..., object], *args: object) -> None:
        """From the network: what comes for a process that stands still waits in its sockets."""
        if not self.is_dead:
            self.loop.call_soon(call, *args)

    def wake(self) -> None:
        self.loop.wake()

    def die(self) -> None:
        """At once. What its tasks would still do in their last moments reaches neither disk nor network."""
        if self.is_dead:
            return
        self.is_dead = True
        for end in tuple(self.ends):
            end.close()
        self.on_death()
        if self.machine.process is self:
            self.machine.process = None
        self.loop.reap()

    def _task_failed(self, name: str, error: BaseException) -> None:
        self.fail(f"background task {name!r} failed", error)
