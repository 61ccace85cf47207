"""AddPartitionsToTxn (24): partitions join a transaction. The batched form of brokers (v4 on) is left out."""

from tidelog.kafka.wire.fields import array, int16, int32, int64, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

ADD_PARTITIONS_TO_TXN = Api(24, "AddPartitionsToTxn", versions="0-3", flexible="3+")


class AddPartitionsToTxnTopic(Struct):
    name: str = string()
    partitions: list[int] = array(int32)


class AddPartitionsToTxnRequest(Request["AddPartitionsToTxnResponse"], api=ADD_PARTITIONS_TO_TXN):
    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    topics: list[AddPartitionsToTxnTopic] = array(AddPartitionsToTxnTopic)


class AddPartitionsToTxnPartitionResult(Struct):
    partition_index: int = int32()
    partition_error_code: int = int16()


class AddPartitionsToTxnTopicResult(Struct):
    name: str = string()
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = array(AddPartitionsToTxnPartitionResult)


class AddPartitionsToTxnResponse(Response, api=ADD_PARTITIONS_TO_TXN):
    throttle_time_ms: int = int32()
    results_by_topic: list[AddPartitionsToTxnTopicResult] = array(AddPartitionsToTxnTopicResult)
