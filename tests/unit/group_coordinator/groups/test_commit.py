"""OffsetCommit, OffsetFetch and OffsetDelete: who may commit, what is kept, what is told."""

import pytest

from tests.support.group_driver import GroupDriver, GroupScene, rejoin_all, subscription
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tidelog.kafka.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

OK, UNKNOWN, STALE = KafkaCode.NONE, KafkaCode.UNKNOWN_MEMBER_ID, KafkaCode.ILLEGAL_GENERATION
TP = ("t", 0)


@pytest.mark.parametrize("version", range(1, 10))
def test_simple_consumer_commits_without_a_group(group: GroupScene, version: int) -> None:
    assert group.commit({TP: (42, "note", 3)}, version) == {TP: OK}
    found = group.fetch([TP])[TP]
    assert (found.committed_offset, found.metadata, found.error_code) == (42, "note", OK)
    assert found.committed_leader_epoch == (3 if version >= 6 else -1)
    assert group.state() == "Empty"


def test_last_commit_wins_also_when_it_goes_back(group: GroupScene) -> None:
    for offset in (10, 20, 5, 0):
        group.commit({TP: offset})
    assert group.committed() == {TP: 0}


def test_null_metadata_is_kept_as_an_empty_string(group: GroupScene) -> None:
    group.commit({TP: (7, None)})
    assert group.fetch()[TP].metadata == ""


def test_partitions_are_refused_one_by_one(driver: GroupDriver, group: GroupScene) -> None:
    errors = group.commit({("t", 0): (1, "x" * 4096), ("t", 1): (2, "x" * 4097), ("t", 99): 3})
    assert errors == {
        ("t", 0): OK,
        ("t", 1): KafkaCode.OFFSET_METADATA_TOO_LARGE,
        ("t", 99): KafkaCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert group.committed() == {("t", 0): 1}
    before = len(driver.log)
    assert group.commit({("t", 99): 3}) == {("t", 99): KafkaCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert len(driver.log) == before


def test_empty_group_id_may_commit_as_a_simple_consumer(driver: GroupDriver) -> None:
    nameless = GroupScene(driver, "")
    assert nameless.commit({TP: 9}) == {TP: OK}
    assert nameless.committed() == {TP: 9}


def test_commit_is_seen_when_it_is_committed_and_not_before(driver: GroupDriver, group: GroupScene) -> None:
    driver.commits_at_once = False
    asked = group.commit_later({TP: 1})
    assert (asked.is_waiting, group.committed([TP])) == (True, {TP: -1})
    driver.commit_next()
    assert (asked.is_waiting, group.committed([TP])) == (False, {TP: 1})


def test_one_commit_is_one_batch(driver: GroupDriver, group: GroupScene) -> None:
    driver.commits_at_once = False
    group.commit_later({("t", p): p for p in range(5)})
    (write,) = driver.writes
    assert (len(write.records), write.producer) == (5, None)


# ---- fencing


def test_who_may_commit_to_a_stable_group(group: GroupScene) -> None:
    (member,) = group.stable()
    assert member.commit({TP: 1}) == {TP: OK}
    for generation in (-1, 0, 2):
        assert member.commit({TP: 9}, generation_id_or_member_epoch=generation) == {TP: STALE}
    assert member.commit({TP: 9}, member_id="nobody", generation_id_or_member_epoch=99) == {TP: UNKNOWN}
    assert group.commit({TP: 9}) == {TP: UNKNOWN}
    assert group.committed() == {TP: 1}


def test_who_may_commit_to_a_group_without_members(group: GroupScene) -> None:
    assert group.commit({TP: 1}, generation_id_or_member_epoch=1, member_id="m") == {TP: STALE}
    assert group.state() == "Dead"
    (member,) = group.stable()
    member.leave()
    assert member.commit({TP: 1}) == {TP: UNKNOWN}
    assert group.commit({TP: 1}) == {TP: OK}


def test_commit_during_a_rebalance(group: GroupScene) -> None:
    leader, follower = group.stable(2)
    leader.join_later()
    assert follower.commit({TP: 8}) == {TP: OK}  # preparing: what it has read until now
    follower.join()
    assert follower.commit({TP: 9}) == {TP: KafkaCode.REBALANCE_IN_PROGRESS}
    leader.sync({})
    assert follower.commit({TP: 9}, generation_id_or_member_epoch=2) == {TP: STALE}
    assert follower.commit({TP: 9}) == {TP: OK}
    rejoin_all([leader, follower])
    assert group.committed() == {TP: 9}


@pytest.mark.parametrize(
    ("appended", "told"),
    [
        (KafkaCode.UNKNOWN_TOPIC_OR_PARTITION, KafkaCode.COORDINATOR_NOT_AVAILABLE),
        (KafkaCode.NOT_ENOUGH_REPLICAS, KafkaCode.COORDINATOR_NOT_AVAILABLE),
        (KafkaCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, KafkaCode.COORDINATOR_NOT_AVAILABLE),
        (KafkaCode.NOT_LEADER_OR_FOLLOWER, KafkaCode.NOT_COORDINATOR),
        (KafkaCode.KAFKA_STORAGE_ERROR, KafkaCode.NOT_COORDINATOR),
        (KafkaCode.INVALID_PRODUCER_EPOCH, KafkaCode.NOT_COORDINATOR),
        (KafkaCode.MESSAGE_TOO_LARGE, KafkaCode.INVALID_COMMIT_OFFSET_SIZE),
        (KafkaCode.NETWORK_EXCEPTION, KafkaCode.COORDINATOR_LOAD_IN_PROGRESS),
    ],
)
def test_commit_that_cannot_be_appended(
    driver: GroupDriver, group: GroupScene, appended: KafkaCode, told: KafkaCode
) -> None:
    driver.commits_at_once = False
    asked = group.commit_later({("t", 0): 1, ("t", 99): 1})
    driver.fail_next(appended)
    codes = [p.error_code for topic in asked.answer.topics for p in topic.partitions]
    assert codes == [told, KafkaCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert (group.state(), group.committed()) == ("Dead", {})


# ---- OffsetFetch


def test_partition_without_a_commit_has_offset_minus_1_and_no_error(group: GroupScene) -> None:
    assert group.committed([TP]) == {TP: -1}
    assert group.state() == "Dead"
    group.commit({TP: 5})
    found = group.fetch([TP, ("t", 1), ("never-was", 3)])
    assert {
        tp: (p.committed_offset, p.metadata, p.error_code, p.committed_leader_epoch) for tp, p in found.items()
    } == {
        TP: (5, "", OK, -1),
        ("t", 1): (-1, "", OK, -1),
        ("never-was", 3): (-1, "", OK, -1),
    }
    assert (group.committed(None), group.committed([])) == ({TP: 5}, {})


def test_many_groups_in_one_fetch(driver: GroupDriver, group: GroupScene) -> None:
    group.commit({("a", 1): 11, ("a", 2): 12, ("b", 0): 13})
    asked = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in ("group", "never-was")]
    ours, unknown = driver.call(OffsetFetchRequest(groups=asked), 9).groups
    assert [(t.name, [(p.partition_index, p.committed_offset) for p in t.partitions]) for t in ours.topics] == [
        ("a", [(1, 11), (2, 12)]),
        ("b", [(0, 13)]),
    ]
    assert (unknown.group_id, unknown.error_code, unknown.topics) == ("never-was", OK, [])


def test_offsets_outlive_the_members(group: GroupScene) -> None:
    (member,) = group.stable()
    member.commit({TP: 4})
    member.leave()
    assert group.committed() == {TP: 4}
    group.stable()
    assert group.committed() == {TP: 4}


# ---- OffsetDelete


def delete(driver: GroupDriver, *partitions: tuple[str, int]) -> tuple[int, dict[tuple[str, int], int]]:
    topics = [
        OffsetDeleteRequestTopic(name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=number)])
        for topic, number in partitions
    ]
    answer = driver.call(OffsetDeleteRequest(group_id="group", topics=topics), 0)
    errors = {(topic.name, p.partition_index): p.error_code for topic in answer.topics for p in topic.partitions}
    return answer.error_code, errors


def test_offsets_of_an_empty_group_are_deleted(driver: GroupDriver, group: GroupScene) -> None:
    assert delete(driver, TP)[0] == KafkaCode.GROUP_ID_NOT_FOUND
    group.commit({("a", 0): 1, ("b", 0): 2})
    assert delete(driver, ("a", 0), ("b", 1), ("c", 99)) == (
        OK,
        {("a", 0): OK, ("b", 1): OK, ("c", 99): KafkaCode.UNKNOWN_TOPIC_OR_PARTITION},
    )
    assert group.committed() == {("b", 0): 2}


def test_offsets_of_a_subscribed_topic_are_not_deleted(driver: GroupDriver, group: GroupScene) -> None:
    (member,) = group.stable(protocols=(("range", subscription("in-use")),))
    member.commit({("in-use", 0): 1, ("other", 0): 2})
    assert delete(driver, ("in-use", 0), ("other", 0)) == (
        OK,
        {("in-use", 0): KafkaCode.GROUP_SUBSCRIBED_TO_TOPIC, ("other", 0): OK},
    )
    assert group.committed() == {("in-use", 0): 1}


def test_every_topic_counts_as_subscribed_if_the_subscription_cannot_be_read(
    driver: GroupDriver, group: GroupScene
) -> None:
    (member,) = group.stable(protocols=(("range", b"garbage"),))
    member.commit({TP: 1})
    assert delete(driver, TP) == (OK, {TP: KafkaCode.GROUP_SUBSCRIBED_TO_TOPIC})
    member.leave()
    assert delete(driver, TP) == (OK, {TP: OK})


def test_group_of_another_protocol_type_with_members_is_not_touched(driver: GroupDriver, group: GroupScene) -> None:
    (member,) = group.stable(protocol_type="connect", protocols=(("default", b"opaque"),))
    member.commit({TP: 1})
    assert delete(driver, TP)[0] == KafkaCode.NON_EMPTY_GROUP
    assert group.committed() == {TP: 1}


def test_deleting_a_topic_removes_its_offsets(driver: GroupDriver, group: GroupScene) -> None:
    group.commit({("gone", 0): 1, ("stays", 0): 2})
    driver.run(driver.shard.on_topics_deleted({"gone"}, driver.now_ms))
    assert group.committed() == {("stays", 0): 2}
    driver.fail_over()
    assert group.committed() == {("stays", 0): 2}
