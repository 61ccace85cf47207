"""Time as a value that is passed in: the machine's clock in a process, a hand-driven one in tests and simulations."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Two readings of time: the wall, for what users see; the monotonic, for every duration and deadline."""

    def now_ms(self) -> int:
        """Milliseconds since 1970 UTC; may jump when the machine's clock is set."""
        ...

    def monotonic_ms(self) -> float:
        """Milliseconds since an arbitrary moment; never steps back."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> float:
        return time.monotonic() * 1000.0


class SteadyClock:
    """The wall as it was at the start, moved on by monotonic time: for deadlines that are also written down.

    A machine whose clock is set does not end everybody's session with it.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._offset_ms = clock.now_ms() - clock.monotonic_ms()

    def now_ms(self) -> int:
        return int(self._clock.monotonic_ms() + self._offset_ms)

    def monotonic_ms(self) -> float:
        return self._clock.monotonic_ms()


class Driven(Protocol):
    """Something that has work due at moments of a manual clock."""

    def next_due_ms(self) -> float | None:
        """The monotonic moment of the earliest work, or None."""
        ...

    def fire_next(self) -> None:
        """Do the earliest work; the clock already stands at its moment."""
        ...


class ManualClock:
    """A clock that moves only when told to, stopping at every moment at which something attached to it is due."""

    def __init__(self, now_ms: int = 1_700_000_000_000, monotonic_ms: float = 0.0) -> None:
        self._wall_ms = float(now_ms)
        self._monotonic_ms = monotonic_ms
        self._driven: list[Driven] = []

    def now_ms(self) -> int:
        return int(self._wall_ms)

    def monotonic_ms(self) -> float:
        return self._monotonic_ms

    def attach(self, driven: Driven) -> None:
        """Let `driven` work whenever this clock passes one of its moments; ties go to whoever attached first."""
        self._driven.append(driven)

    def advance(self, delta_ms: float) -> None:
        """Move both readings forward, doing on the way whatever falls due, including work added on the way."""
        assert delta_ms >= 0, "time does not run backwards; use set_wall_ms for a clock that was set"
        target = self._monotonic_ms + delta_ms
        while (due := self._earliest(target)) is not None:
            moment, driven = due
            self._move_to(max(moment, self._monotonic_ms))
            driven.fire_next()
        self._move_to(target)

    def set_wall_ms(self, now_ms: int) -> None:
        """The machine's clock was set: the wall jumps, monotonic time does not."""
        self._wall_ms = float(now_ms)

    def _earliest(self, until_ms: float) -> tuple[float, Driven] | None:
        best: tuple[float, Driven] | None = None
        for driven in self._driven:
            moment = driven.next_due_ms()
            if moment is not None and moment <= until_ms and (best is None or moment < best[0]):
                best = (moment, driven)
        return best

    def _move_to(self, monotonic_ms: float) -> None:
        self._wall_ms += monotonic_ms - self._monotonic_ms
        self._monotonic_ms = monotonic_ms
