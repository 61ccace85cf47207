"""What commands decide by themselves: where a group goes on, who may stop, what percentiles are."""

import pytest

from tidelog.cli.conditions import troubles_now, troubles_without
from tidelog.cli.figures import Measured, percentile
from tidelog.cli.resetting import Aim, Form, Known, aim_of, new_offset
from tidelog.client import TopicPartition
from tidelog.client.core.cluster import PartitionInfo
from tidelog.local.faults import WrongUsageError

ORDERS = TopicPartition("orders", 0)


def partition(isr: tuple[int, ...], replicas: tuple[int, ...] = (0, 1, 2), leader: int = 0) -> PartitionInfo:
    return PartitionInfo("orders", 0, leader, 5, replicas, isr)


@pytest.mark.parametrize(
    ("aim", "offset"),
    [
        (Aim(Form.EARLIEST), 10),
        (Aim(Form.LATEST), 100),
        (Aim(Form.CURRENT), 50),
        (Aim(Form.OFFSET, 70), 70),
        (Aim(Form.OFFSET, 5), 10),
        (Aim(Form.OFFSET, 500), 100),
        (Aim(Form.TIME, 1), 60),
        (Aim(Form.SHIFT, -7), 43),
        (Aim(Form.SHIFT, 1000), 100),
        (Aim(Form.FILE, offsets={ORDERS: 33}), 33),
    ],
)
def test_every_form_of_a_reset(aim: Aim, offset: int) -> None:
    assert new_offset(aim, ORDERS, Known(start=10, end=100, committed=50, at_time=60)) == offset


def test_a_time_after_the_last_record_is_the_end() -> None:
    assert new_offset(Aim(Form.TIME, 1), ORDERS, Known(10, 100, 50, None)) == 100


def test_exactly_one_form_is_wanted() -> None:
    assert aim_of(shift_by=-3) == Aim(Form.SHIFT, -3)
    with pytest.raises(WrongUsageError, match="exactly one"):
        aim_of()
    with pytest.raises(WrongUsageError, match="exactly one"):
        aim_of(to_latest=True, to_offset=0)


def test_a_healthy_partition_has_no_trouble() -> None:
    assert troubles_now([partition((0, 1, 2))], {"orders": 2}) == []
    assert troubles_without(1, [partition((0, 1, 2))], {"orders": 2}) == []


@pytest.mark.parametrize(
    ("isr", "leader", "reason"),
    [
        ((), -1, "has no leader"),
        ((0,), 0, "cannot be written"),
        ((0, 2), 0, "is under-replicated: 1 not in sync"),
    ],
)
def test_what_is_wrong_now(isr: tuple[int, ...], leader: int, reason: str) -> None:
    assert reason in str(troubles_now([partition(isr, leader=leader)], {"orders": 2})[0])


def test_who_would_suffer() -> None:
    alone = troubles_without(0, [partition((0,))], {})
    assert alone[0].reason == "would have no leader"
    too_few = troubles_without(0, [partition((0, 1))], {"orders": 2})
    assert "cannot be written with acks=all: 1 in sync" in too_few[0].reason
    assert troubles_without(2, [partition((0, 1))], {"orders": 2}) == [], "a replica out of sync is not missed"
    assert troubles_without(9, [partition((0,))], {}) == []


def test_percentiles_are_values_that_were_measured() -> None:
    values = [float(number) for number in range(1, 101)]
    assert [percentile(values, share) for share in (50, 99, 99.9, 100)] == [50.0, 99.0, 100.0, 100.0]
    assert percentile([], 50) == 0.0


def test_the_line_of_kafkas_benchmark() -> None:
    measured = Measured(4, 4 * 2**20, 2.0, [1.0, 2.0, 3.0, 4.0])
    assert measured.kafka_line() == (
        "4 records sent, 2.000000 records/sec (2.00 MB/sec), 2.50 ms avg latency, 4.00 ms max latency, "
        "2 ms 50th, 4 ms 95th, 4 ms 99th, 4 ms 99.9th."
    )
    assert measured.document()["latency_ms"]["p50"] == 2.0
