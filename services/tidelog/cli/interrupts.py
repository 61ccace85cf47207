"""Counts the signals that ask a command to end, so that it can end in an orderly way."""

import signal
import threading

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """The first signal asks for an orderly end, the second one for a quick end."""

    def __init__(self) -> None:
        self._count = 0
        self._arrived = threading.Event()
        for number in _SIGNALS:
            signal.signal(number, lambda _number, _frame: self._on_signal())

    def requested(self) -> bool:
        """Whether somebody asked for the end."""
        return self._count > 0

    def hurried(self) -> bool:
        """Whether somebody asked twice."""
        return self._count > 1

    def wait(self, timeout_s: float) -> bool:
        """Sleep, but not past a signal."""
        return self._arrived.wait(timeout_s)

    def _on_signal(self) -> None:
        self._count += 1
        self._arrived.set()
