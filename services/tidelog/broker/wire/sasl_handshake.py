"""SaslHandshake (17), served in versions 0 and 1.

- v0: the client names a mechanism.  v1: the same; SaslAuthenticate follows in place of bare tokens.

Listeners are PLAINTEXT, where there is nothing to authenticate: the answer is error 34 and no mechanisms.
"""

from __future__ import annotations

from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.sasl_handshake import SASL_HANDSHAKE, SaslHandshakeRequest, SaslHandshakeResponse
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi


def served() -> ServedApi:
    return ServedApi(SASL_HANDSHAKE, parse_versions("0-1"), _answer)


def _answer(_: RequestContext, __: SaslHandshakeRequest) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=KafkaCode.ILLEGAL_SASL_STATE)
