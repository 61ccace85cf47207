"""Fetches of records that are not in memory: read by a thread, and answered as if they had been."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.replica_pair import Pair
from tidelog.broker.core.fetch_session import FINAL_EPOCH, NO_SESSION, FetchedPartition
from tidelog.broker.log.reading import Isolation
from tidelog.broker.shell.partition import CONSUMER, Reader
from tidelog.broker.wire.hot_fetch_answer import FetchAnswer
from tidelog.broker.wire.hot_fetch_request import FetchAsked

VERSION = 12
OLD_MS = 30_000
READER = Reader(CONSUMER, Isolation.LOG_END, leader_only=False)


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    pair = Pair(tmp_path)
    for _ in range(3):
        pair.leader.produce(bytes(300_000))
    pair.clock.advance(OLD_MS)
    return pair


def asked(max_wait_ms: int = 0, min_bytes: int = 1) -> FetchAsked:
    partitions = [FetchedPartition((b"t", 0), 0, 10_000_000)]
    return FetchAsked(CONSUMER, max_wait_ms, min_bytes, 10_000_000, 0, NO_SESSION, FINAL_EPOCH, partitions, [], "")


def forget(pair: Pair) -> None:
    """The kernel drops the file from its memory."""
    file = pair.leader.partition.log.segments.active.open_file()
    os.fsync(file.fd)
    os.posix_fadvise(file.fd, 0, 0, os.POSIX_FADV_DONTNEED)
    if file.files.is_cached(file.fd, 0):
        pytest.skip("files stay in memory here")


class Deferred:
    """Takes what a fetch has to say later."""

    def __init__(self) -> None:
        self.answers: list[FetchAnswer] = []
        self.answered = asyncio.Event()
        self.answer_now: Callable[[], object] | None = None

    def __call__(self, answer_now: Callable[[], object]) -> Callable[[FetchAnswer], None]:
        self.answer_now = answer_now
        return self._take

    def _take(self, answer: FetchAnswer) -> None:
        self.answers.append(answer)
        self.answered.set()


def never(answer_now: Callable[[], object]) -> Callable[[FetchAnswer], None]:
    raise AssertionError("the answer is known at once")


async def test_old_records_that_are_still_in_memory_are_answered_at_once(pair: Pair) -> None:
    assert pair.leader.fetching.fetch(asked(), READER, VERSION, never) is not None
    assert pair.leader.fetching.cold_reads.count == 0


async def test_cold_records_are_read_by_a_thread_before_they_are_answered(pair: Pair) -> None:
    forget(pair)
    deferred = Deferred()
    assert pair.leader.fetching.fetch(asked(), READER, VERSION, deferred) is None
    assert not deferred.answers
    await asyncio.wait_for(deferred.answered.wait(), 30)
    (answer,) = deferred.answers
    records = answer.partitions[0].records
    assert records is not None
    assert records.size > 900_000
    assert pair.leader.fetching.cold_reads.count == 1
    assert pair.leader.fetching.fetch(asked(), READER, VERSION, never) is not None, "it is in memory now"


async def test_an_answer_that_shall_wait_no_longer_does_not_wait_for_the_disk(pair: Pair) -> None:
    forget(pair)
    deferred = Deferred()
    assert pair.leader.fetching.fetch(asked(), READER, VERSION, deferred) is None
    assert deferred.answer_now is not None
    deferred.answer_now()
    assert len(deferred.answers) == 1
    pair.leader.fetching.cold_reads.close()
    await asyncio.sleep(0)
    assert len(deferred.answers) == 1, "it is answered once"


async def test_a_fetch_that_waited_for_more_reads_what_is_cold_too(pair: Pair) -> None:
    deferred = Deferred()
    assert pair.leader.fetching.fetch(asked(500, 100_000_000), READER, VERSION, deferred) is None
    forget(pair)
    pair.clock.advance(500)
    assert not deferred.answers
    await asyncio.wait_for(deferred.answered.wait(), 30)
    (answer,) = deferred.answers
    assert answer.partitions[0].records is not None
    assert pair.leader.fetching.cold_reads.count == 1
