"""Cuts what a connection receives into frames: a four-byte length, then so many bytes.

Small frames are handed over where they lie in the stage. One that is not whole yet moves to a buffer of its own, which
is then read into up to the end of the frame and not beyond; it starts small, unless a large one lies idle, and grows as
bytes come, so that announcing a large frame costs nobody any memory. The handler gets a view that is released when it
returns: nothing may keep it.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from tidelog.net.frame_buffers import LARGE_BYTES, SHARED_POOL, STAGE, STAGE_BYTES, BufferPool, capacity_after

if TYPE_CHECKING:
    from collections.abc import Callable

_LENGTH = struct.Struct(">i")


class BadFrameError(Exception):
    """A length that no frame has; what follows on the connection cannot be made sense of."""


class FrameReader:
    def __init__(
        self,
        on_frame: Callable[[memoryview], None],
        *,
        bytes_min: int,
        bytes_max: int,
        stage: memoryview = STAGE,
        pool: BufferPool = SHARED_POOL,
    ) -> None:
        self._on_frame = on_frame
        self._bytes_min = bytes_min
        self._bytes_max = bytes_max
        self._stage = stage
        self._pool = pool
        # While held, no frame is handed over; what came already is parked until `resume`.
        self.held = False
        self._parked: memoryview | None = None
        # The frame (or only its length) that is being received outside the stage.
        self._buffer: bytearray | None = None
        self._view: memoryview | None = None
        self._in_length = False
        self._fill = self._limit = self._need = 0

    @property
    def has_parked(self) -> bool:
        return self._parked is not None

    def buffer(self) -> memoryview:
        """Where the next bytes are to be put."""
        assert self._parked is None, "nothing is to be read while frames are parked"
        return self._stage if self._view is None else self._view[self._fill : self._limit]

    def received(self, count: int) -> None:
        """So many bytes were put into `buffer`. Raises BadFrameError, and whatever the handler raises."""
        if self._view is None:
            at = self._hand_over(self._stage, 0, count)
            if at < count:
                self._keep(self._stage[at:count])
            return
        self._fill += count
        if self._fill == self._limit:
            self._filled()

    def resume(self) -> None:
        """Go on with what was parked; it may be held again on the way."""
        self.held = False
        parked, self._parked = self._parked, None
        if parked is not None:
            at = self._hand_over(parked, 0, len(parked))
            if at < len(parked):
                self._keep(parked[at:])

    def discard(self) -> None:
        """Give up what is under way: the connection is gone."""
        self._parked = None
        self._release_buffer()

    def _hand_over(self, view: memoryview, at: int, end: int) -> int:
        """Hand over all whole frames between `at` and `end`; gives where the rest starts."""
        while end - at >= 4 and not self.held:
            (size,) = _LENGTH.unpack_from(view, at)
            if not self._bytes_min <= size <= self._bytes_max:
                self._check(size)
            stop = at + 4 + size
            if stop > end:
                break
            frame = view[at + 4 : stop]
            at = stop
            self._on_frame(frame)
            frame.release()
        return at

    def _check(self, size: int) -> None:
        if not self._bytes_min <= size <= self._bytes_max:
            raise BadFrameError(f"a frame of {size} bytes; {self._bytes_min} to {self._bytes_max} are allowed")

    def _keep(self, rest: memoryview) -> None:
        """Move what is left out of the stage, which the next connection will overwrite."""
        if self.held:
            # Writable, as every frame is: the append path patches batches in place.
            self._parked = memoryview(bytearray(rest))
        elif len(rest) < 4:
            self._start_length(rest)
        else:
            self._start_frame(_LENGTH.unpack_from(rest)[0])
            self._put(rest[4:])

    def _start_length(self, start: memoryview) -> None:
        self._in_length = True
        self._buffer = bytearray(4)
        self._view = memoryview(self._buffer)
        self._fill, self._limit = 0, 4
        self._put(start)

    def _start_frame(self, size: int) -> None:
        self._in_length = False
        self._buffer = bytearray(size) if size <= STAGE_BYTES else self._take_first()
        self._view = memoryview(self._buffer)
        self._need = size
        self._fill, self._limit = 0, min(len(self._buffer), size)

    def _take_first(self) -> bytearray:
        """Where a large frame starts: a large buffer if one lies idle, which spares a read and a copy, else a small one."""
        return self._pool.take_kept(LARGE_BYTES) or self._pool.take(STAGE_BYTES)

    def _put(self, start: memoryview) -> None:
        assert self._view is not None
        self._view[: len(start)] = start
        self._fill = len(start)
        if self._fill == self._limit:
            self._filled()

    def _filled(self) -> None:
        """The buffer is full: that was the length, or a step of a large frame, or the frame."""
        assert self._view is not None
        if self._in_length:
            (size,) = _LENGTH.unpack(self._view)
            self._check(size)
            self._start_frame(size)
        elif self._fill < self._need:
            self._grow()
        else:
            self._finish()

    def _grow(self) -> None:
        assert self._buffer is not None
        larger = self._pool.take(capacity_after(len(self._buffer)))
        view = memoryview(larger)
        view[: self._fill] = memoryview(self._buffer)[: self._fill]
        self._pool.give(self._buffer)
        self._buffer, self._view = larger, view
        self._limit = min(len(larger), self._need)

    def _finish(self) -> None:
        assert self._view is not None
        frame, buffer = self._view[: self._need], self._buffer
        self._buffer = self._view = None
        try:
            self._on_frame(frame)
        finally:
            frame.release()
            if buffer is not None:
                self._pool.give(buffer)

    def _release_buffer(self) -> None:
        if self._buffer is not None:
            self._pool.give(self._buffer)
        self._buffer = self._view = None
