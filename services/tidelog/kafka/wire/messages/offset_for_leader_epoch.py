"""OffsetForLeaderEpoch (23): where a leader epoch ended, for finding where two logs part."""

from tidelog.kafka.wire.fields import array, int16, int32, int64, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

OFFSET_FOR_LEADER_EPOCH = Api(23, "OffsetForLeaderEpoch", versions="0-4", flexible="4+")


class OffsetForLeaderPartition(Struct):
    partition: int = int32()
    current_leader_epoch: int = int32("2+", default=-1)
    leader_epoch: int = int32()


class OffsetForLeaderTopic(Struct):
    topic: str = string()
    partitions: list[OffsetForLeaderPartition] = array(OffsetForLeaderPartition)


class OffsetForLeaderEpochRequest(Request["OffsetForLeaderEpochResponse"], api=OFFSET_FOR_LEADER_EPOCH):
    replica_id: int = int32("3+", default=-2)
    topics: list[OffsetForLeaderTopic] = array(OffsetForLeaderTopic)


class EpochEndOffset(Struct):
    error_code: int = int16()
    partition: int = int32()
    leader_epoch: int = int32("1+", default=-1)
    end_offset: int = int64(default=-1)


class OffsetForLeaderTopicResult(Struct):
    topic: str = string()
    partitions: list[EpochEndOffset] = array(EpochEndOffset)


class OffsetForLeaderEpochResponse(Response, api=OFFSET_FOR_LEADER_EPOCH):
    throttle_time_ms: int = int32("2+")
    topics: list[OffsetForLeaderTopicResult] = array(OffsetForLeaderTopicResult)
