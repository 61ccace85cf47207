"""SaslHandshake (17): agree on a mechanism of authentication."""

from tidelog.kafka.wire.fields import array, int16, string
from tidelog.kafka.wire.schema import Api, Request, Response

SASL_HANDSHAKE = Api(17, "SaslHandshake", versions="0-1")


class SaslHandshakeRequest(Request["SaslHandshakeResponse"], api=SASL_HANDSHAKE):
    mechanism: str = string()


class SaslHandshakeResponse(Response, api=SASL_HANDSHAKE):
    error_code: int = int16()
    mechanisms: list[str] = array(string)
