"""How much a fetch returns, and when a parked one is complete (semantics, sections 3.5 and 5)."""

import pytest

from tidelog.broker.core.delayed_operations import ANSWER_NOW
from tidelog.broker.core.fetch_limits import FetchBudget, LogPosition, answers_at_once, bytes_available, fetch_bounds


def read(budget: FetchBudget, partition_max_bytes: int, batch_sizes: list[int]) -> int:
    """What a log returns: as much as is allowed, but the first batch whole or not at all."""
    allowance, first = budget.allowance(partition_max_bytes), batch_sizes[0] if batch_sizes else 0
    returned = min(max(allowance, first), sum(batch_sizes)) if first <= allowance or budget.at_least_one else 0
    budget.spend(returned)
    return returned


def test_the_first_partition_that_has_something_may_exceed_the_limits_by_one_batch() -> None:
    budget = FetchBudget(100, version=3)
    assert read(budget, 50, []) == 0
    assert read(budget, 50, [1000, 1000]) == 1000
    assert read(budget, 50, [10]) == 0, "nothing is left"


def test_later_partitions_keep_to_their_limit() -> None:
    budget = FetchBudget(1000, version=12)
    assert read(budget, 50, [40]) == 40
    assert read(budget, 50, [60]) == 0, "its first batch exceeds its limit"
    assert read(budget, 50, [20, 20, 20]) == 50


def test_the_whole_response_keeps_to_its_limit() -> None:
    budget = FetchBudget(100, version=12)
    assert read(budget, 80, [70]) == 70
    assert read(budget, 80, [40]) == 0
    assert read(budget, 80, [30]) == 30
    assert budget.left == 0


@pytest.mark.parametrize("version", [0, 1, 2])
def test_before_version_3_limits_are_hard(version: int) -> None:
    assert read(FetchBudget(100, version), 50, [60]) == 0


def test_bounds_of_broker_and_quota() -> None:
    assert fetch_bounds(1000, 10, 500) == (500, 10)
    assert fetch_bounds(1000, 900, 300) == (300, 300), "more than the most is never awaited"
    assert fetch_bounds(-1, 1, 500) == (0, 0)


@pytest.mark.parametrize(
    ("max_wait_ms", "bytes_read", "news", "expected"),
    [(0, 0, False, True), (500, 0, False, False), (500, 9, False, False), (500, 10, False, True), (500, 0, True, True)],
)
def test_answered_at_once(max_wait_ms: int, bytes_read: int, *, news: bool, expected: bool) -> None:
    assert answers_at_once(max_wait_ms, 10, bytes_read, has_news=news) is expected


def test_a_fetch_of_nothing_is_answered_at_once() -> None:
    assert answers_at_once(500, 1, 0, has_partitions=False)


START = LogPosition(100, 0, 5000)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        pytest.param(LogPosition(100, 0, 5000), 0, id="nothing new"),
        pytest.param(LogPosition(100, 100, 0), 0, id="a new segment began, with nothing in it"),
        pytest.param(LogPosition(110, 0, 5400), 400, id="something new in the same segment"),
        pytest.param(LogPosition(500, 0, 50_000), 1000, id="at most what was asked for"),
        pytest.param(LogPosition(110, 105, 200), ANSWER_NOW, id="the limit is in a later segment"),
        pytest.param(LogPosition(90, 0, 4000), ANSWER_NOW, id="the log was truncated"),
    ],
)
def test_what_a_partition_adds_to_a_parked_fetch(limit: LogPosition, expected: int) -> None:
    assert bytes_available(START, limit, 1000) == expected


def test_a_throttled_replica_waits_but_still_hears_of_a_truncation() -> None:
    assert bytes_available(START, LogPosition(110, 0, 5400), 1000, is_throttled=True) == 0
    assert bytes_available(START, LogPosition(110, 105, 0), 1000, is_throttled=True) == 0
    assert bytes_available(START, LogPosition(90, 0, 0), 1000, is_throttled=True) == ANSWER_NOW
