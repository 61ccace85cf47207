"""The hand-written Fetch codec says and reads exactly what the schema does, in every version that is served."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

import pytest

from tidelog.broker.core.fetch_session import FetchedPartition
from tidelog.broker.wire.hot_fetch_answer import FetchAnswer, PartitionAnswer, encode_fetched
from tidelog.broker.wire.hot_fetch_request import read_fetch
from tidelog.kafka.wire.headers import encode_response
from tidelog.kafka.wire.messages.current_leader import LeaderIdAndEpoch, NodeEndpoint
from tidelog.kafka.wire.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)
from tidelog.kafka.wire.primitives import MalformedMessage
from tidelog.net.outbox import FileRange, Part

VERSIONS = range(4, 17)
BEFORE = b"header"
IDS = {"one": UUID(int=1 << 100), "two": UUID(int=7), "n" * 200: UUID(int=2**128 - 1)}


def topic_bytes(name: str, version: int) -> bytes:
    return IDS[name].bytes if version >= 13 else name.encode()


def partition(index: int) -> FetchPartition:
    return FetchPartition(
        partition=index,
        current_leader_epoch=index + 1,
        fetch_offset=2**40 + index,
        last_fetched_epoch=index + 2,
        log_start_offset=index + 3,
        partition_max_bytes=1000 + index,
    )


def topic(name: str, *indexes: int) -> FetchTopic:
    return FetchTopic(topic=name, topic_id=IDS[name], partitions=[partition(index) for index in indexes])


REQUESTS = {
    "nothing": FetchRequest(max_wait_ms=5, min_bytes=1),
    "one": FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=50, isolation_level=1, topics=[topic("one", 0)]),
    "several": FetchRequest(topics=[topic("one", *range(150)), topic("two", 3), topic("n" * 200)]),
    "session": FetchRequest(
        session_id=2**31 - 1,
        session_epoch=9,
        topics=[topic("two", 1)],
        forgotten_topics_data=[ForgottenTopic(topic="one", topic_id=IDS["one"], partitions=[4, 5, 6])],
        rack_id="a rack",
    ),
    "follower": FetchRequest(
        replica_id=3,
        replica_state=ReplicaState(replica_id=3, replica_epoch=8),
        cluster_id="cluster",
        topics=[topic("one", 0)],
    ),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("asked", REQUESTS.values(), ids=REQUESTS)
def test_requests_are_read_as_the_schema_writes_them(asked: FetchRequest, version: int) -> None:
    read = read_fetch(memoryview(BEFORE + asked.encode(version)), len(BEFORE), version)
    again = FetchRequest.decode(version, asked.encode(version))
    replica_id = again.replica_state.replica_id if again.replica_state else again.replica_id
    assert read[:5] == (replica_id, again.max_wait_ms, again.min_bytes, again.max_bytes, again.isolation_level)
    assert (read.session_id, read.session_epoch, read.rack_id) == (again.session_id, again.session_epoch, again.rack_id)
    assert [fields_of(partition) for partition in read.partitions] == [
        (
            (topic_bytes(named.topic, version), p.partition),
            p.fetch_offset,
            p.partition_max_bytes,
            p.current_leader_epoch,
            p.last_fetched_epoch,
            p.log_start_offset,
        )
        for named, topic in zip(asked.topics, again.topics, strict=True)
        for p in topic.partitions
    ]
    assert read.forgotten == [
        (topic_bytes(named.topic, version), index)
        for named, topic in zip(asked.forgotten_topics_data, again.forgotten_topics_data, strict=False)
        for index in topic.partitions
    ]


def fields_of(partition: FetchedPartition) -> tuple[object, ...]:
    return (
        partition.key,
        partition.fetch_offset,
        partition.max_bytes,
        partition.leader_epoch,
        partition.last_fetched_epoch,
        partition.log_start_offset,
    )


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("asked", REQUESTS.values(), ids=REQUESTS)
def test_a_request_that_is_cut_anywhere_is_malformed(asked: FetchRequest, version: int) -> None:
    whole = asked.encode(version)
    for end in {*range(min(len(whole), 80)), *range(max(len(whole) - 80, 0), len(whole))}:
        with pytest.raises(MalformedMessage):
            read_fetch(memoryview(whole[:end]), 0, version)


def test_counts_that_make_no_sense_are_malformed() -> None:
    front = bytes(17)
    for count in (b"\xff\xff\xff\xfb", b"\x7f\xff\xff\xff", b"\0\0\0\1\0\1t\x7f\xff\xff\xff"):
        with pytest.raises(MalformedMessage):
            read_fetch(memoryview(front + count), 0, 4)


def test_tags_of_a_partition_are_skipped() -> None:
    plain = FetchRequest(topics=[topic("one", 0, 1)]).encode(12)
    fields = partition(0)
    at = plain.index((1000).to_bytes(4, "big"), plain.index(fields.fetch_offset.to_bytes(8, "big"))) + 4
    assert plain[at] == 0
    tagged = plain[:at] + b"\x01\x09\x02zz" + plain[at + 1 :]
    read = [read_fetch(memoryview(body), 0, 12) for body in (tagged, plain)]
    assert [fields_of(one) for one in read[0].partitions] == [fields_of(one) for one in read[1].partitions]
    assert read[0]._replace(partitions=[]) == read[1]._replace(partitions=[])


@dataclass(frozen=True)
class Stored:
    """A range as the log gives it."""

    fd: int
    position: int
    size: int

    def read(self) -> bytes:
        return os.pread(self.fd, self.size, self.position)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[int]:
    path = tmp_path / "log"
    path.write_bytes(os.urandom(300_000))
    fd = os.open(path, os.O_RDONLY)
    yield fd
    os.close(fd)


def sent(parts: list[Part]) -> bytes:
    return b"".join(
        os.pread(part.fd, part.count, part.position) if isinstance(part, FileRange) else bytes(part) for part in parts
    )


def data_of(one: PartitionAnswer) -> PartitionData:
    return PartitionData(
        partition_index=one.partition,
        error_code=one.error_code,
        high_watermark=one.high_watermark,
        last_stable_offset=one.last_stable_offset,
        log_start_offset=one.log_start_offset,
        diverging_epoch=EpochEndOffset(epoch=one.diverging_epoch[0], end_offset=one.diverging_epoch[1])
        if one.diverging_epoch
        else None,
        current_leader=LeaderIdAndEpoch(leader_id=one.current_leader[0], leader_epoch=one.current_leader[1])
        if one.current_leader
        else None,
        aborted_transactions=None
        if one.aborted is None
        else [AbortedTransaction(producer_id=a.producer_id, first_offset=a.first_offset) for a in one.aborted],
        preferred_read_replica=one.preferred_read_replica,
        records=one.records.read() if one.records else b"",
    )


def check(version: int, topics: dict[str, list[PartitionAnswer]], **more: object) -> list[Part]:
    endpoints = [NodeEndpoint(node_id=4, host="there", port=9092, rack="r")] if more.pop("endpoints", False) else []
    answer = FetchAnswer(
        [one._replace(topic=topic_bytes(name, version)) for name, partitions in topics.items() for one in partitions],
        session_id=5,
        throttle_time_ms=6,
        endpoints=endpoints,
        **more,  # type: ignore[arg-type]
    )
    expected = FetchResponse(
        throttle_time_ms=6,
        error_code=answer.error_code,
        session_id=5,
        responses=[
            FetchableTopicResponse(topic=name, topic_id=IDS[name], partitions=[data_of(one) for one in partitions])
            for name, partitions in topics.items()
            if partitions
        ],
        node_endpoints=endpoints,
    )
    parts = encode_fetched(version, 99, answer)
    assert sent(parts) == encode_response(expected, version, 99)
    return parts


@pytest.mark.parametrize("version", VERSIONS)
def test_answers_are_written_as_the_schema_writes_them(file: int, version: int) -> None:
    small, large = Stored(file, 10, 100), Stored(file, 1000, 200_000)
    aborted = [SimpleNamespace(producer_id=4, first_offset=2**40), SimpleNamespace(producer_id=5, first_offset=1)]
    check(version, {})
    check(version, {}, error_code=70)
    check(version, {"one": [PartitionAnswer(b"", 0, 1)]})
    check(version, {"one": [PartitionAnswer(b"", 0, 0, 7, 6, 5, None, [])]})
    check(version, {"one": [PartitionAnswer(b"", 0, 0, 7, 6, 5, small)]})
    check(version, {"one": [PartitionAnswer(b"", 3, 0, 7, 6, 5, small, aborted, 2)], "n" * 200: []})
    check(version, {"one": [PartitionAnswer(b"", i, 0, 2**40, 6, 5, small) for i in range(200)]})
    check(
        version,
        {"one": [PartitionAnswer(b"", 0, 0, 7, 6, 5, large), PartitionAnswer(b"", 1, 0, 7, 6, 5, large)], "two": []},
    )
    check(version, {"one": [PartitionAnswer(b"", 0, 6, current_leader=(4, 2))]}, endpoints=True)
    check(version, {"one": [PartitionAnswer(b"", 0, 0, 7, 6, 5, diverging_epoch=(3, 2**40), current_leader=(1, 2))]})


def test_large_ranges_are_left_to_sendfile_and_kept_open(file: int) -> None:
    large = Stored(file, 1000, 200_000)
    parts = check(12, {"one": [PartitionAnswer(b"", 0, 0, 7, 6, 5, large)]})
    (range_,) = [part for part in parts if isinstance(part, FileRange)]
    assert (range_.fd, range_.position, range_.count, range_.keep) == (file, 1000, 200_000, large)
