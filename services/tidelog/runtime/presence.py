"""Who is alive: every process can be attended, and a broken attendance is checked before anybody is called dead.

A killed process closes its connections at once, long before its ZooKeeper session ends. So peers hold one stream to it.
When the stream breaks, a fresh connection decides: *refused* proves that nobody listens there any more, and an answer from
another incarnation proves that the one asked for is gone. Silence proves nothing: the session's end will tell.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
from contextlib import aclosing
from typing import TYPE_CHECKING

from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.rpc import types_pb2, types_pb2_grpc
from tidelog.runtime.grpc_edge import CallFailed, Channel, ProbeResult, connect, probe

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import grpc.aio

    from tidelog.kafka.types import Endpoint

SERVICE_NAME = "tidelog.v1.Presence"

# A process asked for an incarnation it cannot judge yet (its registration is being written) takes this long to find out.
_UNSURE_TIMEOUT_S = 5.0
_PROBE_TIMEOUT_MS = 1_000
# A process that is killed closes its sockets one after the other: the stream may break a moment before the port does.
_PAUSE_S_MIN, _PAUSE_S_MAX = 0.003, 0.1
_LONG_S = 1.0


class Verdict(enum.Enum):
    """What is known of an incarnation."""

    ALIVE = enum.auto()
    DEAD = enum.auto()
    UNKNOWN = enum.auto()


class Incarnation:
    """Which registration this process holds, and up to which epoch registrations are known not to be its own."""

    def __init__(self) -> None:
        self.epoch: int | None = None
        self._not_mine = -1
        self._changed = asyncio.Event()

    def begin(self, epoch: int) -> None:
        """This process holds the registration; all older ones are somebody's past."""
        self.epoch, self._not_mine = epoch, max(self._not_mine, epoch - 1)
        self._wake()

    def disown(self, epoch: int) -> None:
        """The registration of this epoch is not, or no longer, held by this process."""
        self._not_mine = max(self._not_mine, epoch)
        if self.epoch is not None and self.epoch <= epoch:
            self.epoch = None
        self._wake()

    def judge(self, asked: int) -> Verdict:
        if self.epoch == asked:
            return Verdict.ALIVE
        return Verdict.DEAD if asked <= self._not_mine else Verdict.UNKNOWN

    async def changed(self) -> None:
        await self._changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class PresenceService(types_pb2_grpc.PresenceServicer):
    """Tells peers that this process lives, for as long as it holds the registration they ask about."""

    def __init__(self, incarnation: Incarnation) -> None:
        self._incarnation = incarnation

    async def Attend(
        self,
        request: types_pb2.AttendRequest,
        context: grpc.aio.ServicerContext[object, object],
    ) -> AsyncIterator[types_pb2.Attending]:
        verdict = await self._settled(request.epoch)
        if verdict is Verdict.DEAD:
            raise KafkaError(KafkaCode.STALE_BROKER_EPOCH, f"registration {request.epoch} is not of this process")
        if verdict is Verdict.UNKNOWN:
            raise KafkaError(KafkaCode.BROKER_NOT_AVAILABLE, "this process is not registered yet")
        yield types_pb2.Attending(epoch=request.epoch)
        while self._incarnation.judge(request.epoch) is Verdict.ALIVE:
            await self._incarnation.changed()

    async def _settled(self, asked: int) -> Verdict:
        """A registration is visible to others before its writer has the answer: wait rather than deny it."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_UNSURE_TIMEOUT_S):
                while self._incarnation.judge(asked) is Verdict.UNKNOWN:
                    await self._incarnation.changed()
        return self._incarnation.judge(asked)


async def until_dead(endpoint: Endpoint, epoch: int) -> None:
    """Attend the incarnation; returns only when it is proven dead."""
    now = asyncio.get_running_loop().time
    pause_s = _PAUSE_S_MIN
    async with connect(f"{endpoint.host}:{endpoint.port}") as channel:
        while True:
            begun = now()
            if await _attend(channel, epoch) is Verdict.DEAD:
                return
            result = await probe(endpoint.host, endpoint.port, _PROBE_TIMEOUT_MS)
            if result is ProbeResult.REFUSED:
                return
            pause_s = _PAUSE_S_MIN if now() - begun > _LONG_S else min(pause_s * 2, _PAUSE_S_MAX)
            await asyncio.sleep(pause_s)


async def examine(endpoint: Endpoint, epoch: int, timeout_ms: float) -> Verdict:
    """Ask once whether the incarnation lives."""
    if await probe(endpoint.host, endpoint.port, timeout_ms) is ProbeResult.REFUSED:
        return Verdict.DEAD
    async with connect(f"{endpoint.host}:{endpoint.port}") as channel:
        return await _attend(channel, epoch, timeout_ms, only_first=True)


async def _attend(
    channel: Channel, epoch: int, timeout_ms: float | None = None, *, only_first: bool = False
) -> Verdict:
    """Hold the stream to its end; DEAD only if the answer proves it."""
    stub = types_pb2_grpc.PresenceStub(channel.grpc)
    request = types_pb2.AttendRequest(epoch=epoch)
    try:
        async with aclosing(channel.stream(stub.Attend, request, timeout_ms)) as attending:
            async for _ in attending:
                if only_first:
                    return Verdict.ALIVE
    except KafkaError as refusal:
        return Verdict.DEAD if refusal.code is KafkaCode.STALE_BROKER_EPOCH else Verdict.UNKNOWN
    except CallFailed:
        return Verdict.UNKNOWN
    return Verdict.UNKNOWN
