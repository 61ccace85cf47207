"""Envelopes by hand: a client's request on its way to the coordinator, and the answer on its way back, with one copy each.

A relayed request costs little more than this, so it does not go through the schema of `messages/envelope.py`; both write
and read the same bytes. The principal is left out, since listeners ask nobody for a name.
"""

import struct
from functools import lru_cache
from ipaddress import ip_address
from struct import Struct
from typing import NamedTuple

from tidelog.kafka.wire.messages.envelope import ENVELOPE
from tidelog.kafka.wire.primitives import MalformedMessage, after_tags, misfit, read_uvarint, uvarint

_VERSION = 0
_REQUEST_FRONT = Struct(">ihhih")
_RESPONSE_FRONT = Struct(">iiB")
_INT32 = Struct(">i")
_INT16 = Struct(">h")
# After the response: no error, no tags.
_RESPONSE_END = b"\0\0\0"
_HOSTS_KEPT = 4096


class EnvelopedRequest(NamedTuple):
    """Where the request lies in the frame of its envelope, and from where its client came."""

    start: int
    end: int
    client_host: bytes


class EnvelopedResponse(NamedTuple):
    """Where the response lies in the frame of its envelope; with an error there is none."""

    start: int
    end: int
    error_code: int


@lru_cache(_HOSTS_KEPT)
def host_bytes(host: str) -> bytes:
    """An IP address as 4 or 16 bytes; the zone of a link-local one means nothing elsewhere. Empty if it is not one."""
    try:
        return ip_address(host.partition("%")[0]).packed
    except ValueError:
        return b""


# ---- requests


def encode_envelope(
    frame: bytes | memoryview, correlation_id: int, client_id: bytes, client_host: bytes
) -> tuple[bytes, int]:
    """The whole frame, length included, of an envelope around a request, and where in it the request starts."""
    size = uvarint(len(frame) + 1)
    end = b"\0%c%b\0" % (len(client_host) + 1, client_host)
    start = _REQUEST_FRONT.size + len(client_id) + 1 + len(size)
    front = _REQUEST_FRONT.pack(
        start + len(frame) + len(end) - 4, ENVELOPE.key, _VERSION, correlation_id, len(client_id)
    )
    return b"".join((front, client_id, b"\0", size, frame, end)), start


def read_envelope(frame: memoryview, at: int) -> EnvelopedRequest:
    """The envelope whose body starts at `at`. Raises MalformedMessage."""
    try:
        start, end = _bytes_at(frame, at)
        _, at = _bytes_at(frame, end)
        host_start, host_end = _bytes_at(frame, at)
        after_tags(frame, host_end)
        return EnvelopedRequest(start, end, bytes(frame[host_start:host_end]))
    except IndexError:
        raise MalformedMessage("EnvelopeRequest v0 ends too early") from None


# ---- responses


def encode_enveloped(response: bytes | memoryview, correlation_id: int) -> bytes:
    """The whole frame, length included, of an envelope around a response (itself without a length)."""
    size = uvarint(len(response) + 1)
    length = _RESPONSE_FRONT.size + len(size) + len(response) + len(_RESPONSE_END) - 4
    return b"".join((_RESPONSE_FRONT.pack(length, correlation_id, 0), size, response, _RESPONSE_END))


def read_enveloped(frame: memoryview) -> EnvelopedResponse:
    """The response in the frame (without length) of an answered envelope. Raises MalformedMessage."""
    try:
        start, end = _bytes_at(frame, after_tags(frame, _INT32.size))
        (error_code,) = _INT16.unpack_from(frame, end)
        after_tags(frame, end + 2)
    except (IndexError, struct.error):
        raise MalformedMessage("EnvelopeResponse v0 ends too early") from None
    return EnvelopedResponse(start, end, error_code)


def framed(response: memoryview) -> bytes:
    """A response as it goes out to the client: with its length in front."""
    return b"".join((_INT32.pack(len(response)), response))


def _bytes_at(frame: memoryview, at: int) -> tuple[int, int]:
    """Where a field of bytes starts and ends; one that is null is told as an empty one."""
    size, start = read_uvarint(frame, at)
    end = start + size - 1 if size else start
    if end > len(frame):
        raise misfit("bytes", size - 1)
    return start, end
