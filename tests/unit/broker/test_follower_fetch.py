"""A follower's hand-written Fetch says and reads exactly what the schema does, and what the leader's own codec does."""

from uuid import UUID

import pytest

from tidelog.broker.core.fetch_session import FetchedPartition
from tidelog.broker.core.fetch_session_client import FetchRequestPlan
from tidelog.broker.wire.follower_fetch import (
    VERSION,
    FollowerIdentity,
    encode_follower_fetch,
    read_follower_answer,
)
from tidelog.broker.wire.hot_fetch_request import read_fetch
from tidelog.kafka.wire.headers import decode_request_header, encode_response
from tidelog.kafka.wire.messages.current_leader import LeaderIdAndEpoch
from tidelog.kafka.wire.messages.fetch import (
    FETCH,
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from tidelog.kafka.wire.primitives import MalformedMessage

ONE, TWO = UUID(int=1 << 100), UUID(int=7)
IDENTITY = FollowerIdentity(b"broker-3-fetcher", 3, 500, 1, 10_485_760)


def asked(topic: UUID, index: int) -> FetchedPartition:
    return FetchedPartition((topic.bytes, index), 2**40 + index, 1000 + index, index + 1, index + 2, index + 3)


PLANS = {
    "nothing new": FetchRequestPlan(77, 5, [], []),
    "one": FetchRequestPlan(77, 5, [asked(ONE, 0)], []),
    "full": FetchRequestPlan(0, 0, [asked(ONE, 0), asked(TWO, 4), asked(ONE, 1)], []),
    "many": FetchRequestPlan(9, 2**31 - 1, [asked(ONE, index) for index in range(200)], []),
    "forgotten": FetchRequestPlan(9, 1, [asked(TWO, 0)], [(ONE.bytes, 1), (TWO.bytes, 2), (ONE.bytes, 3)]),
    "the end": FetchRequestPlan(9, -1, [], []),
}


def frame_of(plan: FetchRequestPlan) -> memoryview:
    frame = encode_follower_fetch(IDENTITY, 1234, 42, plan)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    return memoryview(frame)[4:]


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_a_request_is_what_the_schema_reads(plan: FetchRequestPlan) -> None:
    frame = frame_of(plan)
    header, at = decode_request_header(frame, FETCH)
    request = FetchRequest.decode(VERSION, frame, at)
    assert (header.api_version, header.correlation_id, header.client_id) == (VERSION, 42, "broker-3-fetcher")
    assert request.replica_state is not None
    assert (request.replica_state.replica_id, request.replica_state.replica_epoch) == (3, 1234)
    assert (request.max_wait_ms, request.min_bytes, request.max_bytes) == (500, 1, 10_485_760)
    assert (request.session_id, request.session_epoch) == (plan.session_id, plan.epoch)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_a_request_is_what_the_leader_reads(plan: FetchRequestPlan) -> None:
    frame = frame_of(plan)
    _, at = decode_request_header(frame, FETCH)
    read = read_fetch(frame, at, VERSION)
    assert read.replica_id == 3
    assert sorted(_fields(one) for one in read.partitions) == sorted(_fields(one) for one in plan.partitions)
    assert sorted(read.forgotten) == sorted(plan.forgotten)


def _fields(one: FetchedPartition) -> tuple[object, ...]:
    return (
        one.key, one.fetch_offset, one.max_bytes, one.leader_epoch, one.last_fetched_epoch, one.log_start_offset
    )  # fmt: skip


RECORDS = b"some records" * 20
DIVERGING = PartitionData(
    partition_index=2,
    high_watermark=5,
    diverging_epoch=EpochEndOffset(epoch=4, end_offset=9),
    current_leader=LeaderIdAndEpoch(leader_id=1, leader_epoch=6),
    records=b"",
)
ANSWER = FetchResponse(
    session_id=77,
    responses=[
        FetchableTopicResponse(
            topic_id=ONE,
            partitions=[
                PartitionData(
                    partition_index=1,
                    high_watermark=10,
                    last_stable_offset=9,
                    log_start_offset=3,
                    aborted_transactions=[AbortedTransaction(producer_id=5, first_offset=6)],
                    records=RECORDS,
                ),
                DIVERGING,
            ],
        ),
        FetchableTopicResponse(
            topic_id=TWO,
            partitions=[
                PartitionData(partition_index=0, error_code=74, high_watermark=-1, log_start_offset=-1, records=None)
            ],
        ),
    ],
)


def response(answer: FetchResponse) -> memoryview:
    return memoryview(encode_response(answer, VERSION, 42))[4:]


def test_an_answer_is_read_as_the_schema_writes_it() -> None:
    frame = response(ANSWER)
    answer = read_follower_answer(frame)
    assert (answer.error_code, answer.session_id) == (0, 77)
    first, second, third = answer.partitions
    assert first[:5] == ((ONE.bytes, 1), 0, 10, 3, None)
    assert frame[first.start : first.end] == RECORDS
    assert (second.key, second.diverging_epoch, second.end - second.start) == ((ONE.bytes, 2), (4, 9), 0)
    assert (third.key, third.error_code, third.end - third.start) == ((TWO.bytes, 0), 74, 0)


def test_a_refusal_of_the_whole_fetch() -> None:
    answer = read_follower_answer(response(FetchResponse(error_code=71, session_id=0)))
    assert (answer.error_code, answer.partitions) == (71, [])


@pytest.mark.parametrize("size", [0, 4, 10, 20, 40, 60, 200, 330])
def test_an_answer_that_ends_too_early_is_malformed(size: int) -> None:
    with pytest.raises(MalformedMessage):
        read_follower_answer(response(ANSWER)[:size])
