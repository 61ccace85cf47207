"""DeleteAcls (31), served in versions 0 to 3.

- v0: filters of rules to be deleted.  v1: patterns of names.  v2: flexible.  v3: the same; users as resources.

There is no access control: each filter is refused with error 54, as Kafka does without an authorizer.
"""

from __future__ import annotations

from tidelog.broker.wire import no_authorizer
from tidelog.kafka.wire.messages.delete_acls import (
    DELETE_ACLS,
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi


def served() -> ServedApi:
    return ServedApi(DELETE_ACLS, parse_versions("0-3"), _answer)


def _answer(_: RequestContext, request: DeleteAclsRequest) -> DeleteAclsResponse:
    results = [
        DeleteAclsFilterResult(error_code=no_authorizer.CODE, error_message=no_authorizer.MESSAGE)
        for _ in request.filters
    ]
    return DeleteAclsResponse(filter_results=results)
