"""SyncGroup and Heartbeat in each state of a group."""

from typing import Any

import pytest

from tests.support.group_driver import GroupDriver, GroupScene, MemberScene, rejoin_all
from tidelog.kafka.errors import KafkaCode

OK, REJOIN = KafkaCode.NONE, KafkaCode.REBALANCE_IN_PROGRESS


def completing(group: GroupScene, count: int = 2) -> list[MemberScene]:
    members = group.stable(count)
    assert [answer.generation_id for answer in rejoin_all(members)] == [count + 1] * count
    assert group.state() == "CompletingRebalance"
    return members


@pytest.mark.parametrize("version", range(6))
def test_leader_alone_gets_the_assignment_it_sent(group: GroupScene, version: int) -> None:
    member = group.member()
    member.join()
    answer = member.sync({member.id: b"all of it"}, version)
    assert (answer.error_code, answer.assignment) == (OK, b"all of it")
    assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")
    assert group.state() == "Stable"


def test_follower_that_syncs_first_waits_for_the_leader(group: GroupScene) -> None:
    leader, follower = completing(group)
    waiting = follower.send_sync()
    assert waiting.is_waiting
    assert leader.sync({leader.id: b"L", follower.id: b"F"}).assignment == b"L"
    assert waiting.answer.assignment == b"F"


def test_late_sync_in_stable_gets_the_stored_assignment(group: GroupScene) -> None:
    leader, follower = completing(group)
    leader.sync({leader.id: b"L", follower.id: b"F", "stranger": b"S"})
    assert [follower.sync().assignment for _ in range(2)] == [b"F", b"F"]
    assert leader.sync({leader.id: b"changed"}).assignment == b"L"
    assert {m.member_id for m in group.describe().members} == {leader.id, follower.id}


def test_member_that_the_leader_left_out_gets_an_empty_assignment(group: GroupScene) -> None:
    leader, follower = completing(group)
    leader.sync({leader.id: b"L"})
    answer = follower.sync()
    assert (answer.error_code, answer.assignment) == (OK, b"")


def test_nobody_gets_an_assignment_before_it_is_stored(driver: GroupDriver, group: GroupScene) -> None:
    leader, follower = completing(group)
    driver.commits_at_once = False
    asked = [follower.send_sync(), leader.send_sync({leader.id: b"L", follower.id: b"F"})]
    assert [a.is_waiting for a in asked] == [True, True]
    assert group.state() == "CompletingRebalance"
    driver.commit_next()
    assert [a.answer.assignment for a in asked] == [b"F", b"L"]


def test_second_assignment_of_a_generation_is_not_written(driver: GroupDriver, group: GroupScene) -> None:
    leader, _ = completing(group)
    driver.commits_at_once = False
    first = leader.send_sync({leader.id: b"one"})
    again = leader.send_sync({leader.id: b"two"})
    assert (first.error, len(driver.writes)) == (REJOIN, 1)
    driver.commit_next()
    assert again.answer.assignment == b"one"


@pytest.mark.parametrize("given", [-1, 0, 2, 4])
def test_wrong_generation_is_refused(group: GroupScene, given: int) -> None:
    _, follower = completing(group)
    assert follower.sync(generation_id=given).error_code == KafkaCode.ILLEGAL_GENERATION
    assert follower.heartbeat(generation_id=given) is KafkaCode.ILLEGAL_GENERATION


def test_unknown_member_is_told_so_before_its_generation_is_looked_at(group: GroupScene) -> None:
    stranger = group.member()
    ask: dict[str, Any] = {"member_id": "nobody", "generation_id": 99}
    assert stranger.sync(**ask, protocol_name="range").error_code == KafkaCode.UNKNOWN_MEMBER_ID
    assert stranger.heartbeat(**ask) is KafkaCode.UNKNOWN_MEMBER_ID
    (member,) = group.stable()
    assert stranger.sync(**ask, protocol_name="range").error_code == KafkaCode.UNKNOWN_MEMBER_ID
    assert stranger.heartbeat(**ask) is KafkaCode.UNKNOWN_MEMBER_ID
    assert member.leave() is OK
    assert member.sync().error_code == KafkaCode.UNKNOWN_MEMBER_ID  # of an empty group
    assert member.heartbeat() is KafkaCode.UNKNOWN_MEMBER_ID


def test_empty_group_id_is_invalid(group: GroupScene) -> None:
    assert group.member().sync(group_id="").error_code == KafkaCode.INVALID_GROUP_ID
    assert group.member().heartbeat(group_id="") is KafkaCode.INVALID_GROUP_ID


@pytest.mark.parametrize(
    "changed",
    [{"protocol_type": "connect"}, {"protocol_name": "roundrobin"}, {"protocol_type": None}, {"protocol_name": None}],
)
def test_another_protocol_than_the_chosen_is_refused_from_version_5(
    group: GroupScene, changed: dict[str, str | None]
) -> None:
    member = group.member()
    member.join()
    assert member.sync({member.id: b""}, 5, **changed).error_code == KafkaCode.INCONSISTENT_GROUP_PROTOCOL
    assert member.sync({member.id: b""}, 4, **changed).error_code == OK


def test_sync_and_heartbeat_while_preparing_are_told_to_rejoin(group: GroupScene) -> None:
    (old,) = group.stable()
    new = group.member()
    joining = new.join_later()
    assert (group.state(), joining.is_waiting) == ("PreparingRebalance", True)
    assert old.sync().error_code == REJOIN
    assert old.heartbeat() is REJOIN
    assert group.member().heartbeat(member_id=new.id, generation_id=1) is REJOIN
    assert old.join().generation_id == joining.answer.generation_id == 2
    assert old.heartbeat() is OK


def test_waiting_sync_is_told_to_rejoin_when_somebody_comes_or_goes(group: GroupScene) -> None:
    leader, follower = completing(group)
    waiting = follower.send_sync()
    joining = group.member().join_later()
    assert waiting.error is REJOIN
    rejoin_all([leader, follower])
    assert joining.answer.generation_id == 4
    waiting = follower.send_sync()
    leader.leave()
    assert waiting.error is REJOIN


def test_member_that_is_removed_while_it_waits_hears_of_it(group: GroupScene) -> None:
    _, follower = completing(group)
    waiting = follower.send_sync()
    assert follower.leave() is OK
    assert waiting.error is KafkaCode.UNKNOWN_MEMBER_ID
    joining = group.member()
    asked = joining.join_later()
    assert joining.leave() is OK
    assert asked.error is KafkaCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", range(5))
def test_heartbeat_in_stable_and_completing_is_fine(group: GroupScene, version: int) -> None:
    members = group.stable(2)
    assert [m.heartbeat(version) for m in members] == [OK, OK]
    rejoin_all(members)
    assert [m.heartbeat(version) for m in members] == [OK, OK]


def test_member_that_missed_the_rebalance_has_a_wrong_generation(group: GroupScene) -> None:
    leader, follower = completing(group)
    leader.sync({})
    assert follower.heartbeat(generation_id=2) is KafkaCode.ILLEGAL_GENERATION
