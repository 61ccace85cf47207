"""A shard as a whole: failed appends, loading, unloading, refusals, requests about several groups."""

import pytest

from tests.support.group_driver import START_MS, GroupDriver, GroupScene, rejoin_all
from tidelog.group_coordinator.core.groups.limits import GroupLimits
from tidelog.group_coordinator.core.groups.shard import HANDLERS
from tidelog.group_coordinator.core.groups.states import ANSWERS, Asked, GroupState
from tidelog.kafka.configs.group_coordinator import GroupCoordinatorConfig
from tidelog.kafka.coordination.group_refusals import refused, while_loading
from tidelog.kafka.coordination.sharding import shard_of
from tidelog.kafka.coordination.splitting import merge, split
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.delete_groups import DeleteGroupsRequest
from tidelog.kafka.wire.messages.describe_groups import DescribeGroupsRequest
from tidelog.kafka.wire.messages.heartbeat import HeartbeatRequest
from tidelog.kafka.wire.messages.list_groups import ListGroupsRequest
from tidelog.kafka.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.kafka.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from tidelog.kafka.wire.messages.sync_group import SyncGroupRequest

OK, REJOIN = KafkaCode.NONE, KafkaCode.REBALANCE_IN_PROGRESS


def test_every_request_has_an_answer_in_every_state() -> None:
    assert ANSWERS.keys() == set(Asked)
    assert all(row.keys() == set(GroupState) for row in ANSWERS.values())


def test_group_is_placed_by_javas_hash() -> None:
    assert shard_of("KafkaConsumerDemo", 50) == 35
    assert shard_of("polygenelubricants", 50) == 0  # its hash is the smallest int, of which Java has no abs


def test_limits_are_those_of_the_configuration() -> None:
    config = GroupCoordinatorConfig(
        coordinator_id=1, zookeeper_connect="zk:2181", group_max_size=7, offsets_retention_minutes=3
    )
    assert GroupLimits.of(config) == GroupLimits(max_size=7, offsets_retention_ms=180_000)


# ---- the leader's assignment cannot be stored


@pytest.mark.parametrize(
    ("appended", "told"),
    [
        (KafkaCode.UNKNOWN_TOPIC_OR_PARTITION, KafkaCode.COORDINATOR_NOT_AVAILABLE),
        (KafkaCode.NOT_ENOUGH_REPLICAS, KafkaCode.COORDINATOR_NOT_AVAILABLE),
        (KafkaCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, KafkaCode.COORDINATOR_NOT_AVAILABLE),
        (KafkaCode.NOT_LEADER_OR_FOLLOWER, KafkaCode.NOT_COORDINATOR),
        (KafkaCode.KAFKA_STORAGE_ERROR, KafkaCode.NOT_COORDINATOR),
        (KafkaCode.INVALID_PRODUCER_EPOCH, KafkaCode.NOT_COORDINATOR),
        (KafkaCode.REQUEST_TIMED_OUT, KafkaCode.REBALANCE_IN_PROGRESS),
        (KafkaCode.MESSAGE_TOO_LARGE, KafkaCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_assignment_that_cannot_be_appended_ends_the_generation(
    driver: GroupDriver, group: GroupScene, appended: KafkaCode, told: KafkaCode
) -> None:
    leader, follower = group.stable(2)
    rejoin_all([leader, follower])
    driver.commits_at_once = False
    asked = [follower.send_sync(), leader.send_sync({leader.id: b"lost"})]
    driver.fail_next(appended)
    assert [a.error for a in asked] == [told, told]
    assert (group.state(), follower.heartbeat()) == ("PreparingRebalance", REJOIN)
    assert [a.generation_id for a in rejoin_all([leader, follower])] == [4, 4]
    asked = [leader.send_sync({leader.id: b"kept"})]
    driver.commit_next()
    assert asked[0].answer.assignment == b"kept"


@pytest.mark.parametrize("fails", [True, False])
def test_assignment_that_a_rebalance_has_overtaken_changes_nothing(
    driver: GroupDriver, group: GroupScene, fails: bool
) -> None:
    leader, follower = group.stable(2)
    rejoin_all([leader, follower])
    driver.commits_at_once = False
    syncing = leader.send_sync({leader.id: b"old"})
    follower.leave()
    assert syncing.error is REJOIN
    assert leader.join().generation_id == 4
    if fails:
        driver.fail_next(KafkaCode.REQUEST_TIMED_OUT)
    else:
        driver.commit_next()
    assert (group.state(), leader.heartbeat()) == ("CompletingRebalance", OK)
    driver.commits_at_once = True
    assert leader.sync({leader.id: b"new"}).assignment == b"new"


# ---- loading and unloading


def test_members_keep_their_generation_when_the_shard_moves(driver: GroupDriver, group: GroupScene) -> None:
    members = group.stable(3, session_ms=10_000)
    members[1].commit({("t", 0): 5})
    driver.pass_time(9_000)
    driver.fail_over()
    driver.pass_time(9_999)
    assert [member.heartbeat() for member in members] == [OK] * 3
    assert [member.sync().assignment for member in members] == [b"share-0", b"share-1", b"share-2"]
    assert group.committed() == {("t", 0): 5}
    assert group.describe().protocol_data == "range"
    driver.pass_time(10_000)
    assert group.state() == "Empty"


def test_whoever_waits_is_sent_away_when_the_shard_moves(driver: GroupDriver, group: GroupScene) -> None:
    leader, follower = group.stable(2)
    joining = leader.join_later()
    other = GroupScene(driver, "other")
    first, second = other.stable(2)
    rejoin_all([first, second])
    syncing = second.send_sync()
    driver.fail_over()
    assert (joining.error, syncing.error) == (KafkaCode.NOT_COORDINATOR, KafkaCode.NOT_COORDINATOR)
    assert follower.heartbeat() is OK
    assert second.heartbeat() is KafkaCode.ILLEGAL_GENERATION


def test_writes_on_their_way_are_answered_after_the_shard_moved(driver: GroupDriver, group: GroupScene) -> None:
    driver.commits_at_once = False
    plain, transactional = group.commit_later({("t", 0): 1}), group.commit_in_transaction_later({("t", 1): 1})
    old = driver.shard
    driver.run(old.unload(driver.now_ms))
    assert old.next_deadline_ms() is None
    driver.commit_next()
    driver.fail_next(KafkaCode.NOT_COORDINATOR)
    assert plain.answer.topics[0].partitions[0].error_code == OK
    assert transactional.answer.topics[0].partitions[0].error_code == KafkaCode.NOT_COORDINATOR
    driver.shard = driver.loaded()
    assert group.committed() == {("t", 0): 1}


def test_group_that_is_too_large_now_rebalances_when_it_is_loaded() -> None:
    driver = GroupDriver()
    group = GroupScene(driver)
    members = group.stable(3)
    driver.limits = GroupLimits(initial_rebalance_delay_ms=0, max_size=2)
    driver.fail_over()
    assert [member.heartbeat() for member in members] == [REJOIN] * 3
    asked = [member.join_later() for member in members]
    assert [a.error for a in asked] == [OK, OK, KafkaCode.GROUP_MAX_SIZE_REACHED]


def test_counts_and_offsets_for_metrics(driver: GroupDriver, group: GroupScene) -> None:
    group.stable()
    GroupScene(driver, "simple").commit({("t", 3): 9})
    assert driver.shard.count_by_state() == {GroupState.STABLE: 1, GroupState.EMPTY: 1}
    ((group_id, partition, committed),) = driver.shard.committed_offsets()
    assert (group_id, partition, committed.offset, committed.commit_timestamp_ms) == ("simple", ("t", 3), 9, START_MS)


# ---- refusals


def test_every_request_can_be_refused_in_every_version(driver: GroupDriver) -> None:
    for kind in HANDLERS:
        for version in (v for v in range(20) if v in kind.api.versions):
            answer = refused(kind(), version, KafkaCode.NOT_COORDINATOR, driver.exists)
            assert type(answer) is kind.api.response
            answer.encode(version)


def test_loading_shard_keeps_members_going(driver: GroupDriver) -> None:
    assert getattr(while_loading(HeartbeatRequest(), 4, driver.exists), "error_code", None) == OK
    assert getattr(while_loading(SyncGroupRequest(), 5, driver.exists), "error_code", None) == REJOIN
    describing = while_loading(DescribeGroupsRequest(groups=["a"]), 5, driver.exists)
    assert "COORDINATOR_LOAD_IN_PROGRESS" in repr(describing)


def test_partition_that_does_not_exist_is_named_before_anything_else(driver: GroupDriver) -> None:
    partitions = [OffsetCommitRequestPartition(partition_index=index) for index in (0, 99)]
    request = OffsetCommitRequest(topics=[OffsetCommitRequestTopic(name="t", partitions=partitions)])
    answer = refused(request, 8, KafkaCode.NOT_COORDINATOR, driver.exists)
    assert isinstance(answer, OffsetCommitRequest.api.response)
    codes = [p.error_code for p in getattr(answer, "topics", [])[0].partitions]
    assert codes == [KafkaCode.NOT_COORDINATOR, KafkaCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_first_version_of_offset_fetch_has_its_error_at_each_partition(driver: GroupDriver) -> None:
    request = OffsetFetchRequest(topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1])])
    answer = refused(request, 1, KafkaCode.NOT_COORDINATOR, driver.exists)
    assert isinstance(answer, OffsetFetchResponse)
    assert [p.error_code for p in answer.topics[0].partitions] == [KafkaCode.NOT_COORDINATOR] * 2


# ---- several groups


def test_requests_are_split_by_shard_and_answers_put_together_in_order() -> None:
    names = [f"group-{i}" for i in range(20)]
    drivers = {shard: GroupDriver() for shard in range(5)}
    for name in names[::2]:
        GroupScene(drivers[shard_of(name, 5)], name).commit({("t", 0): 1})

    def ask(request: object, version: int) -> object:
        assert isinstance(request, DescribeGroupsRequest | DeleteGroupsRequest | OffsetFetchRequest)
        parts = split(request, version, 5)
        answers = [drivers[shard].send(part, version).answer for shard, part in parts.items()]
        return merge(request, version, answers)

    described = ask(DescribeGroupsRequest(groups=names), 5)
    assert [(g.group_id, g.group_state) for g in getattr(described, "groups", [])] == [
        (name, "Dead" if i % 2 else "Empty") for i, name in enumerate(names)
    ]
    asked = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in names]
    fetched = ask(OffsetFetchRequest(groups=asked), 9)
    assert [(g.group_id, len(g.topics)) for g in getattr(fetched, "groups", [])] == [
        (name, 1 - i % 2) for i, name in enumerate(names)
    ]
    lists = [driver.send(ListGroupsRequest(), 5).answer for driver in drivers.values()]
    listed = merge(ListGroupsRequest(), 5, lists)
    assert {g.group_id for g in getattr(listed, "groups", [])} == set(names[::2])
    deleted = ask(DeleteGroupsRequest(groups_names=[*names, names[0]]), 2)
    assert [(r.group_id, r.error_code) for r in getattr(deleted, "results", [])] == [
        (name, KafkaCode.GROUP_ID_NOT_FOUND if i % 2 else OK) for i, name in enumerate(names)
    ]


def test_request_about_one_group_goes_to_its_shard_whole() -> None:
    request = HeartbeatRequest(group_id="KafkaConsumerDemo")
    assert split(request, 4, 50) == {35: request}
    old_fetch = OffsetFetchRequest(group_id="KafkaConsumerDemo")
    assert split(old_fetch, 7, 50) == {35: old_fetch}
    assert merge(OffsetFetchRequest(), 8, []) == OffsetFetchResponse()
