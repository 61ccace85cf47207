"""Incremental fetch sessions: answers that leave out what is known, slots, and both sides against a plain model.

Semantics, section 3.5, last point; KIP-227.
"""

from collections.abc import Callable, Sequence
from itertools import count

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tidelog.broker.core.fetch_session import FetchedPartition, PartitionKey, SessionlessFetch, next_epoch
from tidelog.broker.core.fetch_session_cache import FetchSessionCache
from tidelog.broker.core.fetch_session_client import FetchSessionClient
from tidelog.kafka.errors import KafkaCode

A, B, C = (b"a", 0), (b"b", 0), (b"c", 0)
EVICTION_MS = 120_000


def ids() -> Callable[[], int]:
    numbers = count(1)
    return lambda: next(numbers)


def ask(key: PartitionKey, offset: int = 0) -> FetchedPartition:
    return FetchedPartition(key, offset, 1_000_000)


class Server:
    """A broker's cache, and partitions that all have the same offsets."""

    def __init__(self, slots: int = 1000) -> None:
        self.cache = FetchSessionCache(slots, ids(), EVICTION_MS)
        self.now_ms = 0.0
        self.high_watermark = 5
        self.log_start = 0
        self.sizes: dict[PartitionKey, int] = {}
        self.errors: set[PartitionKey] = set()

    def context(
        self,
        session_id: int,
        epoch: int,
        asked: Sequence[FetchedPartition] = (),
        forgotten: Sequence[PartitionKey] = (),
        *,
        version: int = 12,
        is_follower: bool = False,
    ) -> SessionlessFetch:
        return self.cache.context(
            session_id, epoch, asked, forgotten, self.now_ms, version=version, is_follower=is_follower
        )

    def answer(self, context: SessionlessFetch) -> tuple[KafkaCode, int, list[PartitionKey]]:
        code = context.begin_answer()
        if code is not KafkaCode.NONE:
            return code, 0, []
        included = []
        for partition in context.partitions:
            size, is_error = self.sizes.get(partition.key, 0), partition.key in self.errors
            if context.includes(partition, self.high_watermark, self.log_start, size, must_tell=is_error):
                included.append(partition.key)
        return code, context.finish(self.now_ms), included

    def fetch(
        self,
        session_id: int,
        epoch: int,
        asked: Sequence[FetchedPartition] = (),
        forgotten: Sequence[PartitionKey] = (),
        *,
        version: int = 12,
        is_follower: bool = False,
    ) -> tuple[KafkaCode, int, list[PartitionKey]]:
        return self.answer(self.context(session_id, epoch, asked, forgotten, version=version, is_follower=is_follower))

    def open(self, partitions: int = 1, *, is_follower: bool = False) -> int:
        asked = [ask((b"t", number)) for number in range(partitions)]
        return self.fetch(0, 0, asked, is_follower=is_follower)[1]

    def has(self, session_id: int) -> bool:
        return self.fetch(session_id, 2**31 - 1)[0] is not KafkaCode.FETCH_SESSION_ID_NOT_FOUND


def session(server: Server, *keys: PartitionKey) -> int:
    code, session_id, included = server.fetch(0, 0, [ask(key) for key in keys])
    assert (code, included) == (KafkaCode.NONE, list(keys))
    assert session_id > 0
    return session_id


NONE = KafkaCode.NONE


def test_an_incremental_answer_leaves_out_what_has_not_changed() -> None:
    server = Server()
    id = session(server, A, B)
    assert server.fetch(id, 1) == (NONE, id, [])
    server.sizes[B] = 100
    assert server.fetch(id, 2) == (NONE, id, [B])
    server.sizes.clear()
    server.high_watermark = 6
    assert server.fetch(id, 3) == (NONE, id, [A, B])
    assert server.fetch(id, 4) == (NONE, id, [])
    server.log_start = 1
    assert server.fetch(id, 5) == (NONE, id, [A, B])
    assert server.fetch(id, 6) == (NONE, id, [])


def test_errors_are_always_told_and_so_is_their_end() -> None:
    server = Server()
    id = session(server, A, B)
    server.errors.add(A)
    assert server.fetch(id, 1) == (NONE, id, [A])
    assert server.fetch(id, 2) == (NONE, id, [A])
    server.errors.clear()
    assert server.fetch(id, 3) == (NONE, id, [A])
    assert server.fetch(id, 4) == (NONE, id, [])


def test_requests_add_change_and_forget_partitions() -> None:
    server = Server()
    id = session(server, A)
    assert server.fetch(id, 1, [ask(B)]) == (NONE, id, [B])
    context = server.context(id, 2, [ask(A, 7)])
    assert [(partition.key, partition.fetch_offset) for partition in context.partitions] == [(A, 7), (B, 0)]
    assert server.answer(context) == (NONE, id, [])
    server.high_watermark = 9
    assert server.fetch(id, 3, forgotten=[A, C]) == (NONE, id, [B])


def test_partitions_with_records_go_to_the_end() -> None:
    server = Server()
    id = session(server, A, B, C)
    server.sizes[A] = 10
    server.fetch(id, 1)
    assert [partition.key for partition in server.context(id, 2).partitions] == [B, C, A]


def test_a_session_without_partitions_is_closed() -> None:
    server = Server()
    id = session(server, A)
    assert server.fetch(id, 1, forgotten=[A]) == (NONE, 0, [])
    assert server.fetch(id, 2)[0] is KafkaCode.FETCH_SESSION_ID_NOT_FOUND


def test_refusals() -> None:
    server = Server()
    id = session(server, A)
    assert server.fetch(id + 1, 1)[0] is KafkaCode.FETCH_SESSION_ID_NOT_FOUND
    assert server.fetch(id, 2)[0] is KafkaCode.INVALID_FETCH_SESSION_EPOCH
    assert server.fetch(id, 1, version=13)[0] is KafkaCode.FETCH_SESSION_TOPIC_ID_ERROR
    assert server.fetch(id, 1) == (NONE, id, []), "a refusal leaves the session as it was"


def test_a_session_by_topic_ids_stays_one() -> None:
    server = Server()
    _, id, _ = server.fetch(0, 0, [ask(A)], version=13)
    assert server.fetch(id, 1, version=12)[0] is KafkaCode.FETCH_SESSION_TOPIC_ID_ERROR
    assert server.fetch(id, 1, version=15)[0] is NONE


@pytest.mark.parametrize("epoch", [0, -1])
def test_a_full_fetch_closes_the_session_it_names(epoch: int) -> None:
    server = Server()
    id = session(server, A)
    _, new_id, included = server.fetch(id, epoch, [ask(A), ask(B)])
    assert included == [A, B]
    assert (new_id > 0) is (epoch == 0)
    assert not server.has(id)


def test_a_parked_fetch_that_was_overtaken_is_refused() -> None:
    server = Server()
    id = session(server, A)
    parked = server.context(id, 1)
    server.context(id, 2)
    assert server.answer(parked)[0] is KafkaCode.INVALID_FETCH_SESSION_EPOCH


def test_a_throttled_answer_keeps_the_session() -> None:
    server = Server()
    id = session(server, A)
    assert server.context(id, 1).throttled_session_id() == id
    assert server.fetch(id, 2)[0] is NONE
    assert server.context(0, 0, [ask(A)]).throttled_session_id() == 0


def test_epochs_wrap_to_one() -> None:
    assert [next_epoch(epoch) for epoch in (0, 1, 2**31 - 1)] == [1, 2, 1]


def test_ids_in_use_are_not_given_again() -> None:
    numbers = iter([7, 7, 0, -5, 8])
    cache = FetchSessionCache(10, lambda: next(numbers))
    given = []
    for _ in range(2):
        context = cache.context(0, 0, [ask(A)], (), 0, version=12, is_follower=False)
        given.append(context.finish(0))
    assert given == [7, 8]


# Slots


def test_without_a_slot_there_is_no_session() -> None:
    server = Server(slots=1)
    assert server.open() > 0
    assert server.open(5) == 0, "the one there is too young to go"
    assert len(server.cache) == 1


def test_an_idle_session_gives_way_to_anybody() -> None:
    server = Server(slots=1)
    idle = server.open(9, is_follower=True)
    server.now_ms = EVICTION_MS
    assert server.open() == 0
    server.now_ms = EVICTION_MS + 1
    assert server.open() > 0
    assert not server.has(idle)
    assert server.cache.evictions == 1


def test_it_is_the_one_that_was_used_least_recently() -> None:
    server = Server(slots=2)
    first, second = server.open(), server.open()
    server.now_ms = 1000
    server.fetch(first, 1)
    server.now_ms = EVICTION_MS + 500
    assert server.open() > 0
    assert server.has(first)
    assert not server.has(second)


def test_a_follower_takes_a_young_consumers_slot_but_not_a_young_followers() -> None:
    server = Server(slots=2)
    consumer, follower = server.open(9), server.open(1, is_follower=True)
    assert server.open(1, is_follower=True) > 0
    assert not server.has(consumer)
    assert server.open(99, is_follower=True) == 0
    assert server.has(follower)


def old_but_in_use(server: Server, *session_ids: int) -> None:
    """All of them exist for longer than the eviction time, and were used just now."""
    for epoch in (1, 2):
        server.now_ms += EVICTION_MS - 1
        for session_id in session_ids:
            assert server.fetch(session_id, epoch)[0] is NONE


def test_among_the_old_a_larger_session_takes_the_place_of_the_smallest() -> None:
    server = Server(slots=2)
    small, large = server.open(2), server.open(5)
    old_but_in_use(server, small, large)
    assert server.open(2) == 0, "as large is not larger"
    assert server.open(3) > 0
    assert not server.has(small)
    assert server.open(3) == 0
    assert server.open(6) > 0
    assert not server.has(large)


def test_a_consumer_never_takes_a_followers_slot_by_size() -> None:
    server = Server(slots=1)
    follower = server.open(1, is_follower=True)
    old_but_in_use(server, follower)
    assert server.open(100) == 0
    assert server.open(2, is_follower=True) > 0


def test_the_value_of_a_session_follows_its_size() -> None:
    server = Server(slots=1)
    id = server.open(1)
    old_but_in_use(server, id)
    server.fetch(id, 3, [ask((b"t", number)) for number in range(5)])
    assert server.cache.partitions == 5
    assert server.open(3) == 0
    server.fetch(id, 4, forgotten=[(b"t", number) for number in range(4)])
    assert server.cache.partitions == 1
    assert server.open(3) > 0
    assert server.cache.partitions == 3


# The reader's side


def test_the_client_sends_what_changed() -> None:
    client = FetchSessionClient()
    client.put(ask(A))
    client.put(ask(B))
    plan = client.build()
    assert (plan.session_id, plan.epoch, len(plan.partitions), plan.is_full) == (0, 0, 2, True)
    assert client.on_answer(NONE, 77, [A, B])
    plan = client.build()
    assert (plan.session_id, plan.epoch, plan.partitions, plan.forgotten) == (77, 1, [], [])
    assert client.on_answer(NONE, 77, [])
    client.put(ask(B, 5))
    client.remove(A)
    plan = client.build()
    assert ([partition.key for partition in plan.partitions], plan.forgotten, plan.epoch) == ([B], [A], 2)


def test_what_is_removed_and_comes_back_is_not_forgotten() -> None:
    client = FetchSessionClient()
    client.put(ask(A))
    client.build()
    client.on_answer(NONE, 77, [A])
    client.remove(A)
    client.put(ask(A, 3))
    plan = client.build()
    assert ([partition.fetch_offset for partition in plan.partitions], plan.forgotten) == ([3], [])


def test_what_comes_and_goes_between_two_requests_is_not_asked_for() -> None:
    client = FetchSessionClient()
    client.put(ask(A))
    client.build()
    client.on_answer(NONE, 77, [A])
    client.put(ask(B))
    client.remove(B)
    assert client.build().partitions == []


@pytest.mark.parametrize(
    ("code", "session_id"),
    [(KafkaCode.FETCH_SESSION_ID_NOT_FOUND, 0), (KafkaCode.INVALID_FETCH_SESSION_EPOCH, 77)],
)
def test_after_a_refusal_comes_a_full_fetch_that_closes_what_may_be_open(code: KafkaCode, session_id: int) -> None:
    client = FetchSessionClient()
    client.put(ask(A))
    client.build()
    client.on_answer(NONE, 77, [A])
    client.build()
    assert not client.on_answer(code, 0, [])
    plan = client.build()
    assert (plan.session_id, plan.epoch, len(plan.partitions)) == (session_id, 0, 1)


def test_after_a_lost_answer_comes_a_full_fetch() -> None:
    client = FetchSessionClient()
    client.put(ask(A))
    client.build()
    client.on_answer(NONE, 77, [A])
    client.build()
    client.on_failed()
    plan = client.build()
    assert (plan.session_id, plan.epoch, len(plan.partitions)) == (77, 0, 1)


@pytest.mark.parametrize("answered", [[A], [A, C], [A, B, C]])
def test_a_full_answer_must_contain_exactly_what_was_asked(answered: list[PartitionKey]) -> None:
    client = FetchSessionClient()
    client.put(ask(A))
    client.put(ask(B))
    client.build()
    assert not client.on_answer(NONE, 77, answered)
    assert client.build().is_full


def test_an_incremental_answer_must_not_contain_strangers() -> None:
    client = FetchSessionClient()
    client.put(ask(A))
    client.build()
    client.on_answer(NONE, 77, [A])
    client.build()
    assert not client.on_answer(NONE, 77, [B])


def test_without_a_session_every_fetch_is_full() -> None:
    client = FetchSessionClient()
    client.put(ask(A))
    for _ in range(3):
        plan = client.build()
        assert (plan.epoch, len(plan.partitions)) == (0, 1)
        assert client.on_answer(NONE, 0, [A])
    assert not client.is_in_session


def test_closing() -> None:
    client = FetchSessionClient()
    client.put(ask(A))
    client.build()
    client.on_answer(NONE, 77, [A])
    plan = client.close()
    assert (plan.session_id, plan.epoch, plan.partitions) == (77, -1, [])


KEYS = [(b"t", number) for number in range(4)]


class SessionsAgainstFullFetches(RuleBasedStateMachine):
    """A follower that fetches by sessions knows after each fetch what a full fetch would have told it."""

    @initialize(slots=st.sampled_from([0, 1, 2]))
    def start(self, slots: int) -> None:
        self.ends = dict.fromkeys(KEYS, 0)
        self.marks = dict.fromkeys(KEYS, 0)
        self.starts = dict.fromkeys(KEYS, 0)
        self.errors: set[PartitionKey] = set()
        self.cache = FetchSessionCache(slots, ids(), EVICTION_MS)
        self.now_ms = 0.0
        self.client = FetchSessionClient()
        self.wanted: dict[PartitionKey, int] = {}
        self.known: dict[PartitionKey, tuple[int, int, bool]] = {}

    @rule(key=st.sampled_from(KEYS))
    def want(self, key: PartitionKey) -> None:
        self.wanted.setdefault(key, 0)
        self.client.put(ask(key, self.wanted[key]))

    @rule(key=st.sampled_from(KEYS))
    def give_up(self, key: PartitionKey) -> None:
        # What it was told it keeps: if it comes back before the next fetch, the leader does not notice.
        self.client.remove(key)
        self.wanted.pop(key, None)

    @rule(key=st.sampled_from(KEYS), size=st.integers(1, 5))
    def produce(self, key: PartitionKey, size: int) -> None:
        self.ends[key] += size

    @rule(key=st.sampled_from(KEYS))
    def commit(self, key: PartitionKey) -> None:
        self.marks[key] = self.ends[key]

    @rule(key=st.sampled_from(KEYS))
    def delete(self, key: PartitionKey) -> None:
        self.starts[key] = min(self.starts[key] + 1, self.marks[key])

    @rule(key=st.sampled_from(KEYS))
    def break_or_mend(self, key: PartitionKey) -> None:
        self.errors.symmetric_difference_update({key})

    @rule(key=st.sampled_from(KEYS))
    def somebody_else_takes_the_slot(self, key: PartitionKey) -> None:
        self.now_ms += EVICTION_MS + 1
        self.cache.context(0, 0, [ask(key)], (), self.now_ms, version=12, is_follower=True).finish(self.now_ms)

    @rule(is_lost=st.sampled_from([False, False, False, True]))
    def fetch(self, *, is_lost: bool) -> None:
        plan = self.client.build()
        asked = [ask(partition.key, partition.fetch_offset) for partition in plan.partitions]
        context = self.cache.context(
            plan.session_id, plan.epoch, asked, plan.forgotten, self.now_ms, version=12, is_follower=True
        )
        code = context.begin_answer()
        told = {}
        if code is NONE:
            for partition in context.partitions:
                answer = self._answer(partition)
                if context.includes(partition, *answer[:3], must_tell=answer[3]):
                    told[partition.key] = answer
        session_id = context.finish(self.now_ms)
        if is_lost:
            self.client.on_failed()
        elif self.client.on_answer(code, session_id, told.keys()):
            for key, (mark, start, size, is_error) in told.items():
                self._take(key, mark, start, size, is_error=is_error)
            self._compare()

    def _answer(self, partition: FetchedPartition) -> tuple[int, int, int, bool]:
        key = partition.key
        if key in self.errors:
            return -1, -1, 0, True
        return self.marks[key], self.starts[key], self.ends[key] - partition.fetch_offset, False

    def _take(self, key: PartitionKey, mark: int, start: int, size: int, *, is_error: bool) -> None:
        self.known[key] = (mark, start, is_error)
        if size:
            self.wanted[key] += size
            self.client.put(ask(key, self.wanted[key]))

    def _compare(self) -> None:
        for key, offset in self.wanted.items():
            is_error = key in self.errors
            expected = (-1, -1, True) if is_error else (self.marks[key], self.starts[key], False)
            assert self.known[key] == expected
            assert is_error or offset == self.ends[key]

    @invariant()
    def the_cache_counts_right(self) -> None:
        assert len(self.cache) <= 2
        assert self.cache.partitions <= len(KEYS) * len(self.cache)


TestSessionsAgainstFullFetches = SessionsAgainstFullFetches.TestCase
TestSessionsAgainstFullFetches.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
