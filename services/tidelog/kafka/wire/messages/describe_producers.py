"""DescribeProducers (61): the producers that a partition remembers."""

from tidelog.kafka.wire.fields import array, int16, int32, int64, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

DESCRIBE_PRODUCERS = Api(61, "DescribeProducers", versions="0", flexible="0+")


class DescribeProducersTopic(Struct):
    name: str = string()
    partition_indexes: list[int] = array(int32)


class DescribeProducersRequest(Request["DescribeProducersResponse"], api=DESCRIBE_PRODUCERS):
    topics: list[DescribeProducersTopic] = array(DescribeProducersTopic)


class ProducerState(Struct):
    producer_id: int = int64()
    producer_epoch: int = int32()
    last_sequence: int = int32(default=-1)
    last_timestamp: int = int64(default=-1)
    coordinator_epoch: int = int32()
    current_txn_start_offset: int = int64(default=-1)


class DescribeProducersPartitionResult(Struct):
    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    active_producers: list[ProducerState] = array(ProducerState)


class DescribeProducersTopicResult(Struct):
    name: str = string()
    partitions: list[DescribeProducersPartitionResult] = array(DescribeProducersPartitionResult)


class DescribeProducersResponse(Response, api=DESCRIBE_PRODUCERS):
    throttle_time_ms: int = int32()
    topics: list[DescribeProducersTopicResult] = array(DescribeProducersTopicResult)
