"""Offsets and groups that nobody needs any more are forgotten."""

import pytest

from tests.support.group_driver import GroupDriver, GroupScene, subscription
from tidelog.group_coordinator.core.groups.limits import GroupLimits
from tidelog.kafka.errors import KafkaCode

DAY_MS = 24 * 3_600_000
CHECK_MS = 600_000
TP = ("t", 0)


@pytest.fixture
def driver() -> GroupDriver:
    return GroupDriver(GroupLimits(initial_rebalance_delay_ms=0, offsets_retention_ms=DAY_MS))


def test_offset_of_a_simple_consumer_expires_by_its_commit_time(driver: GroupDriver, group: GroupScene) -> None:
    group.commit({TP: 1})
    driver.pass_time(DAY_MS // 2)
    group.commit({("t", 1): 2})
    driver.pass_time(DAY_MS // 2 - 1)
    assert group.committed() == {TP: 1, ("t", 1): 2}
    driver.pass_time(CHECK_MS)
    assert group.committed() == {("t", 1): 2}
    driver.pass_time(DAY_MS // 2)
    assert (group.committed(), group.state()) == ({}, "Dead")
    driver.fail_over()
    assert (group.committed(), group.state()) == ({}, "Dead")


def test_offsets_of_an_emptied_group_expire_by_the_time_it_became_empty(driver: GroupDriver, group: GroupScene) -> None:
    (member,) = group.stable(session_ms=1_800_000, protocols=(("range", subscription("t")),))
    member.commit({TP: 1})
    for _ in range(200):  # more than a day
        driver.pass_time(CHECK_MS)
        assert member.heartbeat() is KafkaCode.NONE
    member.leave()
    driver.fail_over()
    driver.pass_time(DAY_MS - 1)
    assert group.committed() == {TP: 1}
    driver.pass_time(CHECK_MS)
    assert (group.committed(), group.state()) == ({}, "Dead")
    driver.fail_over()
    assert group.state() == "Dead"


def test_stable_group_loses_only_offsets_of_topics_that_it_no_longer_follows(
    driver: GroupDriver, group: GroupScene
) -> None:
    (member,) = group.stable(session_ms=1_800_000, protocols=(("range", subscription("followed")),))
    member.commit({("followed", 0): 1, ("left", 0): 2})
    for _ in range(200):
        driver.pass_time(CHECK_MS)
        member.heartbeat()
    assert group.committed() == {("followed", 0): 1}


def test_nothing_of_a_stable_group_expires_while_its_subscriptions_cannot_be_read(
    driver: GroupDriver, group: GroupScene
) -> None:
    (member,) = group.stable(session_ms=1_800_000, protocols=(("range", b"?"),))
    member.commit({TP: 1})
    for _ in range(200):
        driver.pass_time(CHECK_MS)
        member.heartbeat()
    assert group.committed() == {TP: 1}


def test_offset_with_a_retention_time_of_its_own_expires_by_that(driver: GroupDriver, group: GroupScene) -> None:
    group.commit({TP: 1}, 2, retention_time_ms=1_000)
    group.commit({("t", 1): 1})
    driver.pass_time(CHECK_MS)
    assert group.committed() == {("t", 1): 1}


def test_what_a_transaction_or_a_commit_may_still_change_does_not_expire(
    driver: GroupDriver, group: GroupScene
) -> None:
    group.commit({TP: 1, ("t", 1): 1})
    group.commit_in_transaction({TP: 2})
    driver.pass_time(DAY_MS - CHECK_MS)
    other = GroupScene(driver, "other")
    other.commit({TP: 1})
    driver.pass_time(DAY_MS - 1)
    assert group.committed() == {TP: 1}
    driver.commits_at_once = False
    other.commit_later({TP: 5})
    driver.pass_time(2 * CHECK_MS)
    assert len(driver.writes) == 1
    driver.commit_next()
    assert other.committed() == {TP: 5}


def test_empty_group_without_offsets_is_forgotten(driver: GroupDriver, group: GroupScene) -> None:
    group.stable()[0].leave()
    driver.pass_time(CHECK_MS)
    assert group.state() == "Dead"


def test_expiry_that_cannot_be_written_is_tried_again(driver: GroupDriver, group: GroupScene) -> None:
    group.commit({TP: 1})
    driver.commits_at_once = False
    driver.pass_time(DAY_MS)
    driver.fail_next(KafkaCode.NOT_ENOUGH_REPLICAS)
    assert group.committed() == {TP: 1}
    driver.commits_at_once = True
    driver.pass_time(CHECK_MS)
    assert group.state() == "Dead"


def test_group_that_is_joined_while_it_is_forgotten_lives_on(driver: GroupDriver, group: GroupScene) -> None:
    group.commit({TP: 1})
    driver.commits_at_once = False
    driver.pass_time(DAY_MS)
    member = group.member()
    member.take_id()
    driver.commit_next()
    assert member.join().generation_id == 1
