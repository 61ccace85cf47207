"""What a partition's leader admits: writes, epochs, replicas, deletions (semantics, sections 2.9 and 3.3 to 3.5)."""

import pytest

from tests.support.led_partition import ME, THREE, TWO, Led
from tidelog.broker.core.leader_epoch_check import check_leader_epoch
from tidelog.broker.core.partition_leader import (
    LOW_WATERMARK,
)
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import BrokerId, PartitionEpoch

# 3.3 Produce


def refusal(led: Led, acks: int) -> KafkaCode:
    with pytest.raises(KafkaError) as refused:
        led.leader.check_produce(acks)
    return refused.value.code


def test_too_few_in_sync_refuses_acks_all_and_nothing_else() -> None:
    led = Led((ME,), min_isr=2, now_ms=100_000)
    assert refusal(led, -1) is KafkaCode.NOT_ENOUGH_REPLICAS
    led.leader.check_produce(0)
    led.leader.check_produce(1)


def test_admission_goes_by_the_committed_isr() -> None:
    led = Led((ME,), min_isr=2)
    led.fetch(TWO, 0)
    assert led.leader.maximal_isr_size == 2
    assert refusal(led, -1) is KafkaCode.NOT_ENOUGH_REPLICAS


@pytest.mark.parametrize("acks", [-2, 2, 7])
def test_other_acks_are_refused(acks: int) -> None:
    assert refusal(Led(), acks) is KafkaCode.INVALID_REQUIRED_ACKS


def test_a_delayed_produce_is_satisfied_by_the_high_watermark() -> None:
    led = Led((ME, TWO), replicas=(ME, TWO))
    led.append(3)
    assert led.leader.produce_outcome(3) is None
    led.fetch(TWO, 2)
    assert led.leader.produce_outcome(3) is None
    led.fetch(TWO, 3)
    assert led.leader.produce_outcome(3) is KafkaCode.NONE


def test_committed_with_too_few_in_sync_says_so() -> None:
    led = Led((ME, TWO), replicas=(ME, TWO), min_isr=2, end=3)
    led.fetch(TWO, 3)
    led.append(1)
    led.leader.on_lag_check(10**6)
    assert led.leader.produce_outcome(3) is KafkaCode.NONE, "the removal is not certain yet"
    led.leader.on_isr_written(led.proposal(), PartitionEpoch(8), 10**6)
    assert led.leader.produce_outcome(3) is KafkaCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    assert led.leader.produce_outcome(4) is None


# 3.4 and 3.5 Epochs and strangers


@pytest.mark.parametrize(
    ("requested", "is_leader", "code"),
    [
        (4, True, KafkaCode.FENCED_LEADER_EPOCH),
        (6, True, KafkaCode.UNKNOWN_LEADER_EPOCH),
        (4, False, KafkaCode.FENCED_LEADER_EPOCH),
        (5, False, KafkaCode.NOT_LEADER_OR_FOLLOWER),
        (-1, False, KafkaCode.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_epoch_first_then_leadership(requested: int, code: KafkaCode, *, is_leader: bool) -> None:
    with pytest.raises(KafkaError) as refused:
        check_leader_epoch(requested, 5, is_leader=is_leader)
    assert refused.value.code is code


def test_the_right_epoch_or_none_passes() -> None:
    check_leader_epoch(5, 5, is_leader=True)
    check_leader_epoch(-1, 5, is_leader=True)
    check_leader_epoch(5, 5, is_leader=False, leader_only=False)


@pytest.mark.parametrize(
    ("epoch_given", "code"), [(True, KafkaCode.UNKNOWN_LEADER_EPOCH), (False, KafkaCode.NOT_LEADER_OR_FOLLOWER)]
)
def test_a_broker_that_is_no_replica(code: KafkaCode, *, epoch_given: bool) -> None:
    with pytest.raises(KafkaError) as refused:
        Led().leader.on_follower_fetched(BrokerId(9), 0, 0, 0, epoch_given=epoch_given)
    assert refused.value.code is code


# Delete-records


def test_deleted_once_every_live_replica_has() -> None:
    led = Led(end=10, high_watermark=10)
    led.log.log_start_offset = 6
    assert led.leader.delete_records_outcome(6) is None, "nothing is known of the followers yet"
    assert led.leader.on_follower_fetched(TWO, 10, 6, 0) & LOW_WATERMARK
    led.leader.on_follower_fetched(THREE, 10, 2, 0)
    assert led.leader.low_watermark() == 2
    assert led.leader.delete_records_outcome(6) is None
    led.live.discard(THREE)
    assert led.leader.delete_records_outcome(6) is KafkaCode.NONE


def test_deletes_up_to_the_high_watermark_at_most() -> None:
    leader = Led(end=10, high_watermark=8).leader
    assert leader.delete_records_target(5) == 5
    assert leader.delete_records_target(-1) == 8
    for offset in (9, -2):
        with pytest.raises(KafkaError) as refused:
            leader.delete_records_target(offset)
        assert refused.value.code is KafkaCode.OFFSET_OUT_OF_RANGE
