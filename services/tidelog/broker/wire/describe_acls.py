"""DescribeAcls (29), served in versions 0 to 3.

- v0: the rules that match a filter.  v1: patterns of names.  v2: flexible.  v3: the same; users as resources.

There is no access control: the answer is error 54, as Kafka's is without an authorizer.
"""

from __future__ import annotations

from tidelog.broker.wire import no_authorizer
from tidelog.kafka.wire.messages.describe_acls import DESCRIBE_ACLS, DescribeAclsRequest, DescribeAclsResponse
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi


def served() -> ServedApi:
    return ServedApi(DESCRIBE_ACLS, parse_versions("0-3"), _answer)


def _answer(_: RequestContext, __: DescribeAclsRequest) -> DescribeAclsResponse:
    return DescribeAclsResponse(error_code=no_authorizer.CODE, error_message=no_authorizer.MESSAGE)
