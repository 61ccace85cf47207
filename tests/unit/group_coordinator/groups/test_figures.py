"""What a shard tells for metrics: how long rebalances take, and how much is committed."""

from tests.support.group_driver import GroupDriver, GroupScene
from tidelog.group_coordinator.core.groups.effects import PhaseOver, RebalancePhase
from tidelog.kafka.errors import KafkaCode


def test_both_phases_of_a_rebalance_are_timed(driver: GroupDriver, group: GroupScene) -> None:
    (first,) = group.stable(rebalance_ms=60_000, session_ms=60_000)
    driver.phases.clear()
    second = group.member()
    joining = second.join_later()
    driver.pass_time(700)
    first.join()
    second.learn()
    driver.pass_time(40)
    first.sync({first.id: b"1", joining.answer.member_id: b"2"})
    assert driver.phases == [PhaseOver(RebalancePhase.JOIN, 700), PhaseOver(RebalancePhase.SYNC, 40)]


def test_a_rebalance_without_anybody_has_no_sync_phase(driver: GroupDriver, group: GroupScene) -> None:
    (only,) = group.stable()
    driver.phases.clear()
    only.leave()
    assert [over.phase for over in driver.phases] == [RebalancePhase.JOIN]


def test_offsets_are_counted_when_they_are_committed(driver: GroupDriver, group: GroupScene) -> None:
    group.commit({("t", 0): 1, ("t", 1): 2})
    assert driver.offsets_committed == 2


def test_refused_offsets_are_not_counted(driver: GroupDriver, group: GroupScene) -> None:
    assert group.commit({("t", 10): 1, ("t", 0): 1})["t", 10] == KafkaCode.UNKNOWN_TOPIC_OR_PARTITION
    assert driver.offsets_committed == 1


def test_offsets_that_did_not_get_into_the_log_are_not_counted(driver: GroupDriver, group: GroupScene) -> None:
    driver.commits_at_once = False
    group.commit_later({("t", 0): 1})
    driver.fail_next(KafkaCode.NOT_ENOUGH_REPLICAS)
    assert driver.offsets_committed == 0
