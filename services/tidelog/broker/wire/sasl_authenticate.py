"""SaslAuthenticate (36), served in versions 0 to 2.

- v0: one step of a mechanism.  v1: for how long it holds.  v2: flexible.

Listeners are PLAINTEXT, where there is nothing to authenticate: the answer is error 34.
"""

from __future__ import annotations

from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.sasl_authenticate import (
    SASL_AUTHENTICATE,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi


def served() -> ServedApi:
    return ServedApi(SASL_AUTHENTICATE, parse_versions("0-2"), _answer)


def _answer(_: RequestContext, __: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=KafkaCode.ILLEGAL_SASL_STATE, error_message="This listener does not authenticate anybody."
    )
