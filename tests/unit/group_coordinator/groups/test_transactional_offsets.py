"""Offsets that are committed in a transaction: seen by nobody until its end."""

from typing import Any

import pytest

from tests.support.group_driver import GroupDriver, GroupScene, rejoin_all
from tidelog.group_coordinator.core.groups.effects import Producer
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.delete_groups import DeleteGroupsRequest

OK, UNSTABLE = KafkaCode.NONE, KafkaCode.UNSTABLE_OFFSET_COMMIT
TP, OTHER = ("t", 0), ("t", 1)


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize("committed", [True, False])
def test_offsets_are_seen_once_the_transaction_is_committed(
    driver: GroupDriver, group: GroupScene, version: int, committed: bool
) -> None:
    group.commit({TP: 5})
    assert group.commit_in_transaction({TP: (33, "note")}, version=version) == {TP: OK}
    assert group.committed() == {TP: 5}
    driver.end_transaction(7, committed=committed)
    assert group.committed() == {TP: 33 if committed else 5}
    driver.fail_over()
    assert group.committed() == {TP: 33 if committed else 5}


@pytest.mark.parametrize("fails_over", [True, False])
def test_fetch_that_requires_stable_offsets_is_told_to_wait(
    driver: GroupDriver, group: GroupScene, fails_over: bool
) -> None:
    group.commit({TP: 5, OTHER: 6})
    group.commit_in_transaction({TP: 33})
    if fails_over:
        driver.fail_over()
    found = group.fetch([TP, OTHER], require_stable=True)
    assert {tp: (p.error_code, p.committed_offset) for tp, p in found.items()} == {TP: (UNSTABLE, -1), OTHER: (OK, 6)}
    assert group.committed([TP]) == {TP: 5}
    driver.end_transaction(8, committed=True)  # somebody else's
    assert group.fetch([TP], require_stable=True)[TP].error_code == UNSTABLE
    driver.end_transaction(7, committed=True)
    assert group.committed([TP], require_stable=True) == {TP: 33}


def test_fetch_of_all_leaves_out_a_pending_partition_without_an_earlier_commit(group: GroupScene) -> None:
    group.commit({OTHER: 6})
    group.commit_in_transaction({TP: 33})
    assert group.committed(None, require_stable=True) == {OTHER: 6}


@pytest.mark.parametrize("fails_over", [True, False])
def test_plain_commit_after_the_pending_one_wins(driver: GroupDriver, group: GroupScene, fails_over: bool) -> None:
    group.commit_in_transaction({TP: 33, OTHER: 34})
    group.commit({TP: 44})
    if fails_over:
        driver.fail_over()
    driver.end_transaction(7, committed=True)
    assert group.committed(None, require_stable=True) == {TP: 44, OTHER: 34}


def test_offset_is_unstable_from_the_moment_it_is_on_its_way(driver: GroupDriver, group: GroupScene) -> None:
    group.commit({TP: 5})
    driver.commits_at_once = False
    asked = group.commit_in_transaction_later({TP: 33})
    assert asked.is_waiting
    assert driver.writes[0].producer == Producer(7, 0)
    assert group.fetch([TP], require_stable=True)[TP].error_code == UNSTABLE
    driver.fail_next(KafkaCode.INVALID_PRODUCER_EPOCH)
    assert asked.answer.topics[0].partitions[0].error_code == KafkaCode.INVALID_PRODUCER_EPOCH
    assert group.committed([TP], require_stable=True) == {TP: 5}


def test_member_commits_in_a_transaction_and_a_stranger_does_not(group: GroupScene) -> None:
    (member,) = group.stable()

    def ask(**who: Any) -> int:
        return group.commit_in_transaction({TP: 1}, **who)[TP]

    assert ask(generation_id=2, member_id=member.id) == KafkaCode.ILLEGAL_GENERATION
    assert ask(generation_id=1, member_id="nobody") == KafkaCode.UNKNOWN_MEMBER_ID
    assert ask(generation_id=1, member_id=member.id, group_instance_id="no") == KafkaCode.UNKNOWN_MEMBER_ID
    assert ask(generation_id=1, member_id=member.id) == OK
    assert ask() == OK  # without a member, as before version 3
    assert ask(group_id="") == KafkaCode.INVALID_GROUP_ID


def test_member_may_commit_in_a_transaction_while_completing(group: GroupScene) -> None:
    members = group.stable(2)
    rejoin_all(members)
    who: dict[str, Any] = {"generation_id": members[0].generation, "member_id": members[0].id}
    assert group.commit_in_transaction({TP: 1}, **who) == {TP: OK}
    assert members[0].commit({TP: 2}) == {TP: KafkaCode.REBALANCE_IN_PROGRESS}


def test_static_member_with_an_old_id_is_fenced(group: GroupScene) -> None:
    (member,) = group.grow([], [group.member(instance="i")])
    group.member(instance="i").join()
    who: dict[str, Any] = {"generation_id": 1, "member_id": member.id, "group_instance_id": "i"}
    assert group.commit_in_transaction({TP: 1}, **who) == {TP: KafkaCode.FENCED_INSTANCE_ID}


def test_deleted_group_does_not_come_back_with_the_end_of_a_transaction(driver: GroupDriver, group: GroupScene) -> None:
    group.commit_in_transaction({TP: 33})
    assert group.state() == "Empty"
    assert driver.call(DeleteGroupsRequest(groups_names=["group"]), 2).results[0].error_code == OK
    driver.end_transaction(7, committed=True)
    assert (group.state(), group.committed()) == ("Dead", {})
    driver.fail_over()
    assert (group.state(), group.committed()) == ("Dead", {})
