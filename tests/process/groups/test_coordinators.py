"""Coordinators die, stop and come back: groups go on, and what was committed stays committed."""

import signal
import threading

from tests.support.coordinated import Coordinated, Member, committed
from tests.support.services import Services
from tests.support.waiting import eventually
from tidelog.kafka.errors import KafkaCode


def settled(cluster: Coordinated, group: str) -> Member:
    """A group of one member that has its assignment."""
    member = Member(cluster, group)
    member.join()
    assert member.sync({member.member_id: b"everything"}) == b"everything"
    return member


def test_a_killed_coordinator_loses_no_offset_and_causes_no_rebalance(cluster: Coordinated) -> None:
    cluster.create("t")
    member = settled(cluster, "g")
    assert member.commit("t", 42) is KafkaCode.NONE
    owner, epoch = cluster.shard("g")
    cluster.coordinators[owner].kill()
    assert member.heartbeat() is KafkaCode.NONE, "the same generation goes on"
    assert committed(cluster, "g", "t") == 42
    assert cluster.shard("g")[0] != owner
    assert cluster.shard("g")[1] > epoch
    assert member.sync({}) == b"everything", "a late sync gets what was assigned"
    assert member.commit("t", 43) is KafkaCode.NONE


def test_a_restarted_coordinator_takes_its_share_back(cluster: Coordinated, services: Services) -> None:
    cluster.create("t")
    members = [settled(cluster, f"g{number}") for number in range(6)]
    for offset, member in enumerate(members):
        assert member.commit("t", offset) is KafkaCode.NONE
    cluster.coordinators[7].kill()
    assert [member.heartbeat() for member in members] == [KafkaCode.NONE] * 6
    cluster.coordinators[7].start().wait_ready()
    eventually(lambda: {cluster.shard(f"g{number}")[0] for number in range(6)} == {7, 8})
    assert [member.heartbeat() for member in members] == [KafkaCode.NONE] * 6
    assert [committed(cluster, f"g{number}", "t") for number in range(6)] == list(range(6))


def test_a_coordinator_that_stops_in_good_order_hands_over(cluster: Coordinated) -> None:
    cluster.create("t")
    member = settled(cluster, "g")
    assert member.commit("t", 5) is KafkaCode.NONE
    assert cluster.owner_of_group("g").stop() == 0
    assert member.heartbeat() is KafkaCode.NONE
    assert committed(cluster, "g", "t") == 5


def test_a_coordinator_that_slept_through_its_session_changes_nothing_any_more(cluster: Coordinated) -> None:
    cluster.create("t")
    member = settled(cluster, "g")
    assert member.commit("t", 1) is KafkaCode.NONE
    zombie = cluster.owner_of_group("g")
    owner, _ = cluster.shard("g")
    zombie.signal(signal.SIGSTOP)
    try:
        eventually(lambda: cluster.shard("g")[0] != owner)
        assert member.commit("t", 2) is KafkaCode.NONE
    finally:
        zombie.signal(signal.SIGCONT)
    zombie.wait_ready()
    assert member.commit("t", 3) is KafkaCode.NONE
    assert committed(cluster, "g", "t") == 3


def test_members_that_wait_when_their_coordinator_dies_are_told_to_ask_again(cluster: Coordinated) -> None:
    cluster.create("t")
    first = settled(cluster, "g")
    second = Member(cluster, "g")
    joined = threading.Event()

    def join() -> None:
        second.join()
        joined.set()

    thread = threading.Thread(target=join, daemon=True)
    thread.start()
    eventually(lambda: first.heartbeat() is KafkaCode.REBALANCE_IN_PROGRESS)
    cluster.owner_of_group("g").kill()
    # Whoever takes over knows the last generation, and the newcomer asks again: nobody hangs.
    eventually(lambda: first.heartbeat() is KafkaCode.REBALANCE_IN_PROGRESS)
    first.join()
    thread.join(30)
    assert joined.is_set()
    assert second.generation_id == first.generation_id


def test_a_broker_that_leads_the_offsets_dies(cluster: Coordinated) -> None:
    cluster.create("t")
    member = settled(cluster, "g")
    assert member.commit("t", 7) is KafkaCode.NONE
    cluster.coordinator_broker("g").kill()
    assert member.heartbeat() is KafkaCode.NONE
    assert committed(cluster, "g", "t") == 7
    assert member.commit("t", 8) is KafkaCode.NONE
    assert committed(cluster, "g", "t") == 8
