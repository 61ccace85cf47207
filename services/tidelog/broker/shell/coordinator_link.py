"""The connection to one coordinator: opened when it is needed, shared by everything that this broker asks it.

Answers come in any order. Whoever asks is told exactly once: of the answer, or of a refusal that lets his client try again
(16 if it was sent and its fate is unknown, 15 if it was not). One sweep for all looks after those that wait too long.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.primitives import MalformedMessage
from tidelog.net.connection import Connection
from tidelog.runtime import logs

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine

    from tidelog.kafka.types import Endpoint
    from tidelog.runtime.clock import Clock

    Spawn = Callable[[Coroutine[Any, Any, None], str], asyncio.Task[Any]]

# A coordinator is near, or it is not there.
_CONNECT_TIMEOUT_S = 2.0
_BACKOFF_MS = 100
# What may be under way to one coordinator; also with a thousand clients in a rebalance it is a fraction of that.
_BYTES_MAX = 128 * 1024 * 1024
# Those who wait for others to join have the time of the longest rebalance that is at all usual.
LONG_WAIT_MS = 600_000
_INT32_MAX = 2**31 - 1

_logger = logs.get("relay")


class Asked(ABC):
    """One request under way to a coordinator."""

    __slots__ = ("correlation_id", "deadline_ms", "frame", "link")

    def __init__(self) -> None:
        self.correlation_id = 0
        self.deadline_ms = 0.0
        self.frame = b""
        self.link: CoordinatorLink | None = None

    @property
    def is_abandoned(self) -> bool:
        """Whether nobody waits for it any more."""
        return False

    @abstractmethod
    def answered(self, frame: memoryview) -> None:
        """The answer is there; the frame is valid during the call only. MalformedMessage before anything is done."""

    @abstractmethod
    def refused(self, code: KafkaCode) -> None:
        """There will be no answer."""

    def on_answer(self, frame: memoryview) -> None:
        link = self.link
        if link is None:
            return  # it was refused in the meantime
        link.forget(self)
        try:
            self.answered(frame)
        except MalformedMessage:
            # The connection is not worth keeping either: whoever reads from it closes it.
            self.refused(KafkaCode.NOT_COORDINATOR)
            raise


class CoordinatorLink:
    """To one incarnation of a coordinator."""

    def __init__(
        self, epoch: int, endpoint: Endpoint, client_id: str, request_timeout_ms: int, clock: Clock, spawn: Spawn
    ) -> None:
        self.epoch = epoch
        self.client_id = client_id.encode()
        self._endpoint = endpoint
        self._request_timeout_ms = request_timeout_ms
        self._clock = clock
        self._spawn = spawn
        self._connection: Connection | None = None
        self._running: asyncio.Task[Any] | None = None
        self._retry_at_ms = 0.0
        self._correlation_id = 0
        # By correlation id and so in the order of their deadlines, since those of one kind wait equally long.
        self._short: dict[int, Asked] = {}
        self._long: dict[int, Asked] = {}
        self._bytes = 0

    @property
    def waiting(self) -> int:
        return len(self._short) + len(self._long)

    @property
    def waiting_bytes(self) -> int:
        return self._bytes

    def next_correlation_id(self) -> int:
        self._correlation_id = 0 if self._correlation_id == _INT32_MAX else self._correlation_id + 1
        return self._correlation_id

    def ask(self, asked: Asked, correlation_id: int, frame: bytes, *, waits_long: bool = False) -> None:
        """Send a whole frame that carries this correlation id."""
        now_ms = self._clock.monotonic_ms()
        connection = self._connection
        is_open = connection is not None and connection.is_open
        if self._bytes + len(frame) > _BYTES_MAX or not (is_open or self._opens(now_ms)):
            asked.refused(KafkaCode.COORDINATOR_NOT_AVAILABLE)
            return
        asked.link, asked.correlation_id, asked.frame = self, correlation_id, frame
        asked.deadline_ms = now_ms + (LONG_WAIT_MS if waits_long else self._request_timeout_ms)
        (self._long if waits_long else self._short)[correlation_id] = asked
        self._bytes += len(frame)
        if is_open and connection is not None:
            connection.post(correlation_id, asked.on_answer, frame)

    def forget(self, asked: Asked) -> None:
        """It is answered, or nobody wants to know any more."""
        asked.link = None
        self._bytes -= len(asked.frame)
        if self._short.pop(asked.correlation_id, None) is None:
            self._long.pop(asked.correlation_id, None)

    def sweep(self) -> None:
        """Refuse what waits for too long, and forget those whose clients are gone."""
        now_ms = self._clock.monotonic_ms()
        for waiting in (self._short, self._long):
            for asked in list(waiting.values()):
                if asked.deadline_ms > now_ms:
                    break
                self._refuse(asked, KafkaCode.COORDINATOR_NOT_AVAILABLE)
        for asked in [one for one in self._long.values() if one.is_abandoned]:
            self.forget(asked)
            asked.frame = b""

    def close(self) -> None:
        """The coordinator is gone, or this broker stops."""
        if self._running is not None:
            self._running.cancel()

    # ---- the connection

    def _opens(self, now_ms: float) -> bool:
        """Whether there will be a connection or it will be known soon that there is none."""
        if self._running is None and now_ms >= self._retry_at_ms:
            self._running = self._spawn(self._run(), "connection to a coordinator")
        return self._running is not None

    async def _run(self) -> None:
        code = KafkaCode.COORDINATOR_NOT_AVAILABLE
        try:
            host, port = self._endpoint.host, self._endpoint.port
            connection = await Connection.open(host, port, client_id=None, timeout_s=_CONNECT_TIMEOUT_S)
            code = KafkaCode.NOT_COORDINATOR
            await self._use(connection)
        except OSError as error:
            _logger.info("no connection to a coordinator", address=self._endpoint.address, reason=str(error))
        finally:
            self._connection = self._running = None
            self._retry_at_ms = self._clock.monotonic_ms() + _BACKOFF_MS
            for asked in [*self._short.values(), *self._long.values()]:
                self._refuse(asked, code)

    async def _use(self, connection: Connection) -> None:
        self._connection = connection
        try:
            for asked in [*self._short.values(), *self._long.values()]:
                connection.post(asked.correlation_id, asked.on_answer, asked.frame)
            await connection.closed()
        finally:
            connection.close()

    def _refuse(self, asked: Asked, code: KafkaCode) -> None:
        self.forget(asked)
        asked.refused(code)
