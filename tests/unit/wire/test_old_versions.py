"""The oldest versions, which today's codecs no longer know: laid out by hand, field by field."""

import struct
from typing import Any

import pytest

from tidelog.kafka.wire.messages import (
    create_acls,
    create_topics,
    delete_acls,
    delete_topics,
    describe_acls,
    fetch,
    list_offsets,
    offset_commit,
    produce,
)
from tidelog.kafka.wire.messages import describe_configs as configs
from tidelog.kafka.wire.messages import offset_for_leader_epoch as epochs
from tidelog.kafka.wire.schema import Message


def laid_out(layout: str, *values: Any) -> bytes:
    """Pack values by the letters of the struct module; "s" is a string with its length, "r" bytes with theirs."""
    out = b""
    for code, value in zip(layout, values, strict=True):
        if code == "s":
            out += struct.pack(">h", len(value)) + value.encode()
        elif code == "r":
            out += struct.pack(">i", len(value)) + value
        else:
            out += struct.pack(">" + code, value)
    return out


PRODUCE_REQUEST = produce.ProduceRequest(
    acks=-1,
    timeout_ms=30000,
    topic_data=[
        produce.TopicProduceData(name="t", partition_data=[produce.PartitionProduceData(index=4, records=b"old")])
    ],
)
PRODUCE_RESPONSE = produce.ProduceResponse(
    responses=[
        produce.TopicProduceResponse(
            name="t", partition_responses=[produce.PartitionProduceResponse(index=4, error_code=2, base_offset=9)]
        )
    ]
)
FETCH_TOPICS = [
    fetch.FetchTopic(topic="t", partitions=[fetch.FetchPartition(partition=1, fetch_offset=7, partition_max_bytes=99)])
]
FETCH_RESPONSE = fetch.FetchResponse(
    responses=[
        fetch.FetchableTopicResponse(
            topic="t",
            partitions=[fetch.PartitionData(partition_index=1, error_code=3, high_watermark=8, records=b"abc")],
        )
    ]
)

CASES: list[tuple[Message, int, bytes]] = [
    (PRODUCE_REQUEST, 0, laid_out("hiisiir", -1, 30000, 1, "t", 1, 4, b"old")),
    (PRODUCE_REQUEST, 2, laid_out("hiisiir", -1, 30000, 1, "t", 1, 4, b"old")),
    (PRODUCE_RESPONSE, 0, laid_out("isiihq", 1, "t", 1, 4, 2, 9)),
    (PRODUCE_RESPONSE, 1, laid_out("isiihqi", 1, "t", 1, 4, 2, 9, 0)),
    (PRODUCE_RESPONSE, 2, laid_out("isiihqqi", 1, "t", 1, 4, 2, 9, -1, 0)),
    (
        fetch.FetchRequest(max_wait_ms=500, min_bytes=1, topics=FETCH_TOPICS),
        0,
        laid_out("iiiisiiqi", -1, 500, 1, 1, "t", 1, 1, 7, 99),
    ),
    (
        fetch.FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=77, topics=FETCH_TOPICS),
        3,
        laid_out("iiiiisiiqi", -1, 500, 1, 77, 1, "t", 1, 1, 7, 99),
    ),
    (FETCH_RESPONSE, 0, laid_out("isiihqr", 1, "t", 1, 1, 3, 8, b"abc")),
    (FETCH_RESPONSE, 1, laid_out("iisiihqr", 0, 1, "t", 1, 1, 3, 8, b"abc")),
    (
        list_offsets.ListOffsetsRequest(
            topics=[
                list_offsets.ListOffsetsTopic(
                    name="t",
                    partitions=[list_offsets.ListOffsetsPartition(partition_index=1, timestamp=-2, max_num_offsets=5)],
                )
            ]
        ),
        0,
        laid_out("iisiiqi", -1, 1, "t", 1, 1, -2, 5),
    ),
    (
        list_offsets.ListOffsetsResponse(
            topics=[
                list_offsets.ListOffsetsTopicResponse(
                    name="t",
                    partitions=[list_offsets.ListOffsetsPartitionResponse(partition_index=1, old_style_offsets=[8, 0])],
                )
            ]
        ),
        0,
        laid_out("isiihiqq", 1, "t", 1, 1, 0, 2, 8, 0),
    ),
    (
        offset_commit.OffsetCommitRequest(
            group_id="g",
            generation_id_or_member_epoch=3,
            member_id="m",
            topics=[
                offset_commit.OffsetCommitRequestTopic(
                    name="t",
                    partitions=[
                        offset_commit.OffsetCommitRequestPartition(
                            partition_index=1, committed_offset=7, commit_timestamp=5, committed_metadata="x"
                        )
                    ],
                )
            ],
        ),
        1,
        laid_out("sisisiiqqs", "g", 3, "m", 1, "t", 1, 1, 7, 5, "x"),
    ),
    (
        create_topics.CreateTopicsRequest(
            topics=[
                create_topics.CreatableTopic(
                    name="t",
                    num_partitions=2,
                    replication_factor=3,
                    configs=[create_topics.CreatableTopicConfig(name="k", value="v")],
                )
            ],
            timeout_ms=9,
        ),
        0,
        laid_out("isihiissi", 1, "t", 2, 3, 0, 1, "k", "v", 9),
    ),
    (
        create_topics.CreateTopicsResponse(topics=[create_topics.CreatableTopicResult(name="t", error_code=36)]),
        0,
        laid_out("ish", 1, "t", 36),
    ),
    (
        create_topics.CreateTopicsResponse(
            topics=[create_topics.CreatableTopicResult(name="t", error_code=36, error_message="is there")]
        ),
        1,
        laid_out("ishs", 1, "t", 36, "is there"),
    ),
    (delete_topics.DeleteTopicsRequest(topic_names=["t"], timeout_ms=9), 0, laid_out("isi", 1, "t", 9)),
    (
        delete_topics.DeleteTopicsResponse(responses=[delete_topics.DeletableTopicResult(name="t", error_code=3)]),
        0,
        laid_out("ish", 1, "t", 3),
    ),
    (
        epochs.OffsetForLeaderEpochRequest(
            topics=[
                epochs.OffsetForLeaderTopic(
                    topic="t", partitions=[epochs.OffsetForLeaderPartition(partition=1, leader_epoch=4)]
                )
            ]
        ),
        0,
        laid_out("isiii", 1, "t", 1, 1, 4),
    ),
    (
        epochs.OffsetForLeaderEpochResponse(
            topics=[
                epochs.OffsetForLeaderTopicResult(
                    topic="t", partitions=[epochs.EpochEndOffset(partition=1, end_offset=12)]
                )
            ]
        ),
        0,
        laid_out("isihiq", 1, "t", 1, 0, 1, 12),
    ),
    (
        epochs.OffsetForLeaderEpochResponse(
            topics=[
                epochs.OffsetForLeaderTopicResult(
                    topic="t", partitions=[epochs.EpochEndOffset(partition=1, leader_epoch=6, end_offset=12)]
                )
            ]
        ),
        1,
        laid_out("isihiiq", 1, "t", 1, 0, 1, 6, 12),
    ),
    (
        configs.DescribeConfigsResponse(
            results=[
                configs.DescribeConfigsResult(
                    error_message="",
                    resource_type=2,
                    resource_name="t",
                    configs=[
                        configs.DescribeConfigsResourceResult(name="k", value="v", is_default=True, is_sensitive=True)
                    ],
                )
            ]
        ),
        0,
        laid_out("iihsbsissbbb", 0, 1, 0, "", 2, "t", 1, "k", "v", 0, 1, 1),
    ),
    (
        describe_acls.DescribeAclsRequest(
            resource_type_filter=2,
            resource_name_filter="t",
            principal_filter="p",
            host_filter="h",
            operation=3,
            permission_type=1,
        ),
        0,
        laid_out("bsssbb", 2, "t", "p", "h", 3, 1),
    ),
    (
        create_acls.CreateAclsRequest(
            creations=[
                create_acls.AclCreation(
                    resource_type=2, resource_name="t", principal="p", host="h", operation=3, permission_type=1
                )
            ]
        ),
        0,
        laid_out("ibsssbb", 1, 2, "t", "p", "h", 3, 1),
    ),
    (
        delete_acls.DeleteAclsRequest(
            filters=[
                delete_acls.DeleteAclsFilter(
                    resource_type_filter=2,
                    resource_name_filter="t",
                    principal_filter="p",
                    host_filter="h",
                    operation=3,
                    permission_type=1,
                )
            ]
        ),
        0,
        laid_out("ibsssbb", 1, 2, "t", "p", "h", 3, 1),
    ),
]


@pytest.mark.parametrize(
    ("message", "version", "data"), CASES, ids=[f"{type(message).__name__}-v{version}" for message, version, _ in CASES]
)
def test_the_layout_by_hand(message: Message, version: int, data: bytes) -> None:
    assert message.encode(version) == data
    assert type(message).decode(version, data) == message
