"""Static members (group.instance.id): a restart keeps the place in the group."""

import pytest

from tests.support.group_driver import GroupDriver, GroupScene, MemberScene, rejoin_all, subscription
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.leave_group import LeavingMember

OK, REJOIN, UNKNOWN = KafkaCode.NONE, KafkaCode.REBALANCE_IN_PROGRESS, KafkaCode.UNKNOWN_MEMBER_ID
FENCED = KafkaCode.FENCED_INSTANCE_ID
Protocols = tuple[tuple[str, bytes], ...]


def stable_static(group: GroupScene, count: int = 2, **settings: object) -> list[MemberScene]:
    return group.grow([], [group.member(instance=f"instance-{i}", **settings) for i in range(count)])


def restarted(member: MemberScene, protocols: Protocols | None = None) -> MemberScene:
    return member.group.member(instance=member.instance, protocols=protocols or member.protocols)


def test_static_member_joins_at_once_under_an_id_made_of_its_instance_id(group: GroupScene) -> None:
    answer = group.member(instance="instance-0").join()
    assert (answer.error_code, answer.generation_id) == (OK, 1)
    assert answer.member_id.startswith("instance-0-")
    assert [(m.member_id, m.group_instance_id) for m in answer.members] == [(answer.member_id, "instance-0")]


def test_restarted_follower_gets_its_assignment_back_without_a_rebalance(group: GroupScene) -> None:
    leader, follower = stable_static(group)
    new = restarted(follower)
    answer = new.join()
    assert (answer.error_code, answer.generation_id, answer.leader, answer.members) == (OK, 2, leader.id, [])
    assert new.id != follower.id
    assert new.sync().assignment == b"share-1"
    assert (leader.heartbeat(), new.heartbeat()) == (OK, OK)
    assert [m.member_id for m in group.describe().members] == [leader.id, new.id]


def test_restarted_leader_leads_on_and_skips_the_assignment_from_version_9(group: GroupScene) -> None:
    leader, follower = stable_static(group)
    new = restarted(leader)
    answer = new.join(9)
    assert (answer.generation_id, answer.leader, answer.skip_assignment) == (2, new.id, True)
    assert {m.member_id for m in answer.members} == {new.id, follower.id}
    assert (new.sync().assignment, follower.heartbeat()) == (b"share-0", OK)


def test_restarted_leader_is_shown_its_old_id_before_version_9(group: GroupScene) -> None:
    leader, _ = stable_static(group)
    new = restarted(leader)
    answer = new.join(8)
    assert (answer.generation_id, answer.leader, answer.members) == (2, leader.id, [])
    assert new.sync({}, 4).assignment == b"share-0"


def test_old_member_id_is_fenced_in_every_request(group: GroupScene) -> None:
    _, follower = stable_static(group)
    new = restarted(follower)
    new.join()
    assert follower.heartbeat() is FENCED
    assert follower.sync().error_code == FENCED
    assert follower.send_join().error is FENCED
    assert follower.commit({("t", 0): 1}) == {("t", 0): FENCED}
    assert follower.leave() is FENCED
    assert follower.heartbeat(group_instance_id=None) is UNKNOWN
    assert new.heartbeat() is OK


def test_wrong_instance_ids(group: GroupScene) -> None:
    _, follower = stable_static(group)
    assert follower.heartbeat(group_instance_id="nobody") is UNKNOWN
    assert follower.send_join(group_instance_id="nobody").error is UNKNOWN
    assert follower.heartbeat(group_instance_id="instance-0") is FENCED


def test_requests_of_the_old_id_that_wait_are_fenced(group: GroupScene) -> None:
    leader, follower = stable_static(group)
    rejoin_all([leader, follower])
    waiting = follower.send_sync()
    new = restarted(follower)
    joining = new.join_later()
    assert (waiting.error, joining.is_waiting) == (FENCED, True)
    newer = restarted(follower)
    again = newer.join_later()
    assert (joining.error, again.is_waiting) == (FENCED, True)
    assert leader.join().generation_id == again.answer.generation_id == 4


def test_restart_that_changes_the_chosen_protocol_rebalances(group: GroupScene) -> None:
    both = (("a", subscription("x")), ("b", subscription("x")))
    leader, follower = stable_static(group, protocols=both)
    assert leader.protocol == "a"
    joining = restarted(follower, (("b", subscription("x")),)).join_later()
    assert leader.heartbeat() is REJOIN
    assert leader.join().protocol_name == joining.answer.protocol_name == "b"


def test_restart_with_another_subscription_but_the_same_protocol_does_not_rebalance(group: GroupScene) -> None:
    leader, follower = stable_static(group)
    new = restarted(follower, (("range", subscription("other")),))
    assert new.join().generation_id == 2
    assert leader.heartbeat() is OK


def test_restart_is_answered_when_it_is_stored(driver: GroupDriver, group: GroupScene) -> None:
    _, follower = stable_static(group)
    driver.commits_at_once = False
    new = restarted(follower)
    joining = new.join_later()
    assert joining.is_waiting
    driver.fail_next(KafkaCode.NOT_ENOUGH_REPLICAS)
    assert (joining.error, joining.answer.member_id) == (KafkaCode.COORDINATOR_NOT_AVAILABLE, "")
    again = new.join_later()
    driver.commit_next()
    assert (again.error, again.answer.generation_id, new.sync().assignment) == (OK, 2, b"share-1")


def test_restarts_of_two_members_at_a_time_are_both_in_the_log(driver: GroupDriver, group: GroupScene) -> None:
    one, two = [restarted(member) for member in stable_static(group)]
    driver.commits_at_once = False
    asked = [one.join_later(), two.join_later()]
    driver.commit_next()
    driver.commit_next()
    assert [a.error for a in asked] == [OK, OK]
    driver.fail_over()
    assert (one.heartbeat(), two.heartbeat()) == (OK, OK)


def test_static_member_is_removed_by_its_instance_id_alone(group: GroupScene) -> None:
    leader, follower = stable_static(group)
    answer = group.leave(LeavingMember(member_id="wrong", group_instance_id="instance-1"))
    assert [m.error_code for m in answer.members] == [FENCED]
    assert leader.heartbeat() is OK
    answer = group.leave(
        LeavingMember(member_id="", group_instance_id="instance-1"),
        LeavingMember(member_id="", group_instance_id="nobody"),
        LeavingMember(member_id=""),
    )
    assert [(m.member_id, m.group_instance_id, m.error_code) for m in answer.members] == [
        ("", "instance-1", OK),
        ("", "nobody", UNKNOWN),
        ("", None, UNKNOWN),
    ]
    assert (leader.heartbeat(), follower.heartbeat()) == (REJOIN, UNKNOWN)


def test_static_member_that_does_not_rejoin_is_kept_until_it_does_not_sync_either(
    driver: GroupDriver, group: GroupScene
) -> None:
    leader, _ = stable_static(group, rebalance_ms=1_500)
    joining = leader.join_later()
    driver.pass_time(1_500)
    assert {m.group_instance_id for m in joining.answer.members} == {"instance-0", "instance-1"}
    leader.sync({})
    assert (leader.heartbeat(), group.state()) == (OK, "Stable")
    driver.pass_time(1_500)
    assert leader.heartbeat() is REJOIN
    assert [m.group_instance_id for m in leader.join().members] == ["instance-0"]


def test_static_member_expires_after_its_session_timeout(driver: GroupDriver, group: GroupScene) -> None:
    leader, _ = group.grow([], [group.member(instance="a"), group.member(instance="b", session_ms=6_000)])
    driver.pass_time(6_000)
    assert leader.heartbeat() is REJOIN
    assert [m.group_instance_id for m in leader.join().members] == ["a"]


@pytest.mark.parametrize("rebalance_ms", [10, 2_000])
def test_rebalance_to_which_only_absent_static_members_belong_ends_with_their_sessions(
    driver: GroupDriver, group: GroupScene, rebalance_ms: int
) -> None:
    members = stable_static(group, session_ms=60_000, rebalance_ms=rebalance_ms)
    dynamic = group.member(rebalance_ms=rebalance_ms)
    group.grow(members, [dynamic])
    dynamic.leave()
    driver.pass_time(59_999)
    assert group.state() == "PreparingRebalance"
    driver.pass_time(1)
    assert group.state() == "Empty"
