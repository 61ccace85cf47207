"""Processes that listen in on what the active controller tells."""

import asyncio
from collections.abc import AsyncIterator, Callable

from tidelog.kafka.cluster import MetadataUpdate
from tidelog.kafka.errors import KafkaCode, KafkaError

# An observer that lags this far behind is sent away, to come back for the whole picture.
QUEUE_MAX = 1_000


class Observers:
    def __init__(self) -> None:
        self._queues: set[asyncio.Queue[MetadataUpdate | None]] = set()

    def publish(self, update: MetadataUpdate) -> None:
        for queue in self._queues:
            if queue.full():
                queue.get_nowait()
                queue.put_nowait(None)
            else:
                queue.put_nowait(update)

    async def follow(self, snapshot: Callable[[], MetadataUpdate | None]) -> AsyncIterator[MetadataUpdate]:
        """What is known now, if this process is active, and then every update."""
        queue: asyncio.Queue[MetadataUpdate | None] = asyncio.Queue(QUEUE_MAX)
        self._queues.add(queue)
        try:
            if (known := snapshot()) is not None:
                yield known
            while (update := await queue.get()) is not None:
                yield update
        finally:
            self._queues.discard(queue)
        raise KafkaError(KafkaCode.REQUEST_TIMED_OUT, "too slow: updates were dropped; observe again")
