"""Callbacks at later moments: on the event loop in a process, on a manual clock in tests and simulations."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from tidelog.runtime.clock import ManualClock


class TimerHandle(Protocol):
    """What is scheduled; cancelling is allowed at any time, more than once, and from the callback itself."""

    def cancel(self) -> None: ...


class Timers(Protocol):
    """Schedules plain callbacks; they run one at a time and must not block."""

    def after(self, delay_ms: float, callback: Callable[[], None]) -> TimerHandle:
        """Call once, `delay_ms` from now; a delay of zero or less means as soon as possible, never within this call."""
        ...

    def every(self, interval_ms: float, callback: Callable[[], None]) -> TimerHandle:
        """Call again and again, first after one interval; a callback that raises does not end the series."""
        ...


class _Every:
    """A series on top of `after`, on a fixed grid: lateness does not add up, and missed moments are skipped."""

    def __init__(
        self, timers: Timers, now_ms: Callable[[], float], interval_ms: float, callback: Callable[[], None]
    ) -> None:
        assert interval_ms > 0, "a series needs a positive interval"
        self._timers = timers
        self._now_ms = now_ms
        self._interval_ms = interval_ms
        self._callback = callback
        self._due_ms = now_ms() + interval_ms
        self._cancelled = False
        self._handle = timers.after(interval_ms, self._fire)

    def cancel(self) -> None:
        self._cancelled = True
        self._handle.cancel()

    def _fire(self) -> None:
        if self._cancelled:
            return
        now_ms = self._now_ms()
        missed = max(0.0, now_ms - self._due_ms) // self._interval_ms
        self._due_ms += (missed + 1) * self._interval_ms
        # Scheduled before the call, so that neither an exception nor a cancel inside the callback is a special case.
        self._handle = self._timers.after(self._due_ms - now_ms, self._fire)
        self._callback()


class LoopTimers:
    """Timers of a running event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, on_error: Callable[[Exception], None] | None = None) -> None:
        """`on_error` receives what a callback raises; without it the loop's exception handler does."""
        self._loop = loop
        self._on_error = on_error

    def after(self, delay_ms: float, callback: Callable[[], None]) -> TimerHandle:
        return self._loop.call_later(max(0.0, delay_ms) / 1000.0, self._call, callback)

    def every(self, interval_ms: float, callback: Callable[[], None]) -> TimerHandle:
        return _Every(self, self._now_ms, interval_ms, callback)

    def _now_ms(self) -> float:
        return self._loop.time() * 1000.0

    def _call(self, callback: Callable[[], None]) -> None:
        if self._on_error is None:
            callback()
            return
        try:
            callback()
        except Exception as error:  # noqa: BLE001  a callback's failure belongs to the process, not to the loop
            self._on_error(error)


class _ManualHandle:
    """One scheduled callback of ManualTimers."""

    __slots__ = ("callback", "cancelled")

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class ManualTimers:
    """Timers that fire, in order of moment and then of scheduling, while their ManualClock is advanced."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._heap: list[tuple[float, int, _ManualHandle]] = []
        self._scheduled = 0
        clock.attach(self)

    def after(self, delay_ms: float, callback: Callable[[], None]) -> TimerHandle:
        handle = _ManualHandle(callback)
        self._scheduled += 1
        heapq.heappush(self._heap, (self._clock.monotonic_ms() + max(0.0, delay_ms), self._scheduled, handle))
        return handle

    def every(self, interval_ms: float, callback: Callable[[], None]) -> TimerHandle:
        return _Every(self, self._clock.monotonic_ms, interval_ms, callback)

    def next_due_ms(self) -> float | None:
        while self._heap and self._heap[0][2].cancelled:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def fire_next(self) -> None:
        assert self.next_due_ms() is not None, "nothing is due"
        _, _, handle = heapq.heappop(self._heap)
        handle.callback()
