"""CreateAcls (30), served in versions 0 to 3.

- v0: rules to be made.  v1: patterns of names.  v2: flexible.  v3: the same; users as resources.

There is no access control: each rule is refused with error 54, as Kafka does without an authorizer.
"""

from __future__ import annotations

from tidelog.broker.wire import no_authorizer
from tidelog.kafka.wire.messages.create_acls import (
    CREATE_ACLS,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi


def served() -> ServedApi:
    return ServedApi(CREATE_ACLS, parse_versions("0-3"), _answer)


def _answer(_: RequestContext, request: CreateAclsRequest) -> CreateAclsResponse:
    return CreateAclsResponse(
        results=[
            AclCreationResult(error_code=no_authorizer.CODE, error_message=no_authorizer.MESSAGE)
            for _ in request.creations
        ]
    )
