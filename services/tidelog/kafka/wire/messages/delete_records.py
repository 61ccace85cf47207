"""DeleteRecords (21): drop the records of partitions before given offsets."""

from tidelog.kafka.wire.fields import array, int16, int32, int64, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

DELETE_RECORDS = Api(21, "DeleteRecords", versions="0-2", flexible="2+")


class DeleteRecordsPartition(Struct):
    partition_index: int = int32()
    offset: int = int64()


class DeleteRecordsTopic(Struct):
    name: str = string()
    partitions: list[DeleteRecordsPartition] = array(DeleteRecordsPartition)


class DeleteRecordsRequest(Request["DeleteRecordsResponse"], api=DELETE_RECORDS):
    topics: list[DeleteRecordsTopic] = array(DeleteRecordsTopic)
    timeout_ms: int = int32()


class DeleteRecordsPartitionResult(Struct):
    partition_index: int = int32()
    low_watermark: int = int64()
    error_code: int = int16()


class DeleteRecordsTopicResult(Struct):
    name: str = string()
    partitions: list[DeleteRecordsPartitionResult] = array(DeleteRecordsPartitionResult)


class DeleteRecordsResponse(Response, api=DELETE_RECORDS):
    throttle_time_ms: int = int32()
    topics: list[DeleteRecordsTopicResult] = array(DeleteRecordsTopicResult)
