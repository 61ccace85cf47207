"""Simulated time: what is due happens in order of its moment, and the seed decides everything else."""

import heapq
from collections.abc import Callable
from random import Random


class Scheduler:
    """One queue for the whole world. Two calls at the same moment come in the order in which they were asked for."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.now_ms = 0.0
        self.steps = 0
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._asked = 0
        self._numbers = 0

    def number(self) -> int:
        """The next one of what is counted: sets of what has a number are walked in the same order every time."""
        self._numbers += 1
        return self._numbers

    def at(self, moment_ms: float, call: Callable[[], None]) -> None:
        self._asked += 1
        heapq.heappush(self._queue, (max(moment_ms, self.now_ms), self._asked, call))

    def after(self, delay_ms: float, call: Callable[[], None]) -> None:
        self.at(self.now_ms + delay_ms, call)

    def every(self, interval_ms: float, call: Callable[[], None]) -> None:
        """Again and again, to the end of the world."""

        def fire() -> None:
            self.after(interval_ms, fire)
            call()

        self.after(interval_ms, fire)

    def step(self) -> None:
        moment_ms, _, call = heapq.heappop(self._queue)
        self.now_ms = moment_ms
        self.steps += 1
        call()

    def run_until(self, moment_ms: float) -> None:
        while self._queue and self._queue[0][0] <= moment_ms:
            self.step()
        self.now_ms = moment_ms
