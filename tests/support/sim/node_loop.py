"""The event loop of one simulated process: asyncio's rules, but the world decides when it gets a turn."""

import asyncio
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future
from contextvars import Context
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from tests.support.sim.machine import SimProcess

T = TypeVar("T")

# A turn comes this soon after something happened; who comes first of two processes is a matter of luck.
_TURN_MS_MAX = 0.05
_WORK_MS_MAX = 5.0
_LAST_TURNS_MAX = 10_000


class NodeLoop(asyncio.AbstractEventLoop):
    """Has no threads and no sockets: connections are the network's, and work for threads is done a moment later."""

    def __init__(self, process: "SimProcess") -> None:
        self.process = process
        self.tasks: dict[asyncio.Task[Any], None] = {}
        self._machine = process.machine
        self._scheduler = process.machine.scheduler
        self._ready: deque[asyncio.Handle] = deque()
        self._turn_is_due = False

    # What asyncio asks of a loop

    def time(self) -> float:
        return self._machine.monotonic_ms() / 1000.0

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Context | None = None) -> asyncio.Handle:  # type: ignore[override]
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        self.wake()
        return handle

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._scheduler.at(self._machine.moment_of(when * 1000.0), lambda: self._due(handle))
        return handle

    def create_future(self) -> "asyncio.Future[Any]":
        return _NumberedFuture(self)

    def create_task(self, coro: Any, *, name: str | None = None, context: Context | None = None) -> "asyncio.Task[Any]":
        task = _NumberedTask(self, cast("Coroutine[Any, Any, Any]", coro), name, context)
        self.tasks[task] = None
        task.add_done_callback(self._forget)
        return task

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return self.process.is_dead

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.process.fail(str(context.get("message")), context.get("exception"))

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None: ...

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> "asyncio.Future[T]":
        """In a moment, on this very thread."""
        return asyncio.wrap_future(SimExecutor.submit_to(self, func, *args), loop=self)

    async def create_connection(  # type: ignore[override]
        self, protocol_factory: Callable[[], Any], host: str, port: int
    ) -> tuple[asyncio.Transport, Any]:
        from tests.support.sim.kafka_wire import open_transport

        return await open_transport(self.process, protocol_factory, host, port)

    # What the world does with it

    def wake(self) -> None:
        """There is something to do."""
        if self._ready and not self._turn_is_due and not self._machine.is_paused:
            self._turn_is_due = True
            self._scheduler.after(self._scheduler.random.random() * _TURN_MS_MAX, self._turn)

    def reap(self) -> None:
        """The process is gone: let its tasks end, so that nothing of them is left."""
        for _ in range(_LAST_TURNS_MAX):
            for task in self.tasks:
                task.cancel()
            if not self.tasks and not self._ready:
                return
            self._run_ready()
        raise AssertionError(f"tasks of {self._machine.name} do not end: {list(self.tasks)[:3]}")

    def _turn(self) -> None:
        self._turn_is_due = False
        if self.process.is_dead or self._machine.is_paused:
            return
        self._run_ready()
        self.wake()
        self.process.on_turn()

    def _run_ready(self) -> None:
        outer = events._get_running_loop()
        events._set_running_loop(self)
        try:
            for _ in range(len(self._ready)):
                handle = self._ready.popleft()
                if not handle.cancelled():
                    handle._run()
        finally:
            events._set_running_loop(outer)

    def _due(self, handle: asyncio.TimerHandle) -> None:
        if not handle.cancelled() and not self.process.is_dead:
            self._ready.append(handle)
            self.wake()

    def _forget(self, task: "asyncio.Task[Any]") -> None:
        self.tasks.pop(task, None)


class _NumberedFuture(asyncio.Future[Any]):
    """Addresses differ from run to run, and with them the order of a set."""

    def __init__(self, loop: NodeLoop) -> None:
        super().__init__(loop=loop)
        self._number = loop._scheduler.number()

    def __hash__(self) -> int:
        return self._number


class _NumberedTask(asyncio.Task[Any]):
    def __init__(
        self, loop: NodeLoop, coroutine: Coroutine[Any, Any, Any], name: str | None, context: Context | None
    ) -> None:
        # Before it is known to anybody: asyncio itself keeps all tasks in a set.
        self._number = loop._scheduler.number()
        super().__init__(coroutine, loop=loop, name=name, context=context)

    def __hash__(self) -> int:
        return self._number


class SimExecutor(Executor):
    """In the place of threads."""

    def __init__(self, max_workers: int = 1, thread_name_prefix: str = "") -> None:
        self._loop = cast("NodeLoop", asyncio.get_running_loop())

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> "Future[T]":
        return self.submit_to(self._loop, fn, *args, **kwargs)

    @staticmethod
    def submit_to(loop: NodeLoop, fn: Callable[..., T], *args: Any, **kwargs: Any) -> "Future[T]":
        future: Future[T] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(fn(*args, **kwargs))
            except Exception as error:  # noqa: BLE001  it belongs to whoever waits for the result
                future.set_exception(error)

        loop.call_later(loop._scheduler.random.random() * _WORK_MS_MAX / 1000.0, run)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None: ...
