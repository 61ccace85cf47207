"""What the coordinator writes to __consumer_offsets, byte by byte, and what it can read of others."""

import struct

import pytest

from tests.support.group_driver import ANY, START_MS, GroupDriver, GroupScene
from tidelog.group_coordinator.core.groups import formats
from tidelog.group_coordinator.core.groups.formats import GroupValue
from tidelog.group_coordinator.core.records import CoordinatorRecord
from tidelog.kafka.wire.messages.delete_groups import DeleteGroupsRequest
from tidelog.kafka.wire.messages.offset_commit import OffsetCommitRequest
from tidelog.kafka.wire.primitives import MalformedMessage


def text(value: str | None) -> bytes:
    return b"\xff\xff" if value is None else struct.pack(">h", len(value.encode())) + value.encode()


def blob(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


def offset_key(topic: str, partition: int, version: int = 1) -> bytes:
    return struct.pack(">h", version) + text("group") + text(topic) + struct.pack(">i", partition)


GROUP_KEY = struct.pack(">h", 2) + text("group")


def decoded(record: CoordinatorRecord) -> GroupValue:
    assert record.value is not None
    return formats.decode_group_value(record.value)


def test_commit_writes_key_version_1_and_value_version_3(driver: GroupDriver, group: GroupScene) -> None:
    group.commit({("t", 1): (258, "note", 7)})
    value = struct.pack(">hqi", 3, 258, 7) + text("note") + struct.pack(">q", START_MS)
    assert driver.records() == [CoordinatorRecord(offset_key("t", 1), value)]


def test_commit_with_a_retention_time_writes_value_version_1(driver: GroupDriver, group: GroupScene) -> None:
    group.commit({("t", 0): (258, "note")}, 3, retention_time_ms=1_000)
    value = struct.pack(">hq", 1, 258) + text("note") + struct.pack(">qq", START_MS, START_MS + 1_000)
    assert [record.value for record in driver.records()] == [value]


def test_group_record_is_written_when_the_leader_syncs(driver: GroupDriver, group: GroupScene) -> None:
    member = group.member(client_id="c", session_ms=12_345, rebalance_ms=23_456)
    member.join()
    assert driver.records() == []
    member.sync({member.id: b"share"})
    head = struct.pack(">h", 3) + text("consumer") + struct.pack(">i", 1) + text("range") + text(member.id)
    fields = text(member.id) + text(None) + text("c") + text("/127.0.0.1") + struct.pack(">ii", 23_456, 12_345)
    value = head + struct.pack(">qi", START_MS, 1) + fields + blob(ANY) + blob(b"share")
    assert driver.records() == [CoordinatorRecord(GROUP_KEY, value)]


def test_member_that_joined_with_version_0_has_its_session_timeout_as_rebalance_timeout(
    driver: GroupDriver, group: GroupScene
) -> None:
    member = group.member(session_ms=12_345)
    member.join(0)
    member.sync({}, 0)
    (written,) = decoded(driver.records()[0]).members
    assert (written.session_timeout, written.rebalance_timeout) == (12_345, 12_345)


def test_each_generation_writes_the_whole_group_again(driver: GroupDriver, group: GroupScene) -> None:
    members = group.stable(3)
    values = [decoded(record) for record in driver.records()]
    assert [(value.generation, len(value.members)) for value in values] == [(1, 1), (2, 2), (3, 3)]
    assert [(m.member_id, m.assignment) for m in values[-1].members] == [
        (member.id, b"share-%d" % i) for i, member in enumerate(members)
    ]


def test_group_that_became_empty_is_written_without_leader_and_protocol(driver: GroupDriver, group: GroupScene) -> None:
    group.stable()[0].leave()
    value = struct.pack(">h", 3) + text("consumer") + struct.pack(">i", 2) + text(None) * 2
    assert driver.records()[-1] == CoordinatorRecord(GROUP_KEY, value + struct.pack(">qi", START_MS, 0))


def test_restarted_static_member_is_written_under_its_new_id(driver: GroupDriver, group: GroupScene) -> None:
    group.grow([], [group.member(instance="i-1")])
    new = group.member(instance="i-1")
    new.join()
    value = decoded(driver.records()[-1])
    assert (value.generation, value.leader) == (1, new.id)
    assert [(m.member_id, m.group_instance_id, m.assignment) for m in value.members] == [(new.id, "i-1", b"share-0")]


def test_deleting_a_group_writes_tombstones_for_its_offsets_and_itself(driver: GroupDriver, group: GroupScene) -> None:
    (member,) = group.stable()
    member.commit({("t", 0): 1, ("t", 1): 2})
    member.leave()
    before = len(driver.records())
    driver.call(DeleteGroupsRequest(groups_names=["group"]), 2)
    assert driver.records()[before:] == [
        CoordinatorRecord(offset_key("t", 0), None),
        CoordinatorRecord(offset_key("t", 1), None),
        CoordinatorRecord(GROUP_KEY, None),
    ]


def test_deleting_a_simple_consumers_group_writes_only_its_offsets_tombstones(
    driver: GroupDriver, group: GroupScene
) -> None:
    group.commit({("t", 0): 1})
    driver.call(DeleteGroupsRequest(groups_names=["group"]), 2)
    assert driver.records()[1:] == [CoordinatorRecord(offset_key("t", 0), None)]


@pytest.mark.parametrize(
    ("value", "epoch"),
    [
        (struct.pack(">hq", 0, 42) + text("m") + struct.pack(">q", 5), -1),
        (struct.pack(">hq", 1, 42) + text("m") + struct.pack(">qq", 5, 6), -1),
        (struct.pack(">hq", 2, 42) + text("m") + struct.pack(">q", 5), -1),
        (struct.pack(">hqi", 3, 42, 9) + text("m") + struct.pack(">q", 5), 9),
        (struct.pack(">hqi", 4, 42, 9) + b"\x02m" + struct.pack(">q", 5) + b"\0", 9),
    ],
)
@pytest.mark.parametrize("key_version", [0, 1])
def test_every_version_of_an_offset_is_read(
    driver: GroupDriver, group: GroupScene, key_version: int, value: bytes, epoch: int
) -> None:
    driver.log = [(CoordinatorRecord(offset_key("t", 0, key_version), value), None)]
    driver.fail_over()
    found = group.fetch()["t", 0]
    assert (found.committed_offset, found.metadata, found.committed_leader_epoch) == (42, "m", epoch)


@pytest.mark.parametrize("version", range(4))
def test_every_version_of_a_group_is_read(driver: GroupDriver, group: GroupScene, version: int) -> None:
    value = struct.pack(">h", version) + text("consumer") + struct.pack(">i", 8) + text("range") + text("m-1")
    value += struct.pack(">q", 5) if version >= 2 else b""
    value += struct.pack(">i", 1) + text("m-1") + (text("i-1") if version >= 3 else b"") + text("c") + text("/h")
    value += struct.pack(">i", 20_000) if version >= 1 else b""
    value += struct.pack(">i", 10_000) + blob(ANY) + blob(b"mine")
    driver.log = [(CoordinatorRecord(GROUP_KEY, value), None)]
    driver.fail_over()
    member = group.member(instance="i-1" if version >= 3 else None)
    member.id, member.generation, member.protocol = "m-1", 8, "range"
    assert (group.state(), member.sync().assignment) == ("Stable", b"mine")
    joining = member.join_later()
    assert joining.answer.generation_id == 9


def test_keys_of_later_versions_are_ignored_and_broken_records_are_not(driver: GroupDriver) -> None:
    driver.log = [(CoordinatorRecord(struct.pack(">h", 5) + b"anything", b"\0\0"), None)]
    driver.fail_over()
    for record in (
        CoordinatorRecord(b"\0", b""),
        CoordinatorRecord(GROUP_KEY, struct.pack(">h", 9)),
        CoordinatorRecord(GROUP_KEY, struct.pack(">h", 3)),
        CoordinatorRecord(offset_key("t", 0), b""),
    ):
        driver.log = [(record, None)]
        with pytest.raises(MalformedMessage):
            driver.loaded()


def test_commit_time_that_a_client_names_in_version_1_is_kept(driver: GroupDriver, group: GroupScene) -> None:
    asked = group.commit_later({("t", 0): 1}, 1)
    request = driver.asked[asked.token]
    assert isinstance(request, OffsetCommitRequest)
    request.topics[0].partitions[0].commit_timestamp = 77
    driver.send(request, 1)
    stamps = [record.value[-8:] for record in driver.records() if record.value is not None]
    assert [struct.unpack(">q", stamp)[0] for stamp in stamps] == [START_MS, 77]
