"""Commits for partitions that this process has not heard of.

A client may know of a new topic before this process does: brokers are told of it at the same time, and it asks one of them.
Told that the partition does not exist, Java's consumer gives up. So such a commit waits a moment for the news. Whatever is
asked of its group meanwhile waits behind it, because a later commit must not come first.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from tidelog.kafka.wire.messages.offset_commit import OffsetCommitRequest
from tidelog.runtime import logs

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine

    from tidelog.kafka.wire.schema import Request
    from tidelog.runtime.cluster_mirror import ClusterMirror

# Longer than news take, and short for whoever commits what is not there.
_WAIT_MS = 500
# Who comes when so many groups wait is told at once.
_GROUPS_MAX = 1_000

_logger = logs.get("groups")


class UnheardOf:
    def __init__(
        self,
        mirror: ClusterMirror,
        partition_exists: Callable[[str, int], bool],
        spawn: Callable[[Coroutine[Any, Any, None], str], asyncio.Task[Any]],
    ) -> None:
        self._mirror = mirror
        self._partition_exists = partition_exists
        self._spawn = spawn
        self._waiting: dict[str, deque[Callable[[], None]]] = {}

    def keeps(self, request: Request[Any], serve: Callable[[], None]) -> bool:
        """Whether `serve` is called later."""
        group: str | None = getattr(request, "group_id", None)
        if group is None:
            return False
        line = self._waiting.get(group)
        if line is not None:
            line.append(serve)
            return True
        if not isinstance(request, OffsetCommitRequest) or self._knows_all(request):
            return False
        if len(self._waiting) >= _GROUPS_MAX:
            return False
        self._waiting[group] = deque([serve])
        self._spawn(self._wait(request), "commit for a partition unheard of")
        return True

    async def _wait(self, request: OffsetCommitRequest) -> None:
        await self._mirror.until(lambda _: self._knows_all(request), _WAIT_MS)
        line = self._waiting[request.group_id]
        while line:
            try:
                line.popleft()()
            except Exception as error:  # noqa: BLE001  whatever one request breaks, those behind it are served
                _logger.failure("request failed", error, group=request.group_id)
        del self._waiting[request.group_id]

    def _knows_all(self, request: OffsetCommitRequest) -> bool:
        return all(
            self._partition_exists(topic.name, partition.partition_index)
            for topic in request.topics
            for partition in topic.partitions
        )
