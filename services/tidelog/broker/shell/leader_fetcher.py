"""One connection over which a broker copies partitions from one of their leaders.

One fetch is in flight at a time. Its answer is read, appended and acknowledged by the next fetch in the very callback
that brings it, with no task in between: that is the way of every record that is produced with acks=all. The connection
is looked after by leader_connection.py, partitions that take no part for a while by left_out.py.

A fetch waits at the leader while nothing is new. If partitions join meanwhile, a request without effect is sent behind
it: the leader does not let others wait for a fetch that waits for records, so it answers at once.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tidelog.broker.core.fetch_session_client import FetchSessionClient
from tidelog.broker.core.partition_follower import Verdict
from tidelog.broker.shell.copying import code_of
from tidelog.broker.shell.leader_connection import LeaderConnection
from tidelog.broker.shell.left_out import LeftOut
from tidelog.broker.wire.follower_fetch import encode_follower_fetch, read_follower_answer
from tidelog.kafka.wire.headers import encode_request
from tidelog.kafka.wire.messages.api_versions import ApiVersionsRequest
from tidelog.runtime import logs

if TYPE_CHECKING:
    from tidelog.broker.core.fetch_session import PartitionKey
    from tidelog.broker.shell.copying import Copy
    from tidelog.broker.shell.fetcher_settings import FetcherSettings
    from tidelog.broker.wire.follower_fetch import FollowerAnswer
    from tidelog.kafka.types import BrokerId
    from tidelog.net.connection import Connection

_logger = logs.get("replication")


class LeaderFetcher:
    """Copies partitions that one broker leads."""

    def __init__(self, leader_id: BrokerId, settings: FetcherSettings) -> None:
        self.leader_id = leader_id
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._copies: dict[PartitionKey, Copy] = {}
        self._session = FetchSessionClient()
        self._left_out = LeftOut(self, settings)
        self._fetch: asyncio.Future[None] | None = None
        self._nudge: asyncio.Future[None] | None = None
        # Fetches that were sent, when the last one was, and how many there were when a partition last joined.
        self._sent = 0
        self._sent_ms = 0.0
        self._joined_after = 0
        self._refused = 0
        self._wake_is_due = False
        self._leader = LeaderConnection(leader_id, settings, self)

    def __len__(self) -> int:
        return len(self._copies)

    @property
    def copies(self) -> tuple[Copy, ...]:
        return tuple(self._copies.values())

    @property
    def has_lost_leader(self) -> bool:
        """Whether the leader closed the connection, and nobody has listened there since: it died, or it restarts."""
        return self._leader.is_dead and bool(self._copies)

    def add(self, copy: Copy) -> None:
        self._copies[copy.asked.key] = copy
        self.join(copy)

    def remove(self, key: PartitionKey) -> None:
        self._copies.pop(key, None)
        self._session.remove(key)

    def on_flushed(self, key: PartitionKey) -> None:
        """Records that waited for the disk are on it: acknowledge them."""
        copy = self._copies.get(key)
        if copy is not None and key not in self._session and copy.partition.is_durable(copy.follower.fetch_offset):
            self.join(copy)

    def end(self) -> None:
        """Copy nothing any more, from now on."""
        self._copies.clear()
        self._leader.end()

    async def close(self) -> None:
        """End, and wait until the connection is closed."""
        self.end()
        await self._leader.ended()

    # ---- for the connection

    @property
    def unanswered_ms(self) -> float:
        return 0 if self._fetch is None else self._settings.clock.monotonic_ms() - self._sent_ms

    def on_connected(self) -> None:
        self._send_next()

    def on_disconnected(self) -> None:
        for future in (self._fetch, self._nudge):
            if future is not None and future.done() and not future.cancelled():
                future.exception()
            elif future is not None:
                future.cancel()
        self._fetch = self._nudge = None
        self._session.on_failed()

    # ---- for partitions that are left out

    @property
    def connection(self) -> Connection | None:
        return self._leader.open

    def is_current(self, copy: Copy) -> bool:
        return self._copies.get(copy.asked.key) is copy

    def takes_part(self, copy: Copy) -> bool:
        return copy.asked.key in self._session

    def leave(self, copy: Copy) -> None:
        """Take no part from the next one on."""
        self._session.remove(copy.asked.key)

    def join(self, copy: Copy) -> None:
        """Take part in fetches from the next one on."""
        copy.ask_on()
        copy.joined_after = self._joined_after = self._sent
        self._session.put(copy.asked)
        self._leader.want()
        if not self._wake_is_due:
            # Many join together, after one word of the controller.
            self._wake_is_due = True
            self._loop.call_soon(self._wake)

    # ---- fetches

    def _wake(self) -> None:
        self._wake_is_due = False
        connection = self._leader.open
        # One that was lost is about to be replaced: what was sent over it has failed, and is looked at then.
        if connection is None or not connection.is_open:
            return
        if self._fetch is None:
            self._send_next()
        elif self._joined_after == self._sent and (self._nudge is None or self._nudge.done()):
            number = connection.next_correlation_id()
            frame = encode_request(ApiVersionsRequest(), 0, number, connection.client_id)
            self._nudge = connection.exchange(number, _ignore, frame)

    def _send_next(self) -> None:
        session, connection = self._session, self._leader.open
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
            assert self._leader.open is not None
            self._leader.open.close()
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
        self._leader.on_answer()
        copies, session, sent, quota = self._copies, self._session, self._sent, self._settings.quota
        for one in partitions:
            copy = copies.get(one.key)
            if copy is None or copy.joined_after >= sent or one.key not in session:
                continue
            verdict = copy.take(one, frame)
            if verdict is not Verdict.IGNORE:
                self._left_out.leave_out(copy, verdict)
            elif quota.is_on and self._left_out.is_throttled(copy, one.end - one.start):
                self._left_out.throttle(copy)
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


def _ignore(_: memoryview) -> None:
    return None
