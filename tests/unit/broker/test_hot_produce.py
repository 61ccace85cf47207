"""The hand-written Produce codec says and reads exactly what the schema does, in every version that is served."""

from collections.abc import Sequence

import pytest

from tidelog.broker.wire.hot_produce import Produced, encode_produced, read_produce
from tidelog.kafka.wire.headers import encode_response
from tidelog.kafka.wire.messages.current_leader import LeaderIdAndEpoch, NodeEndpoint
from tidelog.kafka.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from tidelog.kafka.wire.primitives import MalformedMessage

VERSIONS = range(3, 12)
BEFORE = b"header"


def request(topics: dict[str, dict[int, bytes | None]], transactional_id: str | None = None) -> ProduceRequest:
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=-1,
        timeout_ms=1234,
        topic_data=[
            TopicProduceData(
                name=name,
                partition_data=[PartitionProduceData(index=index, records=data) for index, data in partitions.items()],
            )
            for name, partitions in topics.items()
        ],
    )


REQUESTS = {
    "nothing": request({}),
    "one": request({"pageviews": {3: b"records"}}),
    "transactional": request({"t": {0: b"x"}}, transactional_id="mine"),
    "several": request({"one": {0: b"a", 7: b"", 2: b"c" * 5000}, "two": {1: b"d"}, "none": {}}),
    "no partition": request({"t": {}}),
    "empty records": request({"t": {0: b""}}),
    "null": request({"t": {0: None, 1: b"x"}}),
    "long name": request({"n" * 249: {2**31 - 1: b"x"}}),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("asked", REQUESTS.values(), ids=REQUESTS)
def test_requests_are_read_as_the_schema_writes_them(asked: ProduceRequest, version: int) -> None:
    frame = memoryview(BEFORE + asked.encode(version) + b"behind")
    read = read_produce(frame, len(BEFORE), version)
    transactional_id = None if asked.transactional_id is None else asked.transactional_id.encode()
    assert (read.transactional_id, read.acks, read.timeout_ms, read.fences) == (transactional_id, -1, 1234, None)
    assert [(topic.decode(), index, bytes(frame[start:end])) for topic, index, start, end in read.partitions] == [
        (topic.name, data.index, data.records or b"") for topic in asked.topic_data for data in topic.partition_data
    ]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("asked", REQUESTS.values(), ids=REQUESTS)
def test_a_request_that_is_cut_anywhere_is_malformed(asked: ProduceRequest, version: int) -> None:
    whole = asked.encode(version)
    for end in {*range(min(len(whole), 60)), *range(max(len(whole) - 60, 0), len(whole))}:
        with pytest.raises(MalformedMessage):
            read_produce(memoryview(whole[:end]), 0, version)


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xff\0\1\0\0\0\0\xff\xff\xff\xfb",  # -5 topics
        b"\xff\xff\0\1\0\0\0\0\x7f\xff\xff\xff",  # more topics than there is room for
        b"\xff\xfe\0\1\0\0\0\0\0\0\0\0",  # a transactional id of length -2
        b"\xff\xff\0\1\0\0\0\0\0\0\0\1\0\1t\0\0\0\1\0\0\0\0\xff\xff\xff\xf0",  # records of length -16
    ],
)
def test_lengths_that_make_no_sense_are_malformed(body: bytes) -> None:
    with pytest.raises(MalformedMessage):
        read_produce(memoryview(body), 0, 3)


@pytest.mark.parametrize("version", range(9, 12))
def test_the_fences_of_coordinators_are_told_by_the_place_of_their_partition(version: int) -> None:
    asked = request({"t": {0: b"a", 1: b"b"}, "u": {5: b"c"}})
    asked.topic_data[0].partition_data[1].coordinator_fence = 2**40
    asked.topic_data[1].partition_data[0].coordinator_fence = 0
    read = read_produce(memoryview(asked.encode(version)), 0, version)
    assert read.fences == {1: 2**40, 2: 0}
    assert [index for _, index, _, _ in read.partitions] == [0, 1, 5]


def test_a_fence_of_another_size_is_malformed() -> None:
    whole = REQUESTS["one"].encode(9)
    fence = b"\x01\x90\x4e\x04abcd"
    with pytest.raises(MalformedMessage):
        read_produce(memoryview(whole[:-3] + fence + b"\0\0"), 0, 9)


def test_unknown_tags_are_skipped_and_lying_ones_are_malformed() -> None:
    whole = REQUESTS["one"].encode(9)
    for behind in (b"", b"\0", b"\0\0"):
        front = whole[: len(whole) - 1 - len(behind)]
        read = read_produce(memoryview(front + b"\x01\x05\x02ab" + behind), 0, 9)
        assert read.partitions
        assert read.fences is None
        with pytest.raises(MalformedMessage):
            read_produce(memoryview(front + b"\x01\x05\x7fab" + behind), 0, 9)


ANSWERS: dict[str, list[Produced]] = {
    "nothing": [],
    "one": [Produced(b"pageviews", 3, 0, 2**40, -1, 17)],
    "append time": [Produced(b"t", 0, 0, 5, 1_700_000_000_000, 0)],
    "an error": [Produced(b"t", 0, 3)],
    "a message": [Produced(b"t", 0, 87, record_errors=[(1, "no key"), (3, "no key")], error_message="no keys")],
    "another leader": [Produced(b"t", 0, 6, current_leader=(4, 9))],
    "several": [Produced(b"t", 0, 0, 1, -1, 0), Produced(b"u", 0, 3), Produced(b"t", 1, 0, 2, -1, 0)],
    "long name": [Produced(b"n" * 249, 0, 0, 1, -1, 0)],
}
ENDPOINTS = [NodeEndpoint(node_id=4, host="there", port=9092, rack=None)]


def as_message(answers: Sequence[Produced], endpoints: list[NodeEndpoint]) -> ProduceResponse:
    names = dict.fromkeys(answer.topic for answer in answers)
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=name.decode(),
                partition_responses=[
                    PartitionProduceResponse(
                        index=one.partition,
                        error_code=one.error_code,
                        base_offset=one.base_offset,
                        log_append_time_ms=one.log_append_time_ms,
                        log_start_offset=one.log_start_offset,
                        record_errors=[
                            BatchIndexAndErrorMessage(batch_index=i, batch_index_error_message=why)
                            for i, why in one.record_errors
                        ],
                        error_message=one.error_message,
                        current_leader=LeaderIdAndEpoch(
                            leader_id=one.current_leader[0], leader_epoch=one.current_leader[1]
                        )
                        if one.current_leader
                        else None,
                    )
                    for one in answers
                    if one.topic == name
                ],
            )
            for name in names
        ],
        throttle_time_ms=42,
        node_endpoints=endpoints,
    )


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ANSWERS)
def test_answers_are_written_as_the_schema_writes_them(name: str, version: int) -> None:
    endpoints = ENDPOINTS if name == "another leader" else []
    expected = encode_response(as_message(ANSWERS[name], endpoints), version, 77)
    assert encode_produced(version, 77, ANSWERS[name], 42, endpoints) == expected
