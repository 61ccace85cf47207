"""Who is in sync with a partition's leader, and how that changes (semantics, sections 3.1 and 3.2)."""

import pytest

from tests.support.led_partition import ALL, LAG_MS, ME, THREE, TWO, Led
from tidelog.broker.core.partition_leader import (
    HIGH_WATERMARK,
    ISR,
    NOTHING,
    ProposeIsr,
)
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.types import LeaderEpoch, PartitionEpoch

# 3.1 lastCaughtUpTime, seen through the shrinking that it decides


@pytest.mark.parametrize(
    ("fetches", "caught_up_ms"),
    [
        pytest.param([(10, 5000)], 5000, id="it has all that we have: now"),
        pytest.param([(5, 5000), (10, 9000)], 5000, id="it has what we had at its last fetch: the time of that one"),
        pytest.param([(5, 5000), (9, 9000)], 0, id="it has not even that: as before"),
        pytest.param([(9, 5000)], 0, id="a first fetch that is behind: as before"),
    ],
)
def test_last_caught_up_time(fetches: list[tuple[int, float]], caught_up_ms: float) -> None:
    led = Led((ME, TWO), replicas=(ME, TWO), end=10)
    for number, (offset, now_ms) in enumerate(fetches):
        led.fetch(TWO, offset, now_ms)
        if number == 0 and len(fetches) > 1:
            led.append(5, now_ms)
    led.append(1, fetches[-1][1])
    assert led.leader.on_lag_check(caught_up_ms + LAG_MS) == NOTHING
    assert led.leader.on_lag_check(caught_up_ms + LAG_MS + 1) == ISR


def test_a_new_leader_gives_its_isr_time_to_come() -> None:
    led = Led((ME, TWO), end=10, now_ms=1_000_000)
    assert led.leader.on_lag_check(1_000_000 + LAG_MS) == NOTHING
    assert led.leader.on_lag_check(1_000_001 + LAG_MS) == ISR


# 3.2 ISR


def test_a_caught_up_follower_is_proposed_with_the_version_we_know() -> None:
    led = Led((ME, TWO), end=10, high_watermark=10)
    assert led.fetch(THREE, 10) & ISR
    assert led.proposal() == ProposeIsr(LeaderEpoch(5), (ME, TWO, THREE), PartitionEpoch(7))
    assert THREE not in led.leader.isr, "not before it is written"
    led.leader.on_isr_written(led.proposal(), PartitionEpoch(8), 0)
    assert led.leader.isr == ALL
    assert led.leader.partition_epoch == 8
    assert led.leader.proposal is None


@pytest.mark.parametrize(
    ("offset", "joins"),
    [(9, False), (10, True), (12, True)],
)
def test_it_joins_from_the_high_watermark_on(offset: int, *, joins: bool) -> None:
    led = Led((ME, TWO), end=5, high_watermark=5, now_ms=100_000)
    led.append(7, 100_000)
    led.fetch(TWO, 10, 100_000)
    assert led.high_watermark == 10
    assert bool(led.fetch(THREE, offset, 100_000) & ISR) is joins


def test_it_joins_only_from_the_start_of_this_epoch_on() -> None:
    """A new leader's mark may be old: whoever reached only that may lack what was committed under the former leader."""
    led = Led((ME, TWO), end=20, high_watermark=10)
    assert not led.fetch(THREE, 19) & ISR
    assert led.fetch(THREE, 20) & ISR


def test_a_dead_broker_does_not_join() -> None:
    led = Led((ME, TWO))
    led.live.discard(THREE)
    assert led.fetch(THREE, 0) == NOTHING


def test_one_change_at_a_time() -> None:
    led = Led((ME,), now_ms=100_000)
    assert led.fetch(TWO, 0) & ISR
    assert led.fetch(THREE, 0) == NOTHING
    assert led.leader.on_lag_check(10**9) == NOTHING
    led.leader.on_isr_written(led.proposal(), PartitionEpoch(8), 0)
    assert led.fetch(THREE, 0) & ISR
    assert led.proposal().expected_partition_epoch == 8


def test_who_is_being_added_holds_the_high_watermark_back() -> None:
    led = Led((ME, TWO), end=10, high_watermark=10)
    led.fetch(TWO, 10)
    led.fetch(THREE, 10)
    led.append(5)
    # Long after: it does not count as caught up any more, but the change may have been made.
    assert led.fetch(TWO, 15, 10**6) == NOTHING
    assert led.high_watermark == 10


def test_who_is_being_removed_holds_it_back_until_that_is_certain() -> None:
    led = Led((ME, TWO), replicas=(ME, TWO), end=5)
    assert led.leader.on_lag_check(LAG_MS + 1) == ISR
    assert led.proposal().isr == (ME,)
    assert led.append(1, LAG_MS + 1) == NOTHING
    assert led.leader.maximal_isr_size == 2
    assert led.leader.on_isr_written(led.proposal(), PartitionEpoch(8), LAG_MS + 2) == HIGH_WATERMARK
    assert led.high_watermark == 6


def test_who_is_at_the_end_is_in_sync_however_long_ago_it_fetched() -> None:
    led = Led((ME, TWO), replicas=(ME, TWO), end=5)
    led.fetch(TWO, 5)
    assert led.leader.on_lag_check(10**9) == NOTHING


def test_the_leader_itself_is_never_removed() -> None:
    led = Led(end=5)
    led.leader.on_lag_check(10**9)
    assert led.proposal().isr == (ME,)


@pytest.mark.parametrize("code", [KafkaCode.INELIGIBLE_REPLICA, KafkaCode.OPERATION_NOT_ATTEMPTED])
def test_a_change_that_was_not_made_is_given_up(code: KafkaCode) -> None:
    led = Led((ME, TWO))
    led.fetch(THREE, 0)
    assert not led.leader.on_isr_refused(led.proposal(), code, 0) & ISR
    assert led.leader.proposal is None
    assert led.leader.maximal_isr_size == 2


@pytest.mark.parametrize(
    "code",
    [
        KafkaCode.UNKNOWN_TOPIC_OR_PARTITION,
        KafkaCode.UNKNOWN_TOPIC_ID,
        KafkaCode.FENCED_LEADER_EPOCH,
        KafkaCode.INVALID_UPDATE_VERSION,
        KafkaCode.INVALID_REQUEST,
    ],
)
def test_with_an_outdated_state_it_stays_pending(code: KafkaCode) -> None:
    """Until the next LeaderAndIsr, which makes a new instance."""
    led = Led((ME, TWO))
    led.fetch(THREE, 0)
    assert led.leader.on_isr_refused(led.proposal(), code, 0) == NOTHING
    assert led.proposal().isr == ALL
    assert led.leader.maximal_isr_size == 3


def test_anything_else_is_tried_again() -> None:
    led = Led((ME, TWO))
    led.fetch(THREE, 0)
    before = led.proposal()
    assert led.leader.on_isr_refused(before, KafkaCode.NETWORK_EXCEPTION, 0) == ISR
    assert led.proposal() is before


def test_news_of_an_older_change_is_ignored() -> None:
    led = Led((ME, TWO))
    led.fetch(THREE, 0)
    stale = ProposeIsr(LeaderEpoch(4), (ME,), PartitionEpoch(6))
    assert led.leader.on_isr_written(stale, PartitionEpoch(9), 0) == NOTHING
    assert led.leader.on_isr_refused(stale, KafkaCode.INELIGIBLE_REPLICA, 0) == NOTHING
    assert (led.leader.isr, led.leader.partition_epoch) == ((ME, TWO), 7)
