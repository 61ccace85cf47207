"""InitProducerId (22): a producer id and epoch for idempotence and transactions."""

from tidelog.kafka.wire.fields import int16, int32, int64, string
from tidelog.kafka.wire.schema import Api, Request, Response

INIT_PRODUCER_ID = Api(22, "InitProducerId", versions="0-5", flexible="2+")


class InitProducerIdRequest(Request["InitProducerIdResponse"], api=INIT_PRODUCER_ID):
    transactional_id: str | None = string(nullable="0+", default=None)
    transaction_timeout_ms: int = int32()
    producer_id: int = int64("3+", default=-1)
    producer_epoch: int = int16("3+", default=-1)


class InitProducerIdResponse(Response, api=INIT_PRODUCER_ID):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    producer_id: int = int64(default=-1)
    producer_epoch: int = int16()
