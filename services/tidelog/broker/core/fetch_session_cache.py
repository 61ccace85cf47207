"""The fetch sessions of a broker: a bounded number, the less valuable giving way to the more valuable.

When all slots are taken, a new session takes the place of the one that was idle longest if that is longer than
`eviction_ms`, else of the least valuable one that may be evicted, if that is worth less: a consumer's is worth less than
a follower's, a smaller one less than a larger one. A session may be evicted for anybody once it has existed for
`eviction_ms`, and before that only a consumer's and only for a follower. Who gets no slot gets session id 0.
"""

from bisect import bisect_left, insort
from collections import OrderedDict
from typing import TYPE_CHECKING

from tidelog.broker.core.fetch_session import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    FetchedPartition,
    FetchSession,
    FullFetch,
    IncrementalFetch,
    PartitionKey,
    RefusedFetch,
    SessionlessFetch,
    next_epoch,
)
from tidelog.kafka.errors import KafkaCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

EVICTION_MS = 120_000
_TOPIC_IDS_SINCE = 13

# Whether it is a follower's, how many partitions it has, its id: in the order of value.
_Value = tuple[bool, int, int]


class _Evictable:
    """Sessions that may be evicted, the least valuable first."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: list[_Value] = []

    def add(self, value: _Value) -> None:
        insort(self._values, value)

    def discard(self, value: _Value) -> None:
        at = bisect_left(self._values, value)
        if at < len(self._values) and self._values[at] == value:
            del self._values[at]

    def first_below(self, value: _Value) -> int | None:
        """The id of the least valuable session, if it is worth less than this."""
        return self._values[0][2] if self._values and self._values[0] < value else None


class FetchSessionCache:
    """All sessions, by id."""

    def __init__(self, slots: int, new_id: "Callable[[], int]", eviction_ms: int = EVICTION_MS) -> None:
        """`new_id` gives a random positive 32-bit number."""
        self._slots = slots
        self._new_id = new_id
        self._eviction_ms = eviction_ms
        # In the order of their last use.
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()
        self._for_anybody = _Evictable()
        self._for_followers = _Evictable()
        self.partitions = 0
        self.evictions = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def context(
        self,
        session_id: int,
        epoch: int,
        asked: "Sequence[FetchedPartition]",
        forgotten: "Iterable[PartitionKey]",
        now_ms: float,
        *,
        version: int,
        is_follower: bool,
    ) -> SessionlessFetch:
        """How to read and answer a Fetch with this session id and epoch; see fetch_session.py."""
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self.remove(session_id)
            if epoch == FINAL_EPOCH:
                return SessionlessFetch(asked)
            return self._full_fetch(asked, is_follower=is_follower, uses_topic_ids=version >= _TOPIC_IDS_SINCE)
        session = self._sessions.get(session_id)
        if session is None:
            return RefusedFetch(KafkaCode.FETCH_SESSION_ID_NOT_FOUND)
        if epoch != session.epoch:
            return RefusedFetch(KafkaCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != (version >= _TOPIC_IDS_SINCE):
            return RefusedFetch(KafkaCode.FETCH_SESSION_TOPIC_ID_ERROR)
        return self._next_fetch(session, asked, forgotten, now_ms)

    def remove(self, session_id: int) -> bool:
        session = self._sessions.pop(session_id, None)
        if session is None:
            return False
        self._unfile(session)
        return True

    def _full_fetch(
        self, asked: "Sequence[FetchedPartition]", *, is_follower: bool, uses_topic_ids: bool
    ) -> SessionlessFetch:
        # Of a partition that is named twice the last counts, as in every later request of the session.
        partitions = {partition.key: partition for partition in asked}

        def open_session(now_ms: float) -> FetchSession | None:
            return self._open(partitions, now_ms, is_follower=is_follower, uses_topic_ids=uses_topic_ids)

        return FullFetch(partitions.values(), open_session) if partitions else SessionlessFetch(asked)

    def _next_fetch(
        self,
        session: FetchSession,
        asked: "Sequence[FetchedPartition]",
        forgotten: "Iterable[PartitionKey]",
        now_ms: float,
    ) -> SessionlessFetch:
        session.update(asked, forgotten)
        if not session.partitions:
            self.remove(session.id)
            return SessionlessFetch(())
        session.epoch = next_epoch(session.epoch)
        self._touch(session, now_ms)
        return IncrementalFetch(session)

    def _open(
        self,
        partitions: "dict[PartitionKey, FetchedPartition]",
        now_ms: float,
        *,
        is_follower: bool,
        uses_topic_ids: bool,
    ) -> FetchSession | None:
        if len(self._sessions) >= self._slots and not self._evict_for((is_follower, len(partitions), 0), now_ms):
            return None
        session_id = self._new_id()
        while session_id in self._sessions or session_id <= 0:
            session_id = self._new_id()
        session = FetchSession(session_id, partitions, now_ms, is_follower=is_follower, uses_topic_ids=uses_topic_ids)
        self._sessions[session_id] = session
        self._touch(session, now_ms)
        return session

    def _touch(self, session: FetchSession, now_ms: float) -> None:
        self._sessions.move_to_end(session.id)
        was_young = session.last_used_ms - session.created_ms <= self._eviction_ms
        session.last_used_ms = now_ms
        size = len(session.partitions)
        is_young = now_ms - session.created_ms <= self._eviction_ms
        if size != session.known_size or is_young != was_young:
            self._unfile(session)
            self._file(session, size, is_young=is_young)

    def _file(self, session: FetchSession, size: int, *, is_young: bool) -> None:
        session.known_size = size
        self.partitions += size
        value = (session.is_follower, size, session.id)
        if not is_young:
            self._for_anybody.add(value)
        if not is_young or not session.is_follower:
            self._for_followers.add(value)

    def _unfile(self, session: FetchSession) -> None:
        if session.known_size >= 0:
            value = (session.is_follower, session.known_size, session.id)
            self._for_anybody.discard(value)
            self._for_followers.discard(value)
            self.partitions -= session.known_size

    def _evict_for(self, value: _Value, now_ms: float) -> bool:
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None:
            return False
        victim: int | None
        if now_ms - oldest.last_used_ms > self._eviction_ms:
            victim = oldest.id
        else:
            victim = (self._for_followers if value[0] else self._for_anybody).first_below(value)
        if victim is None:
            return False
        self.evictions += 1
        return self.remove(victim)
