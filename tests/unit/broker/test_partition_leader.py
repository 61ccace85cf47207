"""The high watermark of a partition's leader (semantics, section 3.1)."""

import pytest

from tests.support.led_partition import LAG_MS, ME, THREE, TWO, Led
from tidelog.broker.core.partition_leader import (
    HIGH_WATERMARK,
    ISR,
    NOTHING,
    ProposeIsr,
)
from tidelog.kafka.errors import KafkaError
from tidelog.kafka.types import LeaderEpoch, PartitionEpoch


def test_one_record_through_both_fetch_rounds() -> None:
    """Produce: LEO 1, remote LEO 0, HW 0. First fetch: still 0. Second fetch: HW 1."""
    led = Led((ME, TWO), replicas=(ME, TWO))
    led.fetch(TWO, 0)
    assert led.append() == NOTHING
    assert (led.log.log_end_offset, led.high_watermark) == (1, 0)
    assert led.fetch(TWO, 0) == NOTHING
    assert led.high_watermark == 0
    assert led.fetch(TWO, 1) == HIGH_WATERMARK
    assert led.high_watermark == 1


def test_without_other_replicas_an_append_commits() -> None:
    led = Led((ME,), replicas=(ME,))
    assert led.append(3) == HIGH_WATERMARK
    assert led.high_watermark == 3


def test_becoming_leader_commits_what_only_we_were_missing() -> None:
    assert Led((ME,), replicas=(ME,), end=9, high_watermark=4).high_watermark == 9


def test_high_watermark_is_the_least_of_the_isr() -> None:
    led = Led()
    led.append(10)
    assert led.fetch(TWO, 10) == NOTHING
    assert led.fetch(THREE, 4) == HIGH_WATERMARK
    assert led.high_watermark == 4
    assert led.fetch(THREE, 10) == HIGH_WATERMARK
    assert led.high_watermark == 10


def test_a_follower_that_steps_back_does_not_take_it_along() -> None:
    led = Led()
    led.append(10)
    led.fetch(TWO, 10)
    led.fetch(THREE, 10)
    assert led.fetch(THREE, 3) == NOTHING
    assert led.high_watermark == 10


def test_out_of_sync_replicas_are_not_waited_for() -> None:
    led = Led((ME, TWO), now_ms=100_000)
    led.append(10)
    assert led.fetch(TWO, 10, 100_001) == HIGH_WATERMARK


def test_a_caught_up_replica_is_waited_for_before_it_is_in_the_isr() -> None:
    led = Led((ME, TWO), end=10, high_watermark=10)
    led.leader.proposal = ProposeIsr(LeaderEpoch(5), (ME, TWO), PartitionEpoch(7))  # another change is in flight
    led.fetch(TWO, 10, 1000)
    led.fetch(THREE, 10, 1000)
    led.append(5, 2000)
    assert led.fetch(TWO, 15, 2000) == NOTHING, "3 caught up a second ago and may join any moment"
    assert led.high_watermark == 10
    assert led.fetch(THREE, 12, 2000) == HIGH_WATERMARK
    assert led.high_watermark == 12


def test_a_caught_up_replica_that_cannot_join_is_not_waited_for() -> None:
    led = Led((ME, TWO), end=10, high_watermark=10)
    led.live.discard(THREE)
    led.fetch(TWO, 10, 1000)
    led.fetch(THREE, 10, 1000)
    led.append(5, 2000)
    assert led.fetch(TWO, 15, 2000) == HIGH_WATERMARK


def test_a_replica_that_caught_up_and_went_silent_is_waited_for_no_longer_than_the_lag_time() -> None:
    led = Led((ME, TWO), end=10, high_watermark=10)
    led.leader.proposal = ProposeIsr(LeaderEpoch(5), (ME, TWO), PartitionEpoch(7))  # so that it does not join
    led.fetch(TWO, 10, 1000)
    led.fetch(THREE, 10, 1000)
    led.append(5, 2000)
    assert led.fetch(TWO, 15, 2000) == NOTHING
    assert led.leader.on_lag_check(1000 + LAG_MS) == NOTHING
    assert led.leader.on_lag_check(1001 + LAG_MS) == HIGH_WATERMARK
    assert led.high_watermark == 15


def test_it_does_not_move_while_the_isr_is_below_the_minimum() -> None:
    led = Led((ME,), replicas=(ME, TWO), min_isr=2, end=5, now_ms=100_000)
    assert led.append(1, 100_000) == NOTHING
    assert led.high_watermark == 0
    assert led.leader.is_under_min_isr


def test_the_minimum_is_at_most_the_number_of_replicas() -> None:
    led = Led((ME,), replicas=(ME,), min_isr=2)
    assert led.append() == HIGH_WATERMARK


def test_a_lowered_minimum_lets_it_move() -> None:
    led = Led((ME,), replicas=(ME, TWO), min_isr=2, end=5, now_ms=100_000)
    assert led.leader.on_min_insync_replicas_changed(1, 100_000) == HIGH_WATERMARK
    assert led.high_watermark == 5


def test_who_is_in_sync_but_no_replica_any_more_is_waited_for_until_it_has_left() -> None:
    """The end of a reassignment: broker 3 is to go, but may be elected as long as ZooKeeper has it in the ISR."""
    led = Led((ME, TWO, THREE), replicas=(ME, TWO), end=10, high_watermark=4)
    assert led.fetch(TWO, 10) == NOTHING
    assert led.high_watermark == 4
    with pytest.raises(KafkaError):
        led.fetch(THREE, 10)
    assert led.leader.on_lag_check(LAG_MS + 1) & ISR
    assert led.proposal().isr == (ME, TWO)
    assert led.leader.on_isr_written(led.proposal(), PartitionEpoch(8), LAG_MS + 1) == HIGH_WATERMARK
    assert led.high_watermark == 10
