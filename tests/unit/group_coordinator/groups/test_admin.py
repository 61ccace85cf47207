"""LeaveGroup in batches, DescribeGroups, ListGroups, DeleteGroups."""

import pytest

from tests.support.group_driver import ANY, GroupDriver, GroupScene
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.delete_groups import DeleteGroupsRequest
from tidelog.kafka.wire.messages.describe_groups import DescribeGroupsRequest
from tidelog.kafka.wire.messages.leave_group import LeaveGroupRequest, LeavingMember
from tidelog.kafka.wire.messages.list_groups import ListedGroup, ListGroupsRequest

OK, UNKNOWN = KafkaCode.NONE, KafkaCode.UNKNOWN_MEMBER_ID


def listed(driver: GroupDriver, **filters: list[str]) -> dict[str, ListedGroup]:
    return {found.group_id: found for found in driver.call(ListGroupsRequest(**filters), 5).groups}


def delete(driver: GroupDriver, *names: str) -> dict[str, int]:
    answer = driver.call(DeleteGroupsRequest(groups_names=list(names)), 2)
    return {result.group_id: result.error_code for result in answer.results}


@pytest.mark.parametrize("version", range(3))
def test_leave_of_one_member_answers_on_top(driver: GroupDriver, group: GroupScene, version: int) -> None:
    nobody = LeaveGroupRequest(group_id="group", member_id="nobody")
    assert driver.call(nobody, version).error_code == UNKNOWN
    (member,) = group.stable()
    assert driver.call(nobody, version).error_code == UNKNOWN
    assert driver.call(LeaveGroupRequest(group_id="group", member_id=member.id), version).error_code == OK
    assert group.state() == "Empty"


@pytest.mark.parametrize("version", range(3, 6))
def test_leave_of_several_members_answers_for_each(group: GroupScene, version: int) -> None:
    absent = group.leave(LeavingMember(member_id="nobody"), version=version)
    assert (absent.error_code, [m.error_code for m in absent.members]) == (OK, [UNKNOWN])
    a, b, c = group.stable(3)
    leaving = [LeavingMember(member_id=member_id) for member_id in (a.id, "nobody", b.id)]
    answer = group.leave(*leaving, version=version)
    assert answer.error_code == OK
    assert [(m.member_id, m.error_code) for m in answer.members] == [(a.id, OK), ("nobody", UNKNOWN), (b.id, OK)]
    assert c.heartbeat() is KafkaCode.REBALANCE_IN_PROGRESS


def test_unknown_group_is_described_as_dead(group: GroupScene) -> None:
    found = group.describe()
    assert (found.error_code, found.group_id, found.group_state, found.protocol_type, found.members) == (
        OK,
        "group",
        "Dead",
        "",
        [],
    )


def test_metadata_and_assignments_are_described_only_of_a_stable_group(group: GroupScene) -> None:
    members = group.stable(2)
    found = group.describe()
    assert (found.group_state, found.protocol_type, found.protocol_data) == ("Stable", "consumer", "range")
    assert [(m.member_metadata, m.member_assignment) for m in found.members] == [(ANY, b"share-0"), (ANY, b"share-1")]
    members[0].join_later()
    found = group.describe()
    assert (found.group_state, found.protocol_type, found.protocol_data) == ("PreparingRebalance", "consumer", "")
    assert [(m.member_metadata, m.member_assignment) for m in found.members] == [(b"", b"")] * 2


def test_several_groups_are_described_in_order_with_operations_on_request(driver: GroupDriver) -> None:
    GroupScene(driver, "b").stable()
    names = ["a", "b", "c"]
    asked, unasked = [
        driver.call(DescribeGroupsRequest(groups=names, include_authorized_operations=yes), 5).groups
        for yes in (True, False)
    ]
    assert [g.group_id for g in asked] == names
    assert {g.authorized_operations for g in asked} == {1 << 3 | 1 << 6 | 1 << 8}
    assert {g.authorized_operations for g in unasked} == {-(2**31)}


def test_groups_are_listed_by_state_and_type(driver: GroupDriver, group: GroupScene) -> None:
    (member,) = group.stable()
    GroupScene(driver, "simple").commit({("t", 0): 5})
    found = listed(driver)
    assert (found["group"].protocol_type, found["group"].group_state, found["group"].group_type) == (
        "consumer",
        "Stable",
        "classic",
    )
    assert (found["simple"].protocol_type, found["simple"].group_state) == ("", "Empty")
    assert listed(driver, states_filter=["stable"]).keys() == {"group"}
    assert listed(driver, states_filter=["PreparingRebalance"]).keys() == set()
    assert listed(driver, types_filter=["Classic"]).keys() == {"group", "simple"}
    assert listed(driver, types_filter=["consumer"]).keys() == set()
    member.leave()
    assert listed(driver, states_filter=["Empty", "Stable"]).keys() == {"group", "simple"}


def test_empty_group_is_deleted_with_its_offsets(driver: GroupDriver, group: GroupScene) -> None:
    (member,) = group.stable()
    member.commit({("t", 0): 7})
    assert delete(driver, "group", "never-was", "group") == {
        "group": KafkaCode.NON_EMPTY_GROUP,
        "never-was": KafkaCode.GROUP_ID_NOT_FOUND,
    }
    member.leave()
    assert delete(driver, "group") == {"group": OK}
    assert (group.state(), group.committed(), listed(driver)) == ("Dead", {}, {})
    driver.fail_over()
    assert (group.state(), group.committed()) == ("Dead", {})
    assert group.stable()[0].generation == 1


def test_member_that_joins_while_its_group_is_deleted_is_not_lost(driver: GroupDriver, group: GroupScene) -> None:
    (old,) = group.stable()
    old.leave()
    driver.commits_at_once = False
    deleting = driver.send(DeleteGroupsRequest(groups_names=["group"]), 2)
    new = group.member()
    assert new.join_later().error is OK
    driver.commit_next()
    assert deleting.answer.results[0].error_code == OK
    syncing = new.send_sync({})
    driver.commit_next()
    assert (syncing.error, new.heartbeat()) == (OK, OK)
    driver.fail_over()
    assert new.heartbeat() is OK


def test_failed_deletion_leaves_the_group_as_it_was(driver: GroupDriver, group: GroupScene) -> None:
    group.commit({("t", 0): 7})
    driver.commits_at_once = False
    deleting = driver.send(DeleteGroupsRequest(groups_names=["group", "never-was"]), 2)
    driver.fail_next(KafkaCode.NOT_LEADER_OR_FOLLOWER)
    assert [r.error_code for r in deleting.answer.results] == [
        KafkaCode.NOT_COORDINATOR,
        KafkaCode.GROUP_ID_NOT_FOUND,
    ]
    assert group.committed() == {("t", 0): 7}
