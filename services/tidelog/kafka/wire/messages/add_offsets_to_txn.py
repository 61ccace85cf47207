"""AddOffsetsToTxn (25): the offsets of a group join a transaction."""

from tidelog.kafka.wire.fields import int16, int32, int64, string
from tidelog.kafka.wire.schema import Api, Request, Response

ADD_OFFSETS_TO_TXN = Api(25, "AddOffsetsToTxn", versions="0-4", flexible="3+")


class AddOffsetsToTxnRequest(Request["AddOffsetsToTxnResponse"], api=ADD_OFFSETS_TO_TXN):
    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    group_id: str = string()


class AddOffsetsToTxnResponse(Response, api=ADD_OFFSETS_TO_TXN):
    throttle_time_ms: int = int32()
    error_code: int = int16()
