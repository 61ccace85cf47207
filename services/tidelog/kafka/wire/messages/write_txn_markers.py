"""WriteTxnMarkers (27): a transaction coordinator ends transactions in the logs of their partitions."""

from tidelog.kafka.wire.fields import array, boolean, int16, int32, int64, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

WRITE_TXN_MARKERS = Api(27, "WriteTxnMarkers", versions="0-1", flexible="1+")


class TxnMarkerTopic(Struct):
    name: str = string()
    partition_indexes: list[int] = array(int32)


class TxnMarker(Struct):
    producer_id: int = int64()
    producer_epoch: int = int16()
    transaction_result: bool = boolean()
    topics: list[TxnMarkerTopic] = array(TxnMarkerTopic)
    coordinator_epoch: int = int32()


class WriteTxnMarkersRequest(Request["WriteTxnMarkersResponse"], api=WRITE_TXN_MARKERS):
    markers: list[TxnMarker] = array(TxnMarker)


class TxnMarkerPartitionResult(Struct):
    partition_index: int = int32()
    error_code: int = int16()


class TxnMarkerTopicResult(Struct):
    name: str = string()
    partitions: list[TxnMarkerPartitionResult] = array(TxnMarkerPartitionResult)


class TxnMarkerResult(Struct):
    producer_id: int = int64()
    topics: list[TxnMarkerTopicResult] = array(TxnMarkerTopicResult)


class WriteTxnMarkersResponse(Response, api=WRITE_TXN_MARKERS):
    markers: list[TxnMarkerResult] = array(TxnMarkerResult)
