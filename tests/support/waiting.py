"""Waiting for what must come to pass, in tests that watch real processes."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

WAIT_S = 30.0  # far beyond what anything takes here; only a failure waits that long


def eventually(check: Callable[[], T | None], seconds: float = WAIT_S, pause_s: float = 0.02) -> T:
    """The first true value of check(); fails with the last value or error after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        last: object
        try:
            value = check()
            if value:
                return value
            last = value
        except (AssertionError, OSError, LookupError, ValueError) as error:
            last = error
        assert time.monotonic() < end, f"not so within {seconds} s; last: {last!r}"
        time.sleep(pause_s)


def never(check: Callable[[], object], seconds: float, pause_s: float = 0.05) -> None:
    """check() stays false for so long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = check()
        assert not value, f"became {value!r}"
        time.sleep(pause_s)
