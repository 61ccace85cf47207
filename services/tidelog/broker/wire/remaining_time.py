"""How much is left of the time that a request allows."""

import time


class RemainingTime:
    """Counts down from a request's timeout_ms; never below 0."""

    def __init__(self, timeout_ms: float) -> None:
        self._end_ms = time.monotonic() * 1000.0 + timeout_ms

    @property
    def ms(self) -> float:
        return max(0.0, self._end_ms - time.monotonic() * 1000.0)
