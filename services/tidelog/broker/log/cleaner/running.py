"""The threads of the cleaner under an event loop that owns the logs: they do what a cleaning asks for, nothing else."""

import asyncio
import logging
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tidelog.broker.log.cleaner.offset_map import OffsetMap
from tidelog.broker.log.cleaner.pace import CleaningStoppedError, Pace
from tidelog.broker.log.cleaner.round import CleaningRound
from tidelog.broker.log.cleaner.source import UncleanableError
from tidelog.kafka.errors import KafkaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.broker.log.cleaner.cleaner import Cleaner, CleanerLimits
    from tidelog.broker.log.cleaner.dirty import DirtyLog
    from tidelog.broker.log.cleaner.round import Steps
    from tidelog.broker.log.files import Files
    from tidelog.broker.log.log import Log
    from tidelog.broker.log.log_store import LogStore

_log = logging.getLogger(__name__)

# For how long a thread computes before it lets another one go on that waits. The event loop may wait so long at every
# system call of a request, and an append that extends an index has several of them; the default is 5 ms.
_SWITCH_INTERVAL_S = 0.0005


class CleanerThreads:
    """Cleans until it is cancelled. `now_ms` is the clock of the owner."""

    def __init__(
        self,
        cleaner: "Cleaner",
        store: "LogStore",
        files: "Files",
        limits: "CleanerLimits",
        now_ms: "Callable[[], int]",
    ) -> None:
        self._cleaner = cleaner
        self._store = store
        self._files = files
        self._limits = limits
        self._now_ms = now_ms

    async def run(self) -> None:
        sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH_INTERVAL_S))
        async with asyncio.TaskGroup() as tasks:
            for number in range(self._limits.threads):
                tasks.create_task(self._run_one(number))

    async def _run_one(self, number: int) -> None:
        limits = self._limits
        pace = Pace(limits.io_max_bytes_per_second / limits.threads)
        offsets = OffsetMap(limits.dedupe_buffer_size // limits.threads, limits.io_buffer_load_factor)
        with ThreadPoolExecutor(1, thread_name_prefix=f"log-cleaner-{number}") as thread:
            try:
                while True:
                    await self._turn(thread, offsets, pace)
            finally:
                # The thread is waited for, so it must not go on with what it has begun.
                pace.stop()

    async def _turn(self, thread: ThreadPoolExecutor, offsets: OffsetMap, pace: Pace) -> None:
        dirty = self._cleaner.take_dirtiest(self._now_ms())
        if dirty is not None:
            await self._clean(dirty, thread, offsets, pace)
        self._cleaner.apply_retention(self._now_ms())
        await self._checkpoint(thread)
        if dirty is None:
            await asyncio.sleep(self._limits.backoff_ms / 1000)

    async def _clean(self, dirty: "DirtyLog", thread: ThreadPoolExecutor, offsets: OffsetMap, pace: Pace) -> None:
        log, cleaning = dirty.log, CleaningRound(dirty, offsets, pace, self._now_ms())
        try:
            is_clean = await _follow(cleaning.steps(), thread)
        except CleaningStoppedError:
            self._cleaner.on_given_up(log)
        except OSError as error:
            self._on_io_error(log, error)
        except UncleanableError as error:
            self._give_up(log, str(error))
        except KafkaError as error:
            self._give_up(log, f"It holds records that cannot be read: {error.message}")
        except Exception as error:  # noqa: BLE001 - one log must not stop the compaction of all others
            self._give_up(log, f"{type(error).__name__}: {error}", error)
        else:
            self._tell(cleaning) if is_clean else self._cleaner.on_given_up(log)
        await asyncio.get_running_loop().run_in_executor(thread, offsets.forget, pace.step)

    def _on_io_error(self, log: "Log", error: OSError) -> None:
        # The files of a deleted log have other names, or belong to a new one.
        if not log.is_offline:
            log.io_failed(error)
        self._cleaner.on_given_up(log)

    def _give_up(self, log: "Log", reason: str, error: Exception | None = None) -> None:
        """For good, unless the log was deleted or its directory has failed meanwhile."""
        if log.is_offline:
            self._cleaner.on_given_up(log)
            return
        self._cleaner.on_uncleanable(log, reason)
        _log.error(
            "%s is not compacted any more until the broker starts again: %s", log.partition, reason, exc_info=error
        )

    def _tell(self, cleaning: CleaningRound) -> None:
        self._cleaner.on_done(cleaning, self._now_ms())
        dirty, counts = cleaning.dirty, cleaning.counts
        _log.info(
            "compacted %s up to offset %d: %d of %d records stay, %d bytes read, %d written",
            dirty.log.partition,
            dirty.log.first_dirty_offset,
            counts.records_kept,
            counts.records_read,
            counts.bytes_read,
            counts.bytes_written,
        )

    async def _checkpoint(self, thread: ThreadPoolExecutor) -> None:
        for directory in self._store.dirs:
            if directory.is_offline:
                continue
            for job in directory.cleaner_offset_jobs():
                try:
                    await asyncio.get_running_loop().run_in_executor(thread, job.run, self._files)
                except OSError as error:
                    directory.fail(error)


async def _follow(steps: "Steps", thread: ThreadPoolExecutor) -> bool:
    """Let a thread do each step; what it gives or raises goes back to where the step came from."""
    loop = asyncio.get_running_loop()
    work = next(steps)
    while True:
        try:
            result = await loop.run_in_executor(thread, work)
        except Exception as error:  # noqa: BLE001 - the steps decide what it means
            work = steps.throw(error)
            continue
        try:
            work = steps.send(result)
        except StopIteration as ended:
            return bool(ended.value)
