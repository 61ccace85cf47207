"""One shard that this process owns: taken over, served, and taken over anew whenever its log's end is in doubt."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from tidelog.group_coordinator.shell.append_queue import AppendQueue
from tidelog.group_coordinator.shell.loading import FencedError, put_up_fence, replay_up_to
from tidelog.group_coordinator.shell.shard_log import InDoubtError
from tidelog.kafka.coordination.fencing import fence_of
from tidelog.runtime import logs

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.group_coordinator.core.records import CoordinatorRecord
    from tidelog.group_coordinator.shell.append_queue import Spawn
    from tidelog.group_coordinator.shell.shard_log import ShardLog
    from tidelog.kafka.records.compression import Codec
    from tidelog.runtime.clock import Clock

# An append is in doubt because its leader is gone or slow; a moment later there may be another one.
_RETRY_S = 0.05

_logger = logs.get("shards")


class Phase(StrEnum):
    FENCING = "fencing"
    LOADING = "loading"
    ACTIVE = "active"
    FENCED = "fenced"


class Content(Protocol):
    """What a shard holds: groups and offsets, or transactions."""

    def replay(self, record: CoordinatorRecord, producer_id: int | None) -> None: ...

    def on_transaction_marker(self, producer_id: int, *, committed: bool) -> None: ...

    def begin(self, appends: AppendQueue) -> None:
        """Everything is replayed: serve, and write through this."""
        ...

    def end(self) -> None:
        """Serve no more; whoever waits is sent away."""
        ...


C = TypeVar("C", bound=Content)


class Shard(Generic[C]):
    """The life of one shard in one epoch."""

    def __init__(
        self,
        log: ShardLog,
        epoch: int,
        new_content: Callable[[], C],
        clock: Clock,
        spawn: Callable[..., asyncio.Task[None]],
        on_loaded: Callable[[float], None],
        *,
        fetch_bytes: int,
        codec: Codec,
    ) -> None:
        self.log = log
        self.name = log.name
        self.epoch = epoch
        self.phase = Phase.FENCING
        # What is served; None while the shard is loaded.
        self.content: C | None = None
        # How long it took to fence and load it the last time.
        self.load_took_ms: float | None = None
        self._new_content = new_content
        self._clock = clock
        self._spawn: Spawn = spawn
        self._on_loaded = on_loaded
        self._fetch_bytes = fetch_bytes
        self._codec = codec
        self._appends: AppendQueue | None = None
        self._doubted = asyncio.Event()
        self._task = spawn(self._live(), f"shard {log.name}")

    def start_over(self, reason: str) -> None:
        """What is in memory may not be what is in the log any more: read it again."""
        if not self._doubted.is_set():
            _logger.warning("shard in doubt", shard=str(self.name), epoch=self.epoch, reason=reason)
            self._stop_serving()
            self._doubted.set()

    def give_up(self) -> None:
        """Another coordinator has it now, or this process ends."""
        self._task.cancel()
        self._stop_serving()

    async def _live(self) -> None:
        attempt = 0
        while True:
            self._doubted.clear()
            try:
                await self._take_over(fence_of(self.epoch, attempt))
            except FencedError:
                self.phase = Phase.FENCED
                _logger.warning("shard has a newer owner", shard=str(self.name), epoch=self.epoch)
                return
            except InDoubtError as doubt:
                _logger.info("shard not taken over yet", shard=str(self.name), reason=str(doubt))
                await asyncio.sleep(_RETRY_S)
            else:
                await self._doubted.wait()
            attempt += 1

    async def _take_over(self, fence: int) -> None:
        started_ms = self._clock.monotonic_ms()
        self.phase = Phase.FENCING
        end_offset = await put_up_fence(self.log, fence, self._clock.now_ms())
        self.phase = Phase.LOADING
        content = self._new_content()
        count = await replay_up_to(self.log, end_offset, content, self._fetch_bytes)
        self._appends = AppendQueue(self.log, fence, self._clock, self._spawn, self.start_over, self._codec)
        self.content = content
        self.phase = Phase.ACTIVE
        content.begin(self._appends)
        took_ms = self.load_took_ms = self._clock.monotonic_ms() - started_ms
        self._on_loaded(took_ms)
        _logger.info("shard loaded", shard=str(self.name), epoch=self.epoch, records=count, took_ms=round(took_ms))

    def _stop_serving(self) -> None:
        content, self.content = self.content, None
        self.phase = Phase.FENCING
        if content is not None:
            content.end()
        if self._appends is not None:
            self._appends.close()
            self._appends = None
