"""Envelope (58): a client's request as it came, passed on by the broker that it reached."""

from tidelog.kafka.wire.fields import byte_string, int16
from tidelog.kafka.wire.schema import Api, Request, Response

ENVELOPE = Api(58, "Envelope", versions="0", flexible="0+")


class EnvelopeRequest(Request["EnvelopeResponse"], api=ENVELOPE):
    request_data: bytes = byte_string()
    request_principal: bytes | None = byte_string(nullable="0+", default=None)
    client_host_address: bytes = byte_string()


class EnvelopeResponse(Response, api=ENVELOPE):
    response_data: bytes | None = byte_string(nullable="0+", default=None)
    error_code: int = int16()
