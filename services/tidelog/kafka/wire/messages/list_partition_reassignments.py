"""ListPartitionReassignments (46): the reassignments under way."""

from tidelog.kafka.wire.fields import array, int16, int32, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

LIST_PARTITION_REASSIGNMENTS = Api(46, "ListPartitionReassignments", versions="0", flexible="0+")


class ListPartitionReassignmentsTopic(Struct):
    name: str = string()
    partition_indexes: list[int] = array(int32)


class ListPartitionReassignmentsRequest(
    Request["ListPartitionReassignmentsResponse"], api=LIST_PARTITION_REASSIGNMENTS
):
    timeout_ms: int = int32(default=60000)
    topics: list[ListPartitionReassignmentsTopic] | None = array(
        ListPartitionReassignmentsTopic, nullable="0+", default=None
    )


class OngoingPartitionReassignment(Struct):
    partition_index: int = int32()
    replicas: list[int] = array(int32)
    adding_replicas: list[int] = array(int32)
    removing_replicas: list[int] = array(int32)


class OngoingTopicReassignment(Struct):
    name: str = string()
    partitions: list[OngoingPartitionReassignment] = array(OngoingPartitionReassignment)


class ListPartitionReassignmentsResponse(Response, api=LIST_PARTITION_REASSIGNMENTS):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    topics: list[OngoingTopicReassignment] = array(OngoingTopicReassignment)
