"""Produce (0): record batches for partitions, to be appended."""

from tidelog.kafka.wire.fields import array, byte_string, int16, int32, int64, string, struct
from tidelog.kafka.wire.messages.current_leader import LeaderIdAndEpoch, NodeEndpoint
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

PRODUCE = Api(0, "Produce", versions="0-11", flexible="9+")

# Far above the tags that Kafka may come to use. Kafka itself skips it, as any tag that it does not know.
COORDINATOR_FENCE_TAG = 10_000


class PartitionProduceData(Struct):
    index: int = int32()
    records: bytes | None = byte_string(nullable="0+", default=None)
    # Ours: what a group coordinator appends carries its fence, see kafka/coordination/fencing.py.
    coordinator_fence: int = int64("9+", tag=COORDINATOR_FENCE_TAG, default=-1)


class TopicProduceData(Struct):
    name: str = string()
    partition_data: list[PartitionProduceData] = array(PartitionProduceData)


class ProduceRequest(Request["ProduceResponse"], api=PRODUCE):
    transactional_id: str | None = string("3+", nullable="3+", default=None)
    acks: int = int16()
    timeout_ms: int = int32()
    topic_data: list[TopicProduceData] = array(TopicProduceData)


class BatchIndexAndErrorMessage(Struct):
    batch_index: int = int32()
    batch_index_error_message: str | None = string(nullable="0+", default=None)


class PartitionProduceResponse(Struct):
    index: int = int32()
    error_code: int = int16()
    base_offset: int = int64()
    log_append_time_ms: int = int64("2+", default=-1)
    log_start_offset: int = int64("5+", default=-1)
    record_errors: list[BatchIndexAndErrorMessage] = array(BatchIndexAndErrorMessage, "8+")
    error_message: str | None = string("8+", nullable="8+", default=None)
    current_leader: LeaderIdAndEpoch | None = struct(LeaderIdAndEpoch, "10+", tag=0)


class TopicProduceResponse(Struct):
    name: str = string()
    partition_responses: list[PartitionProduceResponse] = array(PartitionProduceResponse)


class ProduceResponse(Response, api=PRODUCE):
    responses: list[TopicProduceResponse] = array(TopicProduceResponse)
    throttle_time_ms: int = int32("1+")
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, "10+", tag=0)
