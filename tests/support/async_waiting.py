"""Waiting, on an event loop, for what must come to pass."""

import asyncio
import time
from collections.abc import Callable

from tests.support.waiting import WAIT_S


async def eventually_true(check: Callable[[], object], seconds: float = WAIT_S) -> None:
    """Returns once check() is true; fails after `seconds`."""
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, f"not so within {seconds} s"
        await asyncio.sleep(0.01)
