"""Records that are not in memory: a thread reads them first, so that sending them does not hold up the event loop."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tidelog.runtime import logs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tidelog.broker.log.log_file import FileRange

# A disk is fastest with some requests at a time; more of them would only make all of them late.
_THREADS = 4

_logger = logs.get("storage")


class ColdReads:
    """The threads that wait for the disk in place of the event loop. They are started when they are first needed."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="cold-reads")
        self.count = 0

    def read(self, ranges: Sequence[FileRange], then: Callable[[], None]) -> None:
        """Bring these into memory, and go on with `then`. The ranges keep their files open meanwhile."""
        self.count += len(ranges)
        done = asyncio.get_running_loop().run_in_executor(self._threads, _read_all, ranges)
        done.add_done_callback(lambda future: _go_on(future, then))

    def close(self) -> None:
        """Leave what has not begun; nobody is there any more to be answered."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _read_all(ranges: Sequence[FileRange]) -> None:
    for part in ranges:
        part.read_into_cache()


def _go_on(done: asyncio.Future[None], then: Callable[[], None]) -> None:
    if done.cancelled():
        return
    error = done.exception()
    if error is not None:
        # Whoever sends them meets the same error, and knows whom to tell.
        _logger.failure("records not read ahead", error)
    then()
