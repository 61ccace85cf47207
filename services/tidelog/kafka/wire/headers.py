"""What stands around a message body in its frame: the length, and the request or response header in each of its forms.

Requests have header v1, and v2 (v1 and a tag buffer) in flexible versions; the client id keeps its two-byte length in
both. ControlledShutdown v0 alone has v0, which lacks the client id. Responses have v0, and v1 (v0 and a tag buffer) in
flexible versions, except ApiVersions: its answer must be readable before the client knows what the server speaks.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidelog.kafka.wire.primitives import MalformedMessage, after_tags, misfit

if TYPE_CHECKING:
    from tidelog.kafka.wire.schema import Api, Request, Response

_REQUEST_START = struct.Struct(">hhi")
_FRAMED_REQUEST_START = struct.Struct(">ihhi")
_FRAMED_RESPONSE_START = struct.Struct(">ii")
_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")

API_VERSIONS_KEY = 18
CONTROLLED_SHUTDOWN_KEY = 7

# No header is shorter than the key, the version and the correlation id.
REQUEST_BYTES_MIN = _REQUEST_START.size
_CLIENT_ID_AT = REQUEST_BYTES_MIN + 2


@dataclass(frozen=True, slots=True)
class RequestHeader:
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


def peek_request(frame: bytes | memoryview) -> tuple[int, int, int]:
    """API key, version and correlation id, which are in the same place in every header; the rest depends on the API."""
    try:
        return _REQUEST_START.unpack_from(frame)
    except struct.error:
        raise MalformedMessage("a frame too short for a request header") from None


def read_client_id(frame: bytes | memoryview, *, flexible: bool) -> tuple[str | None, int]:
    """The client id of a header v1 or v2, and where the body starts."""
    try:
        (length,) = _INT16.unpack_from(frame, REQUEST_BYTES_MIN)
        at = _CLIENT_ID_AT if length < 0 else _CLIENT_ID_AT + length
        if length < -1 or at > len(frame):
            raise misfit("client_id", length)
        client_id = None if length < 0 else str(frame[_CLIENT_ID_AT:at], "utf-8", "replace")
        if not flexible:
            return client_id, at
        # Almost always there are no tags.
        return client_id, after_tags(frame, at) if frame[at] else at + 1
    except (IndexError, struct.error):
        raise MalformedMessage("a request header that ends too early") from None


def decode_request_header(frame: bytes | memoryview, api: Api) -> tuple[RequestHeader, int]:
    """The whole header of a request of a known API, and where the body starts."""
    key, version, correlation_id = peek_request(frame)
    if key == CONTROLLED_SHUTDOWN_KEY and version == 0:
        return RequestHeader(key, version, correlation_id, None), REQUEST_BYTES_MIN
    client_id, at = read_client_id(frame, flexible=version in api.flexible)
    return RequestHeader(key, version, correlation_id, client_id), at


def encode_request(request: Request[Any], version: int, correlation_id: int, client_id: str | None) -> bytes:
    """A whole frame, length included."""
    api = request.api
    out = bytearray(_FRAMED_REQUEST_START.pack(0, api.key, version, correlation_id))
    if api.key != CONTROLLED_SHUTDOWN_KEY or version > 0:
        encoded = b"" if client_id is None else client_id.encode("utf-8", "replace")
        out += _INT16.pack(-1 if client_id is None else len(encoded))
        out += encoded
    if version in api.flexible:
        out.append(0)
    request.encode_into(version, out)
    _INT32.pack_into(out, 0, len(out) - 4)
    return bytes(out)


def encode_response(response: Response, version: int, correlation_id: int) -> bytes:
    """A whole frame, length included."""
    out = bytearray(_FRAMED_RESPONSE_START.pack(0, correlation_id))
    if has_flexible_response_header(response.api, version):
        out.append(0)
    response.encode_into(version, out)
    _INT32.pack_into(out, 0, len(out) - 4)
    return bytes(out)


def response_correlation_id(frame: bytes | memoryview) -> int:
    try:
        correlation_id: int = _INT32.unpack_from(frame)[0]
    except struct.error:
        raise MalformedMessage("a frame too short for a response header") from None
    return correlation_id


def response_body_at(frame: bytes | memoryview, api: Api, version: int) -> int:
    """Where the body of a response starts in its frame."""
    if not has_flexible_response_header(api, version):
        return 4
    try:
        return after_tags(frame, 4)
    except IndexError:
        raise MalformedMessage("a response header that ends too early") from None


def has_flexible_response_header(api: Api, version: int) -> bool:
    return version in api.flexible and api.key != API_VERSIONS_KEY
