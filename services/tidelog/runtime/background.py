"""Tasks beside the main flow whose unexpected failure must not go unnoticed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from types import CodeType, TracebackType


class Background:
    """Tasks that live as long as the context: at its end all are cancelled and awaited.

    A task may end by itself. If it fails, `on_failure(name, error)` is told at once.
    """

    def __init__(self, on_failure: Callable[[str, BaseException], None]) -> None:
        self._on_failure = on_failure
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def tasks(self) -> tuple[asyncio.Task[Any], ...]:
        return tuple(self._tasks)

    def spawn(self, coroutine: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.cancel()

    async def cancel(self) -> None:
        """Cancel every task and wait until each has come to its end, also those spawned meanwhile."""
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(tuple(self._tasks))

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_failure(task.get_name(), error)


def suspended_at(task: asyncio.Task[Any]) -> str:
    """Where a task waits: the innermost frame of its chain of awaits, as `function (file:line)`."""
    awaited: Any = task.get_coro()
    place = "before its first line"
    while awaited is not None:
        frame = getattr(awaited, "cr_frame", None) or getattr(awaited, "ag_frame", None)
        if frame is not None:
            code: CodeType = frame.f_code
            place = f"{code.co_qualname} ({code.co_filename}:{frame.f_lineno})"
        awaited = getattr(awaited, "cr_await", None) or getattr(awaited, "ag_await", None)
    return place
