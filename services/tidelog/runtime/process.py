"""The running process as its parts see it: time, readiness, metrics, background tasks, and the wish to stop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from tidelog.runtime import logs
from tidelog.runtime.background import Background
from tidelog.runtime.clock import SystemClock
from tidelog.runtime.faults import StartupError
from tidelog.runtime.metrics import LoopLag, Metrics
from tidelog.runtime.ops_pages import OpsPages
from tidelog.runtime.readiness import Readiness
from tidelog.runtime.timers import LoopTimers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from prometheus_client import CollectorRegistry

    from tidelog.runtime.clock import Clock
    from tidelog.runtime.timers import Timers

_logger = logs.get("process")


class Process:
    """What `serve(config, process)` gets. Create it on the running loop.

    serve brings everything up in async context managers, then awaits `stopped()`, then unwinds. Until it has called
    `stopped()` it counts as starting, and a stop cancels it; afterwards a stop lets it unwind by itself.
    """

    def __init__(
        self,
        role: str,
        instance: int = 0,
        on_started: Callable[[], None] | None = None,
        on_stopping: Callable[[], None] | None = None,
    ) -> None:
        self.role = role
        self.instance = instance
        self.clock: Clock = SystemClock()
        self.timers: Timers = LoopTimers(asyncio.get_running_loop(), self._timer_failed)
        self.readiness = Readiness()
        self.metrics = Metrics(role)
        self.loop_lag = LoopLag(self.metrics, self.clock, self.timers)
        self.pages = OpsPages(self.readiness, self.metrics, self.loop_lag.heartbeat_age_ms)
        self.failed = False
        self.started = False
        self._on_started = on_started
        self._on_stopping = on_stopping
        self._stop = asyncio.Event()
        self._background = Background(self._task_failed)
        self._serving: asyncio.Task[Any] | None = None
        self.readiness.on_change(self._log_readiness)

    @property
    def registry(self) -> CollectorRegistry:
        return self.metrics.registry

    @property
    def stopping(self) -> bool:
        return self._stop.is_set()

    def stopped(self) -> Awaitable[None]:
        """Wait for the wish to stop. The first call by serve itself marks the end of start-up."""
        if not self.started and asyncio.current_task() is self._serving:
            self.started = True
            if self._on_started is not None:
                self._on_started()
        return self._wait_for_stop()

    def stop(self, reason: str) -> None:
        """Ask the process to stop, cleanly; later reasons are not news."""
        if not self.stopping:
            _logger.info("stopping", reason=reason)
            self._begin_stop()

    def fail(self, what: str, error: BaseException | None = None) -> None:
        """Something is wrong that this process cannot live with: stop, and exit with 1."""
        _logger.failure(what, error)
        # What breaks while everything is being taken down is logged, but it is no failure of the process.
        if not self.stopping:
            self.failed = True
            self.stop("failure")

    def spawn(self, coroutine: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run a task until serve has unwound; if it fails, so does the process."""
        return self._background.spawn(coroutine, name)

    def background(self) -> Background:
        """A context of tasks that end before what was opened before it is closed: `async with process.background()`."""
        return Background(self._task_failed)

    async def run(self, serve: Callable[[Process], Coroutine[Any, Any, None]]) -> None:
        """Run serve to its end, then the background tasks; raises what serve raised, unless it was our cancellation."""
        self.loop_lag.start()
        try:
            self._serving = asyncio.get_running_loop().create_task(serve(self), name="serve")
            await self._until_served(self._serving)
        finally:
            if not self.stopping:
                self._begin_stop()
            self.loop_lag.stop()
            await self._background.cancel()

    def pending(self) -> tuple[asyncio.Task[Any], ...]:
        """The tasks that have not ended: after a stop, what hangs."""
        serving = () if self._serving is None or self._serving.done() else (self._serving,)
        return (*serving, *self._background.tasks)

    async def _until_served(self, serving: asyncio.Task[Any]) -> None:
        stop = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({serving, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not serving.done() and not self.started:
                serving.cancel()
            await asyncio.wait({serving})
        finally:
            stop.cancel()
        if not serving.cancelled():
            serving.result()
        elif not self.stopping:
            self.fail("serve was cancelled, but nobody had asked for a stop")

    def _begin_stop(self) -> None:
        self._stop.set()
        if self._on_stopping is not None:
            self._on_stopping()

    async def _wait_for_stop(self) -> None:
        await self._stop.wait()

    def _task_failed(self, name: str, error: BaseException) -> None:
        if isinstance(error, StartupError):
            self.fail(str(error))
        else:
            self.fail(f"background task {name!r} failed", error)

    def _timer_failed(self, error: Exception) -> None:
        self.fail("a timer's callback failed", error)

    def _log_readiness(self, ready: bool) -> None:
        if ready:
            _logger.info("ready")
        else:
            _logger.warning("not ready", **self.readiness.reasons)
