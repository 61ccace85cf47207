"""The hand-written Envelope codec says and reads exactly what the schema does."""

import pytest

from tidelog.kafka.coordination.envelopes import (
    encode_envelope,
    encode_enveloped,
    framed,
    host_bytes,
    read_envelope,
    read_enveloped,
)
from tidelog.kafka.wire.headers import decode_request_header, encode_request, encode_response
from tidelog.kafka.wire.messages.envelope import ENVELOPE, EnvelopeRequest, EnvelopeResponse
from tidelog.kafka.wire.primitives import MalformedMessage

FRAMES = [b"", b"x", b"y" * 126, b"z" * 127, b"w" * 20_000]
HOSTS = ["127.0.0.1", "::1", "fe80::1%eth0", "unix"]


@pytest.mark.parametrize("frame", FRAMES, ids=len)
@pytest.mark.parametrize("host", HOSTS)
def test_a_request(frame: bytes, host: str) -> None:
    made, start = encode_envelope(memoryview(frame), 77, b"12", host_bytes(host))
    message = EnvelopeRequest(request_data=frame, client_host_address=host_bytes(host))
    assert made == encode_request(message, 0, 77, "12")
    assert made[start : start + len(frame)] == frame
    received = memoryview(made)[4:]
    header, at = decode_request_header(received, ENVELOPE)
    assert (header.correlation_id, header.client_id) == (77, "12")
    read = read_envelope(received, at)
    assert (bytes(received[read.start : read.end]), read.client_host) == (frame, host_bytes(host))


@pytest.mark.parametrize("frame", FRAMES, ids=len)
def test_an_answer(frame: bytes) -> None:
    made = encode_enveloped(frame, 78)
    assert made == encode_response(EnvelopeResponse(response_data=frame), 0, 78)
    received = memoryview(made)[4:]
    read = read_enveloped(received)
    assert (bytes(received[read.start : read.end]), read.error_code) == (frame, 0)


def test_an_answer_with_an_error_holds_nothing() -> None:
    received = memoryview(encode_response(EnvelopeResponse(error_code=42), 0, 5))[4:]
    start, end, error_code = read_enveloped(received)
    assert (start, error_code) == (end, 42)


def test_hosts_have_four_or_sixteen_bytes() -> None:
    assert [len(host_bytes(host)) for host in HOSTS] == [4, 16, 16, 0]


def test_what_goes_to_the_client_has_its_length_in_front() -> None:
    assert framed(memoryview(b"abc")) == b"\0\0\0\3abc"


def test_envelopes_that_are_cut_anywhere_are_malformed() -> None:
    request, _ = encode_envelope(b"request", 1, b"0", b"\x7f\0\0\1")
    response = encode_enveloped(b"response", 1)
    _, at = decode_request_header(request[4:], ENVELOPE)
    for end in range(4 + at, len(request)):
        with pytest.raises(MalformedMessage):
            read_envelope(memoryview(request)[4:end], at)
    for end in range(8, len(response)):
        with pytest.raises(MalformedMessage):
            read_enveloped(memoryview(response)[4:end])
