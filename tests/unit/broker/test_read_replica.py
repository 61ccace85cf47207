"""Which replica a consumer is sent to (semantics, section 3.5; KIP-392)."""

import pytest

from tests.support.leader_log import OffsetsOnly
from tidelog.broker.core.partition_leader import LeaderState, PartitionLeader
from tidelog.broker.core.read_replica import NO_PREFERENCE, preferred_read_replica
from tidelog.kafka.types import BrokerId, LeaderEpoch, PartitionEpoch

ONE, TWO, THREE, FOUR = map(BrokerId, range(1, 5))
RACKS: dict[BrokerId, str | None] = {ONE: "a", TWO: "b", THREE: "b", FOUR: None}


@pytest.fixture
def leader() -> PartitionLeader:
    """Broker 1 leads; 2 and 3 have up to 10 and are in sync, 4 has nothing."""
    everybody = (ONE, TWO, THREE, FOUR)
    leader = PartitionLeader(
        ONE,
        LeaderState(LeaderEpoch(1), everybody, (ONE, TWO, THREE), PartitionEpoch(0)),
        OffsetsOnly(10),
        {*everybody},
        min_insync_replicas=1,
        replica_lag_time_max_ms=30_000,
        now_ms=0,
    )
    leader.on_follower_fetched(TWO, 10, 2, 1)
    leader.on_follower_fetched(THREE, 9, 2, 2)
    return leader


def test_the_most_complete_one_in_the_consumers_rack(leader: PartitionLeader) -> None:
    assert preferred_read_replica("b", 5, leader, RACKS) == TWO
    leader.on_follower_fetched(THREE, 10, 2, 3)
    assert preferred_read_replica("b", 5, leader, RACKS) == THREE, "it caught up last"


@pytest.mark.parametrize("rack", ["", "a", "elsewhere"])
def test_served_here_without_a_rack_in_our_own_or_where_nobody_is(leader: PartitionLeader, rack: str) -> None:
    assert preferred_read_replica(rack, 5, leader, RACKS) == NO_PREFERENCE


@pytest.mark.parametrize(("offset", "expected"), [(1, NO_PREFERENCE), (2, TWO), (10, TWO), (11, NO_PREFERENCE)])
def test_only_if_it_has_the_offset(leader: PartitionLeader, offset: int, expected: BrokerId) -> None:
    assert preferred_read_replica("b", offset, leader, RACKS) == expected


def test_only_if_it_is_in_sync(leader: PartitionLeader) -> None:
    leader.isr = (ONE, THREE)
    assert preferred_read_replica("b", 5, leader, RACKS) == THREE


def test_only_if_it_can_be_reached(leader: PartitionLeader) -> None:
    assert preferred_read_replica("b", 5, leader, {ONE: "a", THREE: "b"}) == THREE


def test_not_while_nothing_is_known_of_it(leader: PartitionLeader) -> None:
    leader.isr = (ONE, FOUR)
    assert preferred_read_replica("d", 0, leader, {ONE: "a", FOUR: "d"}) == NO_PREFERENCE
