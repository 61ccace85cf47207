"""The key of a request is found in its frame in every version."""

from typing import Any

import pytest

from tidelog.kafka.coordination.keys import first_key, only_group, second_key, shard_of_key
from tidelog.kafka.coordination.sharding import shard_of
from tidelog.kafka.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from tidelog.kafka.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from tidelog.kafka.wire.messages.end_txn import EndTxnRequest
from tidelog.kafka.wire.messages.heartbeat import HeartbeatRequest
from tidelog.kafka.wire.messages.join_group import JoinGroupRequest
from tidelog.kafka.wire.messages.leave_group import LeaveGroupRequest
from tidelog.kafka.wire.messages.offset_commit import OffsetCommitRequest
from tidelog.kafka.wire.messages.offset_delete import OffsetDeleteRequest
from tidelog.kafka.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tidelog.kafka.wire.messages.sync_group import SyncGroupRequest
from tidelog.kafka.wire.messages.txn_offset_commit import TxnOffsetCommitRequest
from tidelog.kafka.wire.primitives import MalformedMessage
from tidelog.kafka.wire.schema import Request

KEYS = ["", "group-1", "schlüssel-\U0001f511", "g" * 200]
OF_GROUPS: list[type[Request[Any]]] = [
    JoinGroupRequest,
    SyncGroupRequest,
    HeartbeatRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
]
OF_TRANSACTIONS: list[type[Request[Any]]] = [AddPartitionsToTxnRequest, AddOffsetsToTxnRequest, EndTxnRequest]
NEWEST: dict[type[Request[Any]], int] = {AddPartitionsToTxnRequest: 3}


def body(request: Request[Any], version: int) -> tuple[memoryview, int, bool]:
    """A frame, where the body starts in it, and whether the version is flexible."""
    return memoryview(b"front" + request.encode(version)), 5, version in request.api.flexible


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("kind", [*OF_GROUPS, *OF_TRANSACTIONS])
def test_the_first_field(kind: type[Request[Any]], key: str) -> None:
    name = "group_id" if kind in OF_GROUPS else "transactional_id"
    for version in range(kind.api.versions.low, NEWEST.get(kind, kind.api.versions.high) + 1):
        frame, at, flexible = body(kind(**{name: key}), version)
        assert first_key(frame, at, flexible=flexible) == key.encode()


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("version", range(5))
def test_the_group_of_a_transactional_commit_is_the_second(key: str, version: int) -> None:
    frame, at, flexible = body(TxnOffsetCommitRequest(transactional_id="t", group_id=key), version)
    assert second_key(frame, at, flexible=flexible) == key.encode()


@pytest.mark.parametrize("version", [8, 9])
def test_offsets_of_one_group_and_of_several(version: int) -> None:
    def fetched(*names: str) -> bytes | None:
        groups = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in names]
        frame, at, _ = body(OffsetFetchRequest(groups=groups), version)
        return only_group(frame, at)

    assert (fetched("one"), fetched("one", "two"), fetched()) == (b"one", None, None)


@pytest.mark.parametrize(
    ("data", "flexible"),
    [
        (b"", True),
        (b"\0", True),
        (b"\5ab", True),
        (b"", False),
        (b"\0", False),
        (b"\xff\xff", False),
        (b"\0\5ab", False),
    ],
)
def test_a_key_that_is_null_or_cut_off_is_malformed(data: bytes, *, flexible: bool) -> None:
    with pytest.raises(MalformedMessage):
        first_key(memoryview(data), 0, flexible=flexible)


def test_no_groups_at_all_are_malformed() -> None:
    with pytest.raises(MalformedMessage):
        only_group(memoryview(b""), 0)


@pytest.mark.parametrize("key", KEYS)
def test_a_key_on_the_wire_is_in_the_shard_of_its_name(key: str) -> None:
    assert shard_of_key(key.encode(), 50) == shard_of(key, 50)


def test_bad_utf8_is_read_as_decoders_read_it() -> None:
    assert shard_of_key(b"a\xff", 50) == shard_of("a�", 50)
