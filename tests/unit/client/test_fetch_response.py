"""The hand-written reader of Fetch answers agrees with the codec, in every version that it is used for."""

import pytest

from tidelog.client.core.fetch_response import FetchedPartition, read_fetch_response
from tidelog.client.records import TopicPartition
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.record import Record, encode_batch
from tidelog.kafka.wire.messages.current_leader import LeaderIdAndEpoch
from tidelog.kafka.wire.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from tidelog.kafka.wire.primitives import MalformedMessage

RECORDS = bytes(encode_batch([Record(None, b"v" * 300)], base_offset=7, leader_epoch=6))


def copied(records: memoryview) -> memoryview:
    return memoryview(bytes(records))


def response() -> FetchResponse:
    first = PartitionData(
        partition_index=0,
        high_watermark=9,
        last_stable_offset=8,
        log_start_offset=2,
        aborted_transactions=[AbortedTransaction(producer_id=5, first_offset=7)],
        preferred_read_replica=3,
        records=RECORDS,
    )
    refused = PartitionData(
        partition_index=1,
        error_code=KafkaCode.NOT_LEADER_OR_FOLLOWER,
        diverging_epoch=EpochEndOffset(epoch=1, end_offset=2),
        current_leader=LeaderIdAndEpoch(leader_id=2, leader_epoch=4),
        aborted_transactions=None,
        records=None,
    )
    empty = PartitionData(partition_index=2, high_watermark=1, records=b"")
    return FetchResponse(
        session_id=77,
        responses=[
            FetchableTopicResponse(topic="t", partitions=[first, refused]),
            FetchableTopicResponse(topic="u", partitions=[empty]),
        ],
    )


@pytest.mark.parametrize("version", range(4, 13))
def test_every_version(version: int) -> None:
    frame = b"head" + response().encode(version)
    answer = read_fetch_response(memoryview(frame), 4, version, copied)
    assert answer.session_id == (77 if version >= 7 else 0)
    found = answer.partitions
    assert set(found) == {TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 2)}
    first = found[TopicPartition("t", 0)]
    assert bytes(first.records) == RECORDS
    assert (first.next_offset, first.high_watermark, first.last_stable_offset) == (8, 9, 8)
    assert first.last_epoch == 6
    assert first.aborted == ((7, 5),)
    assert first.log_start_offset == (2 if version >= 5 else -1)
    assert first.preferred_replica == (3 if version >= 11 else -1)
    hint = (2, 4) if version >= 12 else (-1, -1)
    refused = FetchedPartition(KafkaCode.NOT_LEADER_OR_FOLLOWER, leader=hint[0], leader_epoch=hint[1])
    assert found[TopicPartition("t", 1)] == refused
    assert found[TopicPartition("u", 2)].next_offset is None


def test_an_error_of_the_whole() -> None:
    frame = FetchResponse(error_code=KafkaCode.FETCH_SESSION_ID_NOT_FOUND).encode(12)
    with pytest.raises(KafkaError, match="FETCH_SESSION_ID_NOT_FOUND"):
        read_fetch_response(memoryview(frame), 0, 12, copied)


@pytest.mark.parametrize("version", [4, 12])
def test_an_answer_that_is_cut_off(version: int) -> None:
    frame = response().encode(version)
    for end in range(len(frame) - 1):
        with pytest.raises(MalformedMessage):
            read_fetch_response(memoryview(frame)[:end], 0, version, copied)
