"""Rebalances: what starts one, what does not, who is left behind."""

import pytest

from tests.support.group_driver import ANY, GroupDriver, GroupScene, rejoin_all, subscription
from tidelog.group_coordinator.core.groups.effects import RebalanceCause
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.join_group import JoinGroupRequestProtocol

OK, REJOIN, UNKNOWN = KafkaCode.NONE, KafkaCode.REBALANCE_IN_PROGRESS, KafkaCode.UNKNOWN_MEMBER_ID
CHANGED = [JoinGroupRequestProtocol(name="range", metadata=subscription("changed"))]


def test_second_member_makes_the_first_one_join_again(group: GroupScene) -> None:
    (first,) = group.stable()
    joining = group.member().join_later()
    assert (first.heartbeat(), joining.is_waiting) == (REJOIN, True)
    assert first.join().generation_id == joining.answer.generation_id == 2


def test_new_member_while_completing_starts_over(group: GroupScene) -> None:
    first = group.member()
    first.join()
    joining = group.member().join_later()
    assert first.heartbeat() is REJOIN
    assert first.join().generation_id == joining.answer.generation_id == 2


def test_lost_join_answer_while_completing_is_repeated(group: GroupScene) -> None:
    leader, follower = group.stable(2)
    for member, first in zip((leader, follower), rejoin_all([leader, follower]), strict=True):
        assert member.join() == first
    assert leader.sync({leader.id: b"x"}).assignment == b"x"


def test_lost_join_answer_while_preparing_waits_again_and_the_old_request_is_let_go(group: GroupScene) -> None:
    (first,) = group.stable()
    new = group.member()
    lost, again = new.join_later(), new.join_later()
    assert (lost.error, again.is_waiting) == (REJOIN, True)
    first.join()
    assert (again.error, len(group.describe().members)) == (OK, 2)


def test_lost_join_answer_of_a_follower_in_stable_is_repeated_without_a_rebalance(group: GroupScene) -> None:
    leader, follower = group.stable(2)
    answer = follower.join()
    assert (answer.error_code, answer.generation_id, answer.leader, answer.members) == (OK, 2, leader.id, [])
    assert follower.sync().assignment == b"share-1"
    assert leader.heartbeat() is OK


@pytest.mark.parametrize("state", ["Stable", "CompletingRebalance"])
def test_changed_metadata_of_a_follower_rebalances(group: GroupScene, state: str) -> None:
    leader, follower = group.stable(2)
    if state == "CompletingRebalance":
        rejoin_all([leader, follower])
    joining = follower.join_later(protocols=CHANGED)
    assert leader.heartbeat() is REJOIN
    answer = leader.join()
    assert {m.metadata for m in answer.members} == {ANY, subscription("changed")}
    assert joining.answer.generation_id == answer.generation_id


def test_leader_joining_a_stable_group_rebalances_even_if_unchanged(driver: GroupDriver, group: GroupScene) -> None:
    leader, follower = group.stable(2)
    joining = leader.join_later()
    assert follower.heartbeat() is REJOIN
    assert follower.join().generation_id == joining.answer.generation_id == 3
    assert [rebalance.cause for rebalance in driver.rebalances] == [
        RebalanceCause.MEMBER_JOINED,
        RebalanceCause.MEMBER_JOINED,
        RebalanceCause.LEADER_REJOINED,
    ]


def test_member_that_does_not_rejoin_in_time_is_dropped(driver: GroupDriver, group: GroupScene) -> None:
    leader, sleeper = group.stable(2, rebalance_ms=1_500)
    joining = leader.join_later()
    driver.pass_time(1_499)
    assert joining.is_waiting
    driver.pass_time(1)
    assert [m.member_id for m in joining.answer.members] == [leader.id]
    assert (joining.answer.generation_id, sleeper.heartbeat()) == (3, UNKNOWN)


def test_longest_rebalance_timeout_of_all_members_counts_from_the_beginning(
    driver: GroupDriver, group: GroupScene
) -> None:
    leader, middle, _ = group.grow([], [group.member(rebalance_ms=ms) for ms in (500, 500, 2_500)])
    joining = leader.join_later()
    driver.pass_time(2_000)
    middle.join_later()  # comes late, and does not make it longer
    driver.pass_time(499)
    assert joining.is_waiting
    driver.pass_time(1)
    assert len(joining.answer.members) == 2


def test_leader_that_does_not_rejoin_is_replaced(driver: GroupDriver, group: GroupScene) -> None:
    leader, follower = group.stable(2, rebalance_ms=1_500)
    joining = follower.join_later(protocols=CHANGED)
    driver.pass_time(1_500)
    assert (joining.answer.leader, len(joining.answer.members)) == (follower.id, 1)
    assert leader.heartbeat() is UNKNOWN


def test_leader_that_never_syncs_does_not_hang_the_group(driver: GroupDriver, group: GroupScene) -> None:
    leader, follower = group.stable(2, rebalance_ms=1_500)
    rejoin_all([leader, follower])
    waiting = follower.send_sync()
    driver.pass_time(1_499)
    assert (leader.heartbeat(), waiting.is_waiting) == (OK, True)  # heartbeats alone do not keep it in
    driver.pass_time(1)
    assert (waiting.error, leader.heartbeat()) == (REJOIN, UNKNOWN)
    assert (follower.join().leader, follower.sync({follower.id: b"all"}).assignment) == (follower.id, b"all")


def test_group_whose_members_never_sync_becomes_empty(driver: GroupDriver, group: GroupScene) -> None:
    member = group.member(rebalance_ms=1_500)
    member.join()
    driver.pass_time(1_500)
    assert (member.heartbeat(), group.state()) == (UNKNOWN, "Empty")


def test_leaving_members(group: GroupScene) -> None:
    leader, follower = group.stable(2)
    assert follower.leave() is OK
    assert leader.heartbeat() is REJOIN
    assert [m.member_id for m in leader.join().members] == [leader.id]
    leader.leave()
    described = group.describe()
    assert (described.group_state, described.protocol_type, described.members) == ("Empty", "consumer", [])


def test_member_without_heartbeats_expires_after_its_session_timeout(driver: GroupDriver, group: GroupScene) -> None:
    leader, sleeper = group.stable(2, session_ms=6_000)
    driver.pass_time(3_000)
    assert leader.heartbeat() is OK
    driver.pass_time(2_999)
    assert leader.heartbeat() is OK
    driver.pass_time(1)
    assert leader.heartbeat() is REJOIN
    assert [m.member_id for m in leader.join().members] == [leader.id]
    assert sleeper.heartbeat() is UNKNOWN


def test_heartbeat_commit_and_waiting_in_join_each_keep_a_member_alive(driver: GroupDriver, group: GroupScene) -> None:
    beats, commits = group.stable(2, session_ms=6_000, rebalance_ms=60_000)
    joining = group.member(session_ms=6_000, rebalance_ms=60_000).join_later()
    for _ in range(7):
        driver.pass_time(3_000)
        assert beats.heartbeat() is REJOIN
        assert commits.commit({("t", 0): 2}) == {("t", 0): OK}
    answers = [beats.join_later(), commits.join_later(), joining]
    assert [a.answer.generation_id for a in answers] == [3, 3, 3]


def test_newcomer_whose_client_is_gone_is_not_waited_for_forever(driver: GroupDriver, group: GroupScene) -> None:
    (old,) = group.stable(session_ms=1_000_000, rebalance_ms=1_000_000)
    gone = group.member(session_ms=6_000).join_later()
    driver.pass_time(299_999)
    assert gone.is_waiting
    driver.pass_time(1)
    assert gone.error is UNKNOWN
    assert [m.member_id for m in old.join().members] == [old.id]


@pytest.mark.parametrize(
    "garbage", [b"", b"\xff" * 7, b"\x00\x00\x7f\xff\xff\xff", b"\x00\x01\x00\x00\x00\x01\x00\x09ab"]
)
def test_garbage_for_a_subscription_never_hangs_a_rebalance(group: GroupScene, garbage: bytes) -> None:
    (member,) = group.stable(protocols=(("range", garbage),))
    assert (group.state(), member.heartbeat()) == ("Stable", OK)
