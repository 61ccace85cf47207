"""AlterPartitionReassignments (45): give partitions new replicas, or call that off."""

from tidelog.kafka.wire.fields import array, int16, int32, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

ALTER_PARTITION_REASSIGNMENTS = Api(45, "AlterPartitionReassignments", versions="0", flexible="0+")


class ReassignablePartition(Struct):
    partition_index: int = int32()
    replicas: list[int] | None = array(int32, nullable="0+", default=None)


class ReassignableTopic(Struct):
    name: str = string()
    partitions: list[ReassignablePartition] = array(ReassignablePartition)


class AlterPartitionReassignmentsRequest(
    Request["AlterPartitionReassignmentsResponse"], api=ALTER_PARTITION_REASSIGNMENTS
):
    timeout_ms: int = int32(default=60000)
    topics: list[ReassignableTopic] = array(ReassignableTopic)


class ReassignablePartitionResponse(Struct):
    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)


class ReassignableTopicResponse(Struct):
    name: str = string()
    partitions: list[ReassignablePartitionResponse] = array(ReassignablePartitionResponse)


class AlterPartitionReassignmentsResponse(Response, api=ALTER_PARTITION_REASSIGNMENTS):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    responses: list[ReassignableTopicResponse] = array(ReassignableTopicResponse)
