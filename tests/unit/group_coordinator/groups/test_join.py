"""JoinGroup: who gets in, under which id, and what the answer says."""

import re
from typing import Any

import pytest

from tests.support.group_driver import ANY, GroupDriver, GroupScene, subscription
from tidelog.group_coordinator.core.groups import limits
from tidelog.group_coordinator.core.groups.limits import GroupLimits
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.join_group import JoinGroupRequestProtocol


@pytest.mark.parametrize("version", range(4, 10))
def test_first_join_of_a_dynamic_member_only_hands_out_an_id(group: GroupScene, version: int) -> None:
    asked = group.member(client_id="my-client").send_join(version)
    assert asked.error is KafkaCode.MEMBER_ID_REQUIRED
    assert re.fullmatch(r"my-client-\d{36}", asked.answer.member_id)
    assert (asked.answer.generation_id, asked.answer.leader, asked.answer.members) == (-1, "", [])
    assert group.state() == "Empty"


@pytest.mark.parametrize("version", range(4))
def test_old_versions_get_in_without_the_round_trip(group: GroupScene, version: int) -> None:
    answer = group.member().send_join(version).answer
    assert (answer.error_code, answer.generation_id, answer.protocol_name) == (0, 1, "range")
    assert answer.leader == answer.member_id
    assert [(m.member_id, m.metadata) for m in answer.members] == [(answer.member_id, ANY)]


def test_second_join_makes_the_first_member_leader_of_generation_1(group: GroupScene) -> None:
    member = group.member()
    member.take_id()
    answer = member.join()
    assert (answer.generation_id, answer.protocol_name, answer.protocol_type) == (1, "range", "consumer")
    assert answer.leader == answer.member_id == member.id
    assert answer.skip_assignment is False


def test_leader_sees_the_metadata_of_all_and_the_others_see_none(group: GroupScene) -> None:
    members = group.stable(3)
    asked = [
        member.join_later(protocols=[JoinGroupRequestProtocol(name="range", metadata=subscription(f"t{i}"))])
        for i, member in enumerate(members)
    ]
    first, *rest = [one.answer for one in asked]
    assert {m.member_id: m.metadata for m in first.members} == {
        member.id: subscription(f"t{i}") for i, member in enumerate(members)
    }
    assert [answer.members for answer in rest] == [[], []]
    assert {(a.leader, a.generation_id) for a in [first, *rest]} == {(members[0].id, 4)}


@pytest.mark.parametrize(
    ("lists", "chosen"),
    [
        ([("a", "b"), ("a", "b")], "a"),
        ([("b", "a"), ("b", "a")], "b"),
        ([("a", "b"), ("b", "a"), ("b", "a")], "b"),
        ([("x", "a"), ("a", "y")], "a"),
        ([("a", "a", "b"), ("b", "a", "b"), ("b", "a")], "b"),
    ],
)
def test_protocol_with_most_votes_among_the_common_ones_is_chosen(
    group: GroupScene, lists: list[tuple[str, ...]], chosen: str
) -> None:
    members = group.grow([], [group.member(protocols=tuple((p, subscription(p)) for p in names)) for names in lists])
    assert {member.protocol for member in members} == {chosen}
    assert {m.member_metadata for m in group.describe().members} == {subscription(chosen)}


def test_generation_grows_by_one_with_each_rebalance_and_goes_on_after_the_group_was_empty(group: GroupScene) -> None:
    (leader,) = group.stable()
    for generation in (2, 3):
        assert leader.join().generation_id == generation
        leader.sync({leader.id: b""})
    leader.leave()
    assert group.stable()[0].generation == 5


@pytest.mark.parametrize("timeout_ms", [0, 5_999, 1_800_001, -1])
def test_session_timeout_out_of_bounds_is_refused(group: GroupScene, timeout_ms: int) -> None:
    asked = group.member(session_ms=timeout_ms).send_join()
    assert (asked.error, asked.answer.member_id) == (KafkaCode.INVALID_SESSION_TIMEOUT, "")
    assert group.state() == "Dead"


@pytest.mark.parametrize("changed", [{"protocol_type": ""}, {"protocols": []}])
def test_first_member_must_name_a_protocol_type_and_a_protocol(group: GroupScene, changed: dict[str, Any]) -> None:
    assert group.member().send_join(**changed).error is KafkaCode.INCONSISTENT_GROUP_PROTOCOL
    assert group.state() == "Dead"  # a refusal makes no group


def test_other_protocol_type_or_no_common_protocol_is_refused(group: GroupScene) -> None:
    group.grow(
        [],
        [
            group.member(protocols=(("a", ANY), ("b", ANY))),
            group.member(protocols=(("b", ANY), ("c", ANY))),
        ],
    )
    refused = KafkaCode.INCONSISTENT_GROUP_PROTOCOL
    assert group.member(protocols=(("a", ANY), ("c", ANY))).send_join().error is refused
    assert group.member(protocol_type="connect", protocols=(("b", ANY),)).send_join().error is refused
    assert group.member(protocols=(("b", ANY),)).send_join().error is KafkaCode.MEMBER_ID_REQUIRED


def test_empty_or_oversize_texts_are_refused(group: GroupScene) -> None:
    assert group.member().send_join(group_id="").error is KafkaCode.INVALID_GROUP_ID
    long = "x" * 40_000
    assert group.member().send_join(group_id=long).error is KafkaCode.INVALID_GROUP_ID
    assert group.member().send_join(group_instance_id=long).error is KafkaCode.INVALID_REQUEST
    assert group.member(client_id=long).send_join(3).error is KafkaCode.INVALID_REQUEST
    assert group.member(protocol_type=long).send_join().error is KafkaCode.INVALID_REQUEST


def test_unknown_member_id_is_refused_whether_the_group_exists_or_not(group: GroupScene) -> None:
    assert group.member().send_join(member_id="nobody").error is KafkaCode.UNKNOWN_MEMBER_ID
    assert group.state() == "Dead"
    _, leaves = group.stable(2)
    assert group.member().send_join(member_id="nobody").error is KafkaCode.UNKNOWN_MEMBER_ID
    leaves.leave()
    assert leaves.send_join().error is KafkaCode.UNKNOWN_MEMBER_ID


def test_pending_member_holds_up_a_rebalance_until_it_joins_or_leaves(group: GroupScene) -> None:
    (leader,) = group.stable()
    pending, going = group.member(), group.member()
    pending.take_id()
    going.take_id()
    waiting = leader.join_later()
    assert waiting.is_waiting
    assert going.leave() is KafkaCode.NONE
    assert waiting.is_waiting
    joining = pending.join_later()
    assert [(a.error, a.answer.generation_id) for a in (waiting, joining)] == [(KafkaCode.NONE, 2)] * 2


def test_pending_member_that_leaves_does_not_disturb_a_stable_group(group: GroupScene) -> None:
    (leader,) = group.stable()
    pending = group.member()
    pending.take_id()
    assert pending.leave() is KafkaCode.NONE
    assert (group.state(), leader.heartbeat()) == ("Stable", KafkaCode.NONE)


def test_pending_member_expires_after_its_session_timeout(driver: GroupDriver, group: GroupScene) -> None:
    (leader,) = group.stable(session_ms=60_000)
    pending = group.member(session_ms=6_000)
    pending.take_id()
    waiting = leader.join_later(rebalance_timeout_ms=60_000)
    driver.pass_time(5_999)
    assert waiting.is_waiting
    driver.pass_time(1)
    assert [m.member_id for m in waiting.answer.members] == [leader.id]
    assert pending.send_join().error is KafkaCode.UNKNOWN_MEMBER_ID


def test_group_that_only_an_id_was_handed_out_for_is_forgotten_with_it(driver: GroupDriver, group: GroupScene) -> None:
    group.member().take_id()
    other = GroupScene(driver, "other").member()
    other.take_id()
    driver.pass_time(30_000)
    assert (group.state(), other.group.state()) == ("Dead", "Dead")
    third = group.member()
    third.take_id()
    third.leave()
    assert group.state() == "Dead"


def test_ids_that_nobody_uses_do_not_pile_up(group: GroupScene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.group_coordinator.core.groups.joining.PENDING_MEMBERS_MAX", 10)
    members = [group.member() for _ in range(25)]
    for member in members:
        member.take_id()
    assert limits.PENDING_MEMBERS_MAX == 10_000
    assert members[14].send_join().error is KafkaCode.UNKNOWN_MEMBER_ID
    driver_group = group.driver.shard._state.groups["group"]
    assert list(driver_group.pending_members) == [member.id for member in members[15:]]


def test_group_that_is_full_takes_nobody_else_in() -> None:
    group = GroupScene(GroupDriver(GroupLimits(initial_rebalance_delay_ms=0, max_size=2)))
    members = group.stable(2)
    assert group.member().send_join().error is KafkaCode.GROUP_MAX_SIZE_REACHED
    assert group.member().send_join(3).error is KafkaCode.GROUP_MAX_SIZE_REACHED
    assert [member.heartbeat() for member in members] == [KafkaCode.NONE] * 2


def test_group_that_fills_while_it_rebalances_turns_the_late_ones_away() -> None:
    driver = GroupDriver(GroupLimits(initial_rebalance_delay_ms=1_000, max_size=3))
    group = GroupScene(driver)
    asked = [group.member().join_later(3) for _ in range(50)]
    driver.pass_time(30_000)
    assert [a.error for a in asked] == [KafkaCode.NONE] * 3 + [KafkaCode.GROUP_MAX_SIZE_REACHED] * 47
    assert len(asked[0].answer.members) == 3


def test_first_generation_waits_for_the_initial_delay_in_full() -> None:
    driver = GroupDriver(GroupLimits(initial_rebalance_delay_ms=3_000))
    joining = GroupScene(driver).member().join_later()
    driver.pass_time(2_999)
    assert joining.is_waiting
    driver.pass_time(1)
    assert joining.answer.generation_id == 1


def test_each_newcomer_extends_the_initial_delay_up_to_the_rebalance_timeout() -> None:
    driver = GroupDriver(GroupLimits(initial_rebalance_delay_ms=1_000))
    group = GroupScene(driver)
    asked = []
    for _ in range(9):
        asked.append(group.member(rebalance_ms=3_500).join_later())
        driver.pass_time(500)
    # 1000, then 1000 more twice, then the 500 that remain of 3500.
    assert [a.is_waiting for a in asked] == [False] * 7 + [True] * 2
    assert {a.answer.generation_id for a in asked[:7]} == {1}
    assert len(asked[0].answer.members) == 7


def test_initial_delay_of_a_group_that_had_members_before_is_not_extended() -> None:
    driver = GroupDriver(GroupLimits(initial_rebalance_delay_ms=1_000))
    group = GroupScene(driver)
    first = group.member()
    first.join_later()
    driver.pass_time(1_000)
    sync_answer = first.sync({})
    assert sync_answer.error_code == 0
    first.leave()
    asked = group.member().join_later()
    driver.pass_time(900)
    group.member().join_later()
    driver.pass_time(100)
    assert asked.answer.generation_id == 3


def test_client_id_and_host_of_a_member_are_described(group: GroupScene) -> None:
    (member,) = group.stable(client_id="who-am-i")
    described = group.describe().members[0]
    assert (described.member_id, described.client_id, described.client_host) == (member.id, "who-am-i", "/127.0.0.1")
