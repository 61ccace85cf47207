"""One connection over which a broker copies partitions from one of their leaders.

One fetch is in flight at a time. Its answer is read, appended and acknowledged by the next fetch in the very callback
that brings it, with no task in between: that is the way of every record that is produced with acks=all. Around this
runs one task that connects, and connects again when the connection is lost.

A fetch waits at the leader while nothing is new. If partitions join meanwhile, a request without effect is sent behind
it: the leader does not let others wait for a fetch that waits for records, so it answers at once.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from tidelog.broker.core.fetch_session_client import FetchSessionClient
from tidelog.broker.core.partition_follower import Verdict
from tidelog.broker.shell.copying import code_of
from tidelog.broker.shell.leader_offsets import ask_until_settled
from tidelog.broker.wire.follower_fetch import (
    FollowerIdentity,
    encode_follower_fetch,
    read_follower_answer,
)
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.headers import encode_request
from tidelog.kafka.wire.messages.api_versions import ApiVersionsRequest
from tidelog.net.connection import Connection
from tidelog.runtime import logs

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from tidelog.broker.core.fetch_session import PartitionKey
    from tidelog.broker.core.replication_quota import ReplicationQuota
    from tidelog.broker.shell.copying import Copy
    from tidelog.broker.wire.follower_fetch import FollowerAnswer
    from tidelog.kafka.types import BrokerId, Endpoint
    from tidelog.runtime.clock import Clock
    from tidelog.runtime.timers import Timers

# A leader that restarts is back within a second or two, and nothing can be written while it is looked for.
_RECONNECT_MS_MIN, _RECONNECT_MS_MAX = 10.0, 250.0
_CONNECT_TIMEOUT_S = 5.0
# How often it is looked whether a throttled partition may go on.
_THROTTLED_MS = 100

_logger = logs.get("replication")


class FetcherSettings(NamedTuple):
    """What all fetchers of a broker have in common."""

    identity: FollowerIdentity
    socket_timeout_ms: float
    backoff_ms: float
    own_epoch: Callable[[], int]
    endpoint_of: Callable[[BrokerId], Endpoint | None]
    quota: ReplicationQuota
    clock: Clock
    timers: Timers
    spawn: Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]]


class LeaderFetcher:
    """Copies partitions that one broker leads."""

    def __init__(self, leader_id: BrokerId, settings: FetcherSettings) -> None:
        self.leader_id = leader_id
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._copies: dict[PartitionKey, Copy] = {}
        self._session = FetchSessionClient()
        self._connection: Connection | None = None
        self._fetch: asyncio.Future[None] | None = None
        self._nudge: asyncio.Future[None] | None = None
        # Fetches that were sent, when the last one was, and how many there were when a partition last joined.
        self._sent = 0
        self._sent_ms = 0.0
        self._joined_after = 0
        self._pause_ms = _RECONNECT_MS_MIN
        self._refused = 0
        self._wake_is_due = False
        self._has_work = asyncio.Event()
        self._task = settings.spawn(self._run(), f"fetcher of broker {leader_id}")

    def __len__(self) -> int:
        return len(self._copies)

    @property
    def copies(self) -> tuple[Copy, ...]:
        return tuple(self._copies.values())

    def add(self, copy: Copy) -> None:
        self._copies[copy.asked.key] = copy
        self._join(copy)

    def remove(self, key: PartitionKey) -> None:
        self._copies.pop(key, None)
        self._session.remove(key)

    def on_flushed(self, key: PartitionKey) -> None:
        """Records that waited for the disk are on it: acknowledge them."""
        copy = self._copies.get(key)
        if copy is not None and key not in self._session and copy.partition.is_durable(copy.follower.fetch_offset):
            self._join(copy)

    def end(self) -> None:
        """Copy nothing any more, from now on."""
        self._copies.clear()
        self._task.cancel()

    async def close(self) -> None:
        """End, and wait until the connection is closed."""
        self.end()
        await asyncio.wait({self._task})

    # ---- the connection

    async def _run(self) -> None:
        while True:
            await self._has_work.wait()
            connection = await self._connect()
            if connection is not None:
                await self._fetch_over(connection)
            if not self._copies:
                self._has_work.clear()
                continue
            await asyncio.sleep(self._pause_ms / 1000)
            self._pause_ms = min(self._pause_ms * 2, _RECONNECT_MS_MAX)

    async def _fetch_over(self, connection: Connection) -> None:
        try:
            self._connection = connection
            self._send_next()
            await self._until_lost(connection)
        finally:
            connection.close()
            self._forget_connection()

    async def _connect(self) -> Connection | None:
        endpoint = self._settings.endpoint_of(self.leader_id)
        if endpoint is None:
            return None
        client_id = self._settings.identity.client_id.decode()
        try:
            return await Connection.open(
                endpoint.host, endpoint.port, client_id=client_id, timeout_s=_CONNECT_TIMEOUT_S
            )
        except OSError as error:
            _logger.debug("leader not reached", leader=self.leader_id, at=endpoint.address, why=str(error))
            return None

    async def _until_lost(self, connection: Connection) -> None:
        """A leader that is silent for too long counts as lost as well."""
        timeout_s = self._settings.socket_timeout_ms / 1000
        lost = asyncio.ensure_future(connection.closed())
        try:
            while not lost.done():
                await asyncio.wait({lost}, timeout=timeout_s)
                silent_ms = self._settings.clock.monotonic_ms() - self._sent_ms
                if self._fetch is not None and silent_ms > self._settings.socket_timeout_ms:
                    _logger.warning("leader is silent", leader=self.leader_id, ms=round(silent_ms))
                    return
        finally:
            lost.cancel()

    def _forget_connection(self) -> None:
        self._connection = None
        for future in (self._fetch, self._nudge):
            if future is not None and future.done() and not future.cancelled():
                future.exception()
            elif future is not None:
                future.cancel()
        self._fetch = self._nudge = None
        self._session.on_failed()

    # ---- fetches

    def _join(self, copy: Copy) -> None:
        """Take part in fetches from the next one on."""
        copy.ask_on()
        copy.joined_after = self._joined_after = self._sent
        self._session.put(copy.asked)
        self._has_work.set()
        if not self._wake_is_due:
            # Many join together, after one word of the controller.
            self._wake_is_due = True
            self._loop.call_soon(self._wake)

    def _wake(self) -> None:
        self._wake_is_due = False
        if self._connection is None:
            return
        if self._fetch is None:
            self._send_next()
        elif self._joined_after == self._sent and (self._nudge is None or self._nudge.done()):
            connection = self._connection
            number = connection.next_correlation_id()
            frame = encode_request(ApiVersionsRequest(), 0, number, connection.client_id)
            self._nudge = connection.exchange(number, _ignore, frame)

    def _send_next(self) -> None:
        session, connection = self._session, self._connection
        self._fetch = None
        if connection is None or not len(session):
            return
        settings = self._settings
        number = connection.next_correlation_id()
        frame = encode_follower_fetch(settings.identity, settings.own_epoch(), number, session.build())
        self._sent += 1
        self._sent_ms = settings.clock.monotonic_ms()
        self._fetch = connection.exchange(number, self._on_answer, frame)

    def _on_answer(self, frame: memoryview) -> None:
        try:
            answer = read_follower_answer(frame)
            is_good = self._take(answer, frame)
        except Exception as error:  # noqa: BLE001  nobody waits for this answer; the next connection starts afresh
            _logger.failure("answer not understood", error, leader=self.leader_id)
            assert self._connection is not None
            self._connection.close()
            return
        if is_good:
            self._send_next()
        else:
            self._fetch = None
            self._send_after_refusal(answer)

    def _take(self, answer: FollowerAnswer, frame: memoryview) -> bool:
        """Whether the answer belongs to our session; if so, each partition has got its part."""
        code, session_id, partitions = answer
        if not self._session.on_answer(code_of(code), session_id, [one.key for one in partitions]):
            return False
        self._refused = 0
        self._pause_ms = _RECONNECT_MS_MIN
        copies, session, sent = self._copies, self._session, self._sent
        for one in partitions:
            copy = copies.get(one.key)
            if copy is None or copy.joined_after >= sent or one.key not in session:
                continue
            verdict = copy.take(one, frame)
            if verdict is not Verdict.IGNORE:
                self._leave_out(copy, verdict)
            elif self._settings.quota.is_on and self._is_throttled(copy, one.end - one.start):
                session.remove(one.key)
                self._settings.timers.after(_THROTTLED_MS, partial(self._join_unless_throttled, copy))
            elif copy.ask_on():
                session.put(copy.asked)
        return True

    def _send_after_refusal(self, answer: FollowerAnswer) -> None:
        """A session that the leader does not know any more is opened anew at once; what goes on being refused is not."""
        self._refused += 1
        if self._refused == 1:
            self._loop.call_soon(self._send_if_idle)
            return
        _logger.warning("fetch refused", leader=self.leader_id, code=code_of(answer.error_code).name)
        self._settings.timers.after(self._settings.backoff_ms, self._send_if_idle)

    def _send_if_idle(self) -> None:
        if self._fetch is None:
            self._send_next()

    # ---- partitions that do not take part

    def _leave_out(self, copy: Copy, verdict: Verdict) -> None:
        self._session.remove(copy.asked.key)
        match verdict:
            case Verdict.DELAYED:
                delay_ms = copy.follower.retry_at_ms - self._settings.clock.monotonic_ms()
                self._settings.timers.after(delay_ms, lambda: self._join_again(copy))
            case Verdict.ASK_LATEST:
                self._settings.spawn(self._ask(copy), f"offsets of {copy.partition.name}")
            case Verdict.FAILED:
                # If the leader is in a newer epoch, the controller's word about it is on its way here, too.
                tell = _logger.debug if copy.last_refusal is KafkaCode.FENCED_LEADER_EPOCH else _logger.error
                tell(
                    "not copied any more",
                    partition=str(copy.partition.name),
                    leader=self.leader_id,
                    epoch=copy.follower.leader_epoch,
                    why=copy.last_refusal.name,
                )

    def _join_again(self, copy: Copy) -> None:
        is_ready = copy.follower.is_ready(self._settings.clock.monotonic_ms() + 1)
        if self._is_current(copy) and is_ready and copy.asked.key not in self._session:
            self._join(copy)

    def _is_throttled(self, copy: Copy, size: int = 0) -> bool:
        """Whether it must wait, after so many bytes more, because throttled replicas are copied too fast."""
        quota, name, now_ms = self._settings.quota, copy.partition.name, self._settings.clock.monotonic_ms()
        if size and quota.is_throttled(name.topic, name.partition):
            quota.record(size, now_ms)
        return quota.must_wait(name.topic, name.partition, now_ms, is_in_sync=copy.follower.is_in_sync)

    def _join_unless_throttled(self, copy: Copy) -> None:
        if not self._is_current(copy) or copy.asked.key in self._session:
            return
        if self._is_throttled(copy):
            self._settings.timers.after(_THROTTLED_MS, lambda: self._join_unless_throttled(copy))
        else:
            self._join(copy)

    async def _ask(self, copy: Copy) -> None:
        verdict = await ask_until_settled(
            copy,
            self._connection,
            self._settings.identity.broker_id,
            lambda: self._is_current(copy),
            self._settings.clock,
        )
        if not self._is_current(copy):
            return
        if verdict is Verdict.IGNORE:
            self._join(copy)
        else:
            self._leave_out(copy, verdict)

    def _is_current(self, copy: Copy) -> bool:
        return self._copies.get(copy.asked.key) is copy


def _ignore(_: memoryview) -> None:
    return None
