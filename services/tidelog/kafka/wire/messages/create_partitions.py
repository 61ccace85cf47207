"""CreatePartitions (37): add partitions to topics."""

from tidelog.kafka.wire.fields import array, boolean, int16, int32, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

CREATE_PARTITIONS = Api(37, "CreatePartitions", versions="0-3", flexible="2+")


class CreatePartitionsAssignment(Struct):
    broker_ids: list[int] = array(int32)


class CreatePartitionsTopic(Struct):
    name: str = string()
    count: int = int32()
    assignments: list[CreatePartitionsAssignment] | None = array(CreatePartitionsAssignment, nullable="0+")


class CreatePartitionsRequest(Request["CreatePartitionsResponse"], api=CREATE_PARTITIONS):
    topics: list[CreatePartitionsTopic] = array(CreatePartitionsTopic)
    timeout_ms: int = int32()
    validate_only: bool = boolean()


class CreatePartitionsTopicResult(Struct):
    name: str = string()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)


class CreatePartitionsResponse(Response, api=CREATE_PARTITIONS):
    throttle_time_ms: int = int32()
    results: list[CreatePartitionsTopicResult] = array(CreatePartitionsTopicResult)
