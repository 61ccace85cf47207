"""Frames and headers in all their forms."""

import struct

import pytest

from tidelog.kafka.wire.headers import (
    RequestHeader,
    decode_request_header,
    encode_request,
    encode_response,
    peek_request,
    response_body_at,
    response_correlation_id,
)
from tidelog.kafka.wire.messages.api_versions import API_VERSIONS, ApiVersionsRequest, ApiVersionsResponse
from tidelog.kafka.wire.messages.metadata import METADATA, MetadataRequest, MetadataResponse
from tidelog.kafka.wire.primitives import MalformedMessage, read_uvarint, uvarint
from tidelog.kafka.wire.schema import Api

CONTROLLED_SHUTDOWN = Api(7, "ControlledShutdown", versions="0-3", flexible="3+")


@pytest.mark.parametrize("client_id", [None, "", "client", "naïve ☃", "x" * 32767])
@pytest.mark.parametrize("version", [1, 9])
def test_a_request_frame_comes_back(version: int, client_id: str | None) -> None:
    request = MetadataRequest(topics=[])
    frame = encode_request(request, version, -5, client_id)
    assert struct.unpack(">i", frame[:4])[0] == len(frame) - 4
    header, at = decode_request_header(frame[4:], METADATA)
    assert header == RequestHeader(3, version, -5, client_id)
    assert MetadataRequest.decode(version, frame, 4 + at) == request


def test_the_client_id_keeps_its_two_byte_length_in_flexible_versions() -> None:
    assert encode_request(MetadataRequest(topics=[]), 9, 1, "c")[12:16] == b"\0\1c\0"


def test_unknown_tags_in_a_request_header_are_skipped() -> None:
    frame = struct.pack(">hhih", 3, 9, 1, -1) + b"\x02\x64\x03abc\x65\x00" + b"body"
    assert decode_request_header(frame, METADATA)[1] == len(frame) - 4


def test_controlled_shutdown_v0_has_no_client_id() -> None:
    header, at = decode_request_header(struct.pack(">hhi", 7, 0, 3) + b"\0\0\0\1", CONTROLLED_SHUTDOWN)
    assert (header, at) == (RequestHeader(7, 0, 3, None), 8)


@pytest.mark.parametrize(
    "frame",
    [
        b"\0\3\0\1\0\0\0",
        struct.pack(">hhi", 3, 1, 1),
        struct.pack(">hhih", 3, 1, 1, 10) + b"abc",
        struct.pack(">hhih", 3, 1, 1, -2),
        struct.pack(">hhih", 3, 9, 1, -1),
        struct.pack(">hhih", 3, 9, 1, -1) + b"\x01\x07\x7fab",
    ],
)
def test_a_request_header_that_is_none_is_refused(frame: bytes) -> None:
    with pytest.raises(MalformedMessage):
        decode_request_header(frame, METADATA)


def test_a_frame_shorter_than_any_header_cannot_be_peeked_into() -> None:
    with pytest.raises(MalformedMessage):
        peek_request(b"\0\3\0\1")


@pytest.mark.parametrize(("version", "body_at"), [(8, 4), (9, 5)])
def test_a_response_frame_comes_back(version: int, body_at: int) -> None:
    frame = encode_response(MetadataResponse(cluster_id="c"), version, 77)
    assert struct.unpack(">i", frame[:4])[0] == len(frame) - 4
    assert response_correlation_id(frame[4:]) == 77
    assert response_body_at(frame[4:], METADATA, version) == body_at
    assert MetadataResponse.decode(version, frame, 4 + body_at) == MetadataResponse(cluster_id="c")


def test_answers_to_api_versions_have_the_old_header_for_good() -> None:
    frame = encode_response(ApiVersionsResponse(error_code=35), 3, 1)
    assert response_body_at(frame[4:], API_VERSIONS, 3) == 4
    assert ApiVersionsResponse.decode(3, frame, 8).error_code == 35
    assert encode_request(ApiVersionsRequest(), 3, 1, None)[14:15] == b"\0"  # requests are flexible all the same


@pytest.mark.parametrize("value", [0, 1, 127, 128, 16383, 16384, 2**31 - 1, 2**32 - 1])
def test_varints_come_back(value: int) -> None:
    assert read_uvarint(b"\xff" + uvarint(value), 1) == (value, 1 + len(uvarint(value)))
