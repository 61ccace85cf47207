"""SaslAuthenticate (36): one step of the agreed mechanism."""

from tidelog.kafka.wire.fields import byte_string, int16, int64, string
from tidelog.kafka.wire.schema import Api, Request, Response

SASL_AUTHENTICATE = Api(36, "SaslAuthenticate", versions="0-2", flexible="2+")


class SaslAuthenticateRequest(Request["SaslAuthenticateResponse"], api=SASL_AUTHENTICATE):
    auth_bytes: bytes = byte_string()


class SaslAuthenticateResponse(Response, api=SASL_AUTHENTICATE):
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    auth_bytes: bytes = byte_string()
    session_lifetime_ms: int = int64("1+")
