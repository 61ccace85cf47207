"""What no proper client would send, over the raw wire: the right code, no more memory, and other groups do not notice."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import psutil
import pytest

from tests.support.cluster_view import zookeeper_at
from tests.support.coordinated import (
    COMMIT,
    HEARTBEAT,
    JOIN,
    PARTITIONS,
    SYNC,
    Coordinated,
    Member,
    committed,
    subscription,
)
from tests.support.services import Services
from tests.support.waiting import eventually
from tests.support.wire_client import WireClient
from tests.support.zookeeper import EmbeddedZookeeper
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.headers import encode_request, response_body_at
from tidelog.kafka.wire.messages.heartbeat import HeartbeatRequest
from tidelog.kafka.wire.messages.join_group import (
    JOIN_GROUP,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from tidelog.kafka.wire.messages.leave_group import LeaveGroupRequest, LeavingMember
from tidelog.kafka.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.kafka.wire.messages.sync_group import SyncGroupRequest

GROWTH_BYTES_MAX = 64 * 1024 * 1024
METADATA_MAX = 4_096
FAKES = 100_000
# How many of them are under way at once.
WINDOW = 2_000

_names = itertools.count()


@pytest.fixture(scope="module")
def cluster(zookeeper: EmbeddedZookeeper, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Coordinated]:
    """One process of each kind, for all tests here. A group may have one member."""
    services = Services(f"{zookeeper.connect}/bad-input", tmp_path_factory.mktemp("bad-input"))
    partitions = {"offsets_topic_num_partitions": str(PARTITIONS)}
    services.start("controller", 0)
    brokers = {1: services.start("broker", 1, offsets_topic_replication_factor="1", **partitions)}
    limits = {"group_max_size": "1", "group_initial_rebalance_delay_ms": "0"}
    coordinators = {7: services.start("group-coordinator", 7, **partitions, **limits)}
    with zookeeper_at(services.zookeeper) as zk:
        for service in services.all:
            service.wait_ready()
        started = Coordinated(brokers, coordinators, zk)
        started.create("t", replicas=1)
        yield started
    services.end()


@pytest.fixture(autouse=True)
def unharmed(cluster: Coordinated) -> Iterator[None]:
    """A group that was there before goes on, and neither process has grown."""
    other = settled(cluster, name())
    processes = [psutil.Process(each.process.pid) for each in (cluster.brokers[1], cluster.coordinators[7])]
    before = [process.memory_info().rss for process in processes]
    yield
    assert other.heartbeat() is KafkaCode.NONE
    assert other.commit("t", 5) is KafkaCode.NONE
    assert committed(cluster, other.group, "t") == 5
    for process, rss in zip(processes, before, strict=True):
        eventually(lambda process=process, rss=rss: process.memory_info().rss - rss < GROWTH_BYTES_MAX)  # type: ignore[misc]


@pytest.fixture
def client(cluster: Coordinated) -> Iterator[WireClient]:
    with WireClient(cluster.brokers[1]) as connected:
        yield connected


@pytest.fixture
def member(cluster: Coordinated) -> Member:
    """The only member of a group."""
    return settled(cluster, name())


def name() -> str:
    return f"group-{next(_names)}"


def settled(cluster: Coordinated, group: str) -> Member:
    # Nobody sends heartbeats for it during a flood, however long that takes.
    member = Member(cluster, group, session_timeout_ms=600_000)
    member.join()
    member.sync({member.member_id: b"everything"})
    return member


def join_request(group: str, **fields: Any) -> JoinGroupRequest:
    wanted: dict[str, Any] = {
        "session_timeout_ms": 30_000,
        "rebalance_timeout_ms": 30_000,
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": [JoinGroupRequestProtocol(name="range", metadata=subscription("t"))],
    }
    return JoinGroupRequest(group_id=group, **{**wanted, **fields})


def commit_request(member: Member, **fields: Any) -> OffsetCommitRequest:
    partition = OffsetCommitRequestPartition(
        partition_index=fields.pop("partition", 0),
        committed_offset=1,
        committed_metadata=fields.pop("metadata", ""),
    )
    told = {"generation_id_or_member_epoch": member.generation_id, "member_id": member.member_id, **fields}
    topics = [OffsetCommitRequestTopic(name="t", partitions=[partition])]
    return OffsetCommitRequest(group_id=member.group, topics=topics, **told)


def commit(client: WireClient, member: Member, **fields: Any) -> int:
    return client.call(commit_request(member, **fields), COMMIT).topics[0].partitions[0].error_code


# ---- commits


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"metadata": "x" * (METADATA_MAX + 1)}, KafkaCode.OFFSET_METADATA_TOO_LARGE),
        ({"metadata": "x" * 10_000_000}, KafkaCode.OFFSET_METADATA_TOO_LARGE),
        ({"member_id": "nobody"}, KafkaCode.UNKNOWN_MEMBER_ID),
        ({"generation_id_or_member_epoch": 0}, KafkaCode.ILLEGAL_GENERATION),
        ({"generation_id_or_member_epoch": 2**31 - 1}, KafkaCode.ILLEGAL_GENERATION),
        ({"generation_id_or_member_epoch": -1, "member_id": ""}, KafkaCode.UNKNOWN_MEMBER_ID),
        ({"group_instance_id": "nobody"}, KafkaCode.UNKNOWN_MEMBER_ID),
        ({"partition": 2**31 - 1}, KafkaCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"partition": -1}, KafkaCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_commits_that_are_refused(
    client: WireClient, member: Member, fields: Mapping[str, Any], code: KafkaCode
) -> None:
    assert commit(client, member, **fields) == code
    assert commit(client, member, metadata="x" * METADATA_MAX) == KafkaCode.NONE
    assert member.heartbeat() is KafkaCode.NONE


def test_many_commits_with_too_much_metadata(client: WireClient, member: Member) -> None:
    for _ in range(100):
        assert commit(client, member, metadata="x" * 1_000_000) == KafkaCode.OFFSET_METADATA_TOO_LARGE


# ---- members


@pytest.mark.parametrize("session_timeout_ms", [-(2**31), -1, 0, 1, 5_999, 1_800_001, 2**31 - 1])
def test_absurd_session_timeouts(client: WireClient, session_timeout_ms: int) -> None:
    answer = client.call(join_request(name(), session_timeout_ms=session_timeout_ms), JOIN)
    assert answer.error_code == KafkaCode.INVALID_SESSION_TIMEOUT


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"protocols": []}, KafkaCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": ""}, KafkaCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"member_id": "nobody"}, KafkaCode.UNKNOWN_MEMBER_ID),
        ({"group_id": ""}, KafkaCode.INVALID_GROUP_ID),
        ({"group_id": "g" * 40_000}, KafkaCode.INVALID_GROUP_ID),
        ({"protocol_type": "p" * 40_000}, KafkaCode.INVALID_REQUEST),
    ],
)
def test_joins_that_are_refused(client: WireClient, fields: dict[str, Any], code: KafkaCode) -> None:
    group = fields.pop("group_id", None)
    assert client.call(join_request(name() if group is None else group, **fields), JOIN).error_code == code


def test_requests_of_members_that_are_not_there_and_of_other_generations(client: WireClient, member: Member) -> None:
    for member_id, generation_id, code in (
        ("nobody", member.generation_id, KafkaCode.UNKNOWN_MEMBER_ID),
        (member.member_id, member.generation_id + 1, KafkaCode.ILLEGAL_GENERATION),
        (member.member_id, -5, KafkaCode.ILLEGAL_GENERATION),
    ):
        told: dict[str, Any] = {"group_id": member.group, "member_id": member_id, "generation_id": generation_id}
        assert client.call(HeartbeatRequest(**told), HEARTBEAT).error_code == code
        sync = SyncGroupRequest(**told, protocol_type="consumer", protocol_name="range")
        assert client.call(sync, SYNC).error_code == code
    leave = LeaveGroupRequest(group_id=member.group, members=[LeavingMember(member_id="nobody")])
    assert client.call(leave, 5).members[0].error_code == KafkaCode.UNKNOWN_MEMBER_ID
    assert member.heartbeat() is KafkaCode.NONE


@pytest.mark.parametrize(
    "metadata",
    [b"", b"\x00", b"\xff" * 100, b"\x00\x00\x7f\xff\xff\xff", b"\x00\x01\x00\x00\x00\x01\xff\xff", b"x" * 500_000],
)
def test_garbage_for_a_subscription_is_the_groups_own_business(
    cluster: Coordinated, client: WireClient, metadata: bytes
) -> None:
    group = name()
    protocols = [JoinGroupRequestProtocol(name="range", metadata=metadata)]
    first = client.call(join_request(group, protocols=protocols), JOIN)
    answer = client.call(join_request(group, protocols=protocols, member_id=first.member_id), JOIN)
    assert (answer.error_code, answer.members[0].metadata) == (KafkaCode.NONE, metadata)
    joined = Member(cluster, group)
    joined.member_id, joined.generation_id = answer.member_id, answer.generation_id
    assert joined.sync({joined.member_id: b"\xff\xff"}) == b"\xff\xff"
    assert joined.commit("t", 3) is KafkaCode.NONE


# ---- crowds


def test_a_full_group_turns_a_hundred_thousand_members_away(client: WireClient, member: Member) -> None:
    assert _codes_of_fakes(client, member.group) == {KafkaCode.GROUP_MAX_SIZE_REACHED: FAKES}
    assert member.heartbeat() is KafkaCode.NONE


def test_a_hundred_thousand_members_that_never_come_back_with_their_ids(
    cluster: Coordinated, client: WireClient
) -> None:
    """Ids are given to all of them and only the newest are remembered, however many members a group may have."""
    group = name()
    assert _codes_of_fakes(client, group) == {KafkaCode.MEMBER_ID_REQUIRED: FAKES}
    assert settled(cluster, group).heartbeat() is KafkaCode.NONE


def _codes_of_fakes(client: WireClient, group: str) -> dict[KafkaCode, int]:
    """So many join a group for the first time, and what became of them."""
    codes: dict[KafkaCode, int] = {}
    request = join_request(group)
    for first in range(0, FAKES, WINDOW):
        frames = (encode_request(request, JOIN, first + number, "fake") for number in range(WINDOW))
        client.send_raw(b"".join(frames))
        for _ in range(WINDOW):
            frame = client.receive()
            answer = JoinGroupResponse.decode(JOIN, frame, response_body_at(frame, JOIN_GROUP, JOIN))
            code = KafkaCode(answer.error_code)
            codes[code] = codes.get(code, 0) + 1
    return codes
