"""ApiVersions (18), served in versions 0 to 4.

- v0: the API keys and the range of versions of each.
- v1: throttle time.  v2: the same.
- v3: flexible, except that the response header stays as it was; the client names its software.
- v4: the same; it allows features whose lowest version is 0.

Features are left out: we have none to finalize, and clients act on `transaction.version` if it is there.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.api_versions import API_VERSIONS, ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, Served, ServedApi

if TYPE_CHECKING:
    from collections.abc import Sequence

_VERSIONS = parse_versions("0-4")
_SOFTWARE_NAME = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")


def served(others: Sequence[Served]) -> ServedApi:
    """Offers these and itself."""
    offers = {one.api.key: one.versions for one in others} | {API_VERSIONS.key: _VERSIONS}
    listed = [ApiVersion(api_key=key, min_version=v.low, max_version=v.high) for key, v in sorted(offers.items())]
    return ServedApi(API_VERSIONS, _VERSIONS, partial(_answer, listed))


def unsupported_version() -> ApiVersionsResponse:
    """What a client of the future gets, in the form of v0: the versions in which it may ask again."""
    own = ApiVersion(api_key=API_VERSIONS.key, min_version=_VERSIONS.low, max_version=_VERSIONS.high)
    return ApiVersionsResponse(error_code=KafkaCode.UNSUPPORTED_VERSION, api_keys=[own])


def _answer(listed: list[ApiVersion], context: RequestContext, request: ApiVersionsRequest) -> ApiVersionsResponse:
    if context.version >= 3 and not _names_its_software(request):
        return ApiVersionsResponse(error_code=KafkaCode.INVALID_REQUEST)
    return ApiVersionsResponse(api_keys=listed)


def _names_its_software(request: ApiVersionsRequest) -> bool:
    names = (request.client_software_name, request.client_software_version)
    return all(_SOFTWARE_NAME.fullmatch(name) for name in names)
