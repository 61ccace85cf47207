"""Lag in messages and in seconds, from how the ends of partitions moved."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.group_coordinator.core.groups.offsets import Partition
from tidelog.group_coordinator.core.lag import Lag, Lags

PARTITION = Partition("t", 0)


def lags(*looks: tuple[int, int]) -> Lags:
    """Of a partition whose end was seen at (second, offset)."""
    made = Lags()
    for second, offset in looks:
        made.note_ends([(PARTITION, offset)], second * 1000)
    return made


def test_a_partition_that_was_not_looked_at_has_no_lag_to_tell() -> None:
    assert Lags().lag(PARTITION, 5, 0) is None


def test_who_has_read_everything_is_not_behind() -> None:
    assert lags((0, 10), (10, 20)).lag(PARTITION, 20, 60_000) == Lag(0, 0.0)
    assert lags((0, 10)).lag(PARTITION, 25, 60_000) == Lag(0, 0.0), "the end is older than the commit"


def test_the_moment_is_found_between_two_looks() -> None:
    assert lags((0, 100), (10, 200), (20, 200)).lag(PARTITION, 150, 20_000) == Lag(50, 15.0)


def test_an_end_that_stands_still_does_not_make_the_lag_younger() -> None:
    seen = lags((0, 100), (10, 200), *((second, 200) for second in range(20, 2000, 10)))
    assert seen.lag(PARTITION, 100, 2_000_000) == Lag(100, 2000.0)


def test_what_was_written_before_the_first_look_is_at_least_as_old_as_that() -> None:
    assert lags((10, 100), (20, 110)).lag(PARTITION, 0, 30_000) == Lag(110, 20.0)


def test_a_topic_made_anew_starts_anew() -> None:
    assert lags((0, 1000), (10, 5)).lag(PARTITION, 3, 20_000) == Lag(2, 10.0)


def test_partitions_that_nobody_commits_to_are_forgotten() -> None:
    seen = lags((0, 10))
    seen.forget_all_but([])
    assert seen.lag(PARTITION, 5, 0) is None


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=400), st.integers(0, 10**6))
def test_thinning_out_keeps_lag_within_what_happened(steps: list[int], committed: int) -> None:
    end, made = 0, Lags()
    for second, step in enumerate(steps):
        end += step
        made.note_ends([(PARTITION, end)], second * 1000)
    lag = made.lag(PARTITION, committed, len(steps) * 1000)
    assert lag is not None
    assert lag.messages == max(end - committed, 0)
    assert 0 <= lag.seconds <= len(steps)


def test_long_lag_stays_known_roughly() -> None:
    made = lags(*((second, second * 10) for second in range(0, 50_000, 5)))
    lag = made.lag(PARTITION, 400_000, 50_000_000)
    assert lag is not None
    assert lag.seconds == pytest.approx(10_000, rel=0.05)
