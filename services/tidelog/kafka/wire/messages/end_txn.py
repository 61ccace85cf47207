"""EndTxn (26): commit or abort a transaction."""

from tidelog.kafka.wire.fields import boolean, int16, int32, int64, string
from tidelog.kafka.wire.schema import Api, Request, Response

END_TXN = Api(26, "EndTxn", versions="0-4", flexible="3+")


class EndTxnRequest(Request["EndTxnResponse"], api=END_TXN):
    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    committed: bool = boolean()


class EndTxnResponse(Response, api=END_TXN):
    throttle_time_ms: int = int32()
    error_code: int = int16()
