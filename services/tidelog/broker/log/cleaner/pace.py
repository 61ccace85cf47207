"""How hard a cleaner thread works: never long without letting the event loop go on, and slower when that is busy.

Only one thread of a process runs Python at a time. A thread that computes is made to let go after a while (5 ms, unless
`running.py` has set less), and the event loop would meet that wait at each of its system calls: it would do a few hundred
requests a second. So the cleaner works a millisecond and then sleeps: a tenth of that if nobody else wants the processor,
up to four times as long if somebody does.
"""

import time
from threading import Event

_WORK_S = 0.001
_SHORTEST_NAP_S = 0.0001
_LONGEST_NAP_S = 0.004
# The others are busy if they had the processor for more than this part of the time that was left to them.
_BUSY_SHARE = 0.5


class CleaningStoppedError(Exception):
    """The cleaner was told to end; what it had begun is thrown away."""


class Pace:
    """Called often by one thread, with the bytes that it has read or written since the last call."""

    def __init__(self, bytes_per_second_max: float = float("inf")) -> None:
        self._bytes_per_second_max = bytes_per_second_max
        self._stopped = Event()
        self._nap_s = _SHORTEST_NAP_S
        self._work_until = 0.0
        self._others_s = 0.0
        self._throttled_bytes = 0
        self._throttled_since = time.perf_counter()

    def stop(self) -> None:
        """From any thread: let the next step end the work."""
        self._stopped.set()

    def step(self, size: int = 0) -> None:
        """Sleep if it is time to. CleaningStoppedError if the work is to end."""
        self._throttled_bytes += size
        if time.perf_counter() >= self._work_until:
            self._nap()

    def _nap(self) -> None:
        if self._stopped.is_set():
            raise CleaningStoppedError
        asleep_since = time.perf_counter()
        time.sleep(self._nap_s)
        awake = time.perf_counter()
        # What all threads of the process did, less what this one did, was done while it slept.
        others_s = time.process_time() - time.thread_time()
        is_busy = others_s - self._others_s > (awake - asleep_since) * _BUSY_SHARE
        self._others_s = others_s
        self._nap_s = min(self._nap_s * 2, _LONGEST_NAP_S) if is_busy else max(self._nap_s / 2, _SHORTEST_NAP_S)
        self._throttle(awake)
        self._work_until = time.perf_counter() + _WORK_S

    def _throttle(self, now: float) -> None:
        """Wait as long as it takes for the bytes so far to be within the limit."""
        too_early_s = self._throttled_bytes / self._bytes_per_second_max - (now - self._throttled_since)
        if too_early_s > 0 and self._stopped.wait(too_early_s):
            raise CleaningStoppedError
        self._throttled_bytes, self._throttled_since = 0, time.perf_counter()
