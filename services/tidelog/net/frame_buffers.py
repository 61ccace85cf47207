"""Where received bytes lie: one staging buffer for the whole process, and a pool of buffers for frames under way."""

from __future__ import annotations

STAGE_BYTES = 64 * 1024
# A frame that outgrows the first step goes on in a buffer of this size, and from there by doubling.
LARGE_BYTES = 1024 * 1024
POOL_BYTES_MAX = 16 * 1024 * 1024


class BufferPool:
    """Keeps buffers of few sizes for the next frame; fresh memory costs several times what a reused buffer does."""

    def __init__(self, bytes_max: int = POOL_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._free: dict[int, list[bytearray]] = {}

    @property
    def kept_bytes(self) -> int:
        return self._bytes

    def take(self, size: int) -> bytearray:
        return self.take_kept(size) or bytearray(size)

    def take_kept(self, size: int) -> bytearray | None:
        """One that is kept, if there is one of this size: it takes no memory that is not taken already."""
        free = self._free.get(size)
        if not free:
            return None
        self._bytes -= size
        return free.pop()

    def give(self, buffer: bytearray) -> None:
        """Take a buffer back; one of an odd size, or one too many, is left to the garbage."""
        size = len(buffer)
        if size >= STAGE_BYTES and size & (size - 1) == 0 and self._bytes + size <= self._bytes_max:
            self._bytes += size
            self._free.setdefault(size, []).append(buffer)


def capacity_after(capacity: int) -> int:
    """The next larger buffer for a frame that has filled its own: memory follows the bytes that really came."""
    return LARGE_BYTES if capacity < LARGE_BYTES else capacity * 2


# The event loop asks for a buffer, fills it and hands it over in one go, so that all connections of a process can share
# these. What is left in the stage after a read is moved out before the next one.
STAGE = memoryview(bytearray(STAGE_BYTES))
SHARED_POOL = BufferPool()
