"""Producer ids to give out: taken from blocks that no other broker has, the next of which is asked for in time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.runtime import logs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    # The next block of producer ids: the first, and how many.
    AllocateBlock = Callable[[], Awaitable[tuple[int, int]]]

# The next block is asked for when this share of the present one is used up.
_PREFETCH_AT = 0.9

_logger = logs.get("producers")


class ProducerIds:
    """Gives out each id of its blocks once. What is left of a block when the broker stops is never used."""

    def __init__(self, allocate: AllocateBlock, spawn: Callable[[Coroutine[Any, Any, None], str], object]) -> None:
        """`spawn` runs a coroutine in the background under a name."""
        self._allocate = allocate
        self._spawn = spawn
        self._present = range(0)
        self._used = 0
        self._following: range | None = None
        # Set when the block that is being fetched is there or refused; None while none is.
        self._fetched: asyncio.Event | None = None

    def next(self) -> int:
        """An id that nobody else has. COORDINATOR_LOAD_IN_PROGRESS, which clients retry, while a block is fetched."""
        if self._used == len(self._present) and self._following is not None:
            self._present, self._used, self._following = self._following, 0, None
        if self._used >= len(self._present) * _PREFETCH_AT:
            self._ask()
        if self._used == len(self._present):
            raise KafkaError(KafkaCode.COORDINATOR_LOAD_IN_PROGRESS, "a block of producer ids is being fetched")
        producer_id = self._present[self._used]
        self._used += 1
        return producer_id

    async def next_fetched(self) -> int:
        """The same, but a block that is being fetched is waited for."""
        try:
            return self.next()
        except KafkaError:
            if self._fetched is None:
                raise
            await self._fetched.wait()
        return self.next()

    def _ask(self) -> None:
        if self._fetched is None and self._following is None:
            self._fetched = asyncio.Event()
            self._spawn(self._fetch(), "producer ids")

    async def _fetch(self) -> None:
        try:
            first, count = await self._allocate()
        except KafkaError as refusal:
            _logger.warning("no producer ids", why=refusal.message)
        else:
            self._following = range(first, first + count)
        finally:
            if self._fetched is not None:
                self._fetched.set()
                self._fetched = None
