"""One replica that is copied from one log directory to another while it is served."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tidelog.broker.core.log_dir_moves import common_end
from tidelog.broker.log.flush import finish_flush, flush_now, start_flush
from tidelog.broker.log.follower_batches import UnexpectedOffsetError
from tidelog.broker.log.reading import Isolation, fetch
from tidelog.broker.log.retention import advance_start

if TYPE_CHECKING:
    from tidelog.broker.core.replication_quota import ReplicationQuota
    from tidelog.broker.log.log import Log
    from tidelog.broker.log.log_file import FileRange
    from tidelog.broker.log.log_store import LogStore
    from tidelog.broker.shell.partition import Partition
    from tidelog.runtime.clock import Clock

# What is copied in one turn of the event loop: about a millisecond of its time.
_TURN_BYTES = 256 * 1024
# The disk shall not get all of a large log at once, at the end.
_UNFLUSHED_BYTES_MAX = 32 * 1024 * 1024
# So little is left to be flushed when the copy takes the place of the log. Under a load that the disk does not keep up
# with it may be more, after so many attempts.
_UNFLUSHED_BYTES_AT_END = 1024 * 1024
_FLUSHES_AT_END = 5
_THROTTLED_PAUSE_S = 0.1


class LogDirCopy:
    """The copy of a partition's log, and what it still lacks."""

    def __init__(self, partition: Partition, copy: Log, store: LogStore, quota: ReplicationQuota, clock: Clock) -> None:
        self._partition = partition
        self._copy = copy
        self._store = store
        self._quota = quota
        self._clock = clock
        self._unflushed_bytes = 0

    async def run(self) -> None:
        """Until the copy has taken the place of the log. KafkaError if a directory fails, or the log is damaged."""
        self._cut_what_differs()
        for _ in range(_FLUSHES_AT_END):
            await self._catch_up()
            if self._unflushed_bytes <= _UNFLUSHED_BYTES_AT_END:
                break
            await self._flush()
        await self._catch_up()
        # Nothing is awaited from here on, so nothing is appended. A copy that could not be cut with its log is offline.
        self._copy.check_online()
        self._take_place()

    def _take_place(self) -> None:
        log, copy, now_ms = self._partition.log, self._copy, self._clock.now_ms()
        if copy.recovery_point < log.recovery_point:
            # Somebody may have been told that it is on the disk.
            flush_now(copy, now_ms)
        self._partition.on_log_moved(self._store.futures.take_place(self._partition.name, now_ms))

    def _cut_what_differs(self) -> None:
        """A copy that was found on disk may have what the log has lost."""
        log, copy, now_ms = self._partition.log, self._copy, self._clock.now_ms()
        end = common_end(log.epochs.entries, log.log_end_offset, copy.epochs.entries, copy.log_end_offset)
        if end is None or end <= log.log_start_offset:
            if not copy.log_start_offset == copy.log_end_offset == log.log_start_offset:
                self._store.futures.restart(copy, log.log_start_offset, now_ms)
        elif end < copy.log_end_offset:
            self._store.futures.truncate(copy, end, now_ms)

    async def _catch_up(self) -> None:
        """Until the copy has everything that is in the log when this returns."""
        while self._copy.log_end_offset < self._partition.log.log_end_offset:
            await self._pause()
            await self._turn()
            if self._unflushed_bytes > _UNFLUSHED_BYTES_MAX:
                await self._flush()

    async def _pause(self) -> None:
        """Everything else comes first; and no faster than replica.alter.log.dirs.io.max.bytes.per.second."""
        await asyncio.sleep(0)
        while self._quota.is_exceeded(self._clock.monotonic_ms()):  # noqa: ASYNC110  only time changes it
            await asyncio.sleep(_THROTTLED_PAUSE_S)

    async def _turn(self) -> None:
        log, copy = self._partition.log, self._copy
        copy.check_online()
        if copy.log_end_offset < log.log_start_offset:
            self._store.futures.restart(copy, log.log_start_offset, self._clock.now_ms())
        offset, truncations = copy.log_end_offset, log.truncations
        max_bytes = int(min(_TURN_BYTES, self._quota.bound))
        records = fetch(log, offset, max_bytes, Isolation.LOG_END).records
        if records is None:
            self._skip_to_end()
            return
        try:
            data = await _read(records)
        except OSError as error:
            raise log.io_failed(error) from error
        # While the disk was read the log may have been cut, and the copy with it.
        if log.truncations == truncations and copy.log_end_offset == offset:
            self._append(data)

    def _append(self, data: bytes) -> None:
        log, copy, now_ms = self._partition.log, self._copy, self._clock.now_ms()
        try:
            copy.append_as_follower(data, now_ms)
        except UnexpectedOffsetError as error:
            # The log begins in the midst of a batch, which the copy needs whole.
            self._store.futures.truncate(copy, error.first_offset, now_ms)
            copy.append_as_follower(data, now_ms)
        copy.update_high_watermark(log.high_watermark)
        advance_start(copy, log.log_start_offset)
        self._unflushed_bytes += len(data)
        self._quota.record(len(data), self._clock.monotonic_ms())

    def _skip_to_end(self) -> None:
        """Compaction has left nothing between here and the end."""
        log, copy = self._partition.log, self._copy
        if copy.log_end_offset < log.log_end_offset:
            with copy.io():
                copy.roll(self._clock.now_ms(), log.log_end_offset)
            copy.log_end_offset = log.log_end_offset

    async def _flush(self) -> None:
        copy, job = self._copy, start_flush(self._copy)
        self._unflushed_bytes = 0
        try:
            await asyncio.to_thread(job.run, copy.files)
        except OSError as error:
            raise copy.io_failed(error) from error
        finish_flush(copy, job, self._clock.now_ms())


async def _read(records: FileRange) -> bytes:
    """By a thread if the disk has to be waited for. What was just written is in memory, so the end comes at once."""
    return records.read() if records.is_cached() else await asyncio.to_thread(records.read)
