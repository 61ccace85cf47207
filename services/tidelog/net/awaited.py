"""The requests whose answers have to be awaited: so many at a time, and who comes then is held until it is his turn.

Requests that wait for data or for replicas are not among these: they cost next to nothing while they wait. Nor is
anybody held who asks for what is answered at once, so that a controller that is away does not stop producers.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from tidelog.net.server_connection import ServerConnection


class AwaitedRequests:
    def __init__(self, running_max: int) -> None:
        self._running_max = running_max
        # The event loop keeps no strong reference to a task, so that one could vanish half done.
        self._running: set[asyncio.Task[None]] = set()
        self._waiting: deque[tuple[Coroutine[Any, Any, None], ServerConnection]] = deque()

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def begin(self, answering: Coroutine[Any, Any, None], connection: ServerConnection) -> None:
        """Run it, now or when there is room; its connection is not read before it runs."""
        if len(self._running) < self._running_max:
            self._run(answering)
        else:
            connection.hold()
            self._waiting.append((answering, connection))

    def _run(self, answering: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(answering)
        self._running.add(task)
        task.add_done_callback(self._on_done)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if self._waiting:
            answering, connection = self._waiting.popleft()
            self._run(answering)
            connection.release()
