"""Bytes from anywhere: decoding gives a message or MalformedMessage, never anything else, and at once."""

import contextlib
import struct
import time
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.kio_oracle import known_apis
from tidelog.kafka.wire.headers import decode_request_header, response_body_at
from tidelog.kafka.wire.messages.api_versions import ApiVersionsResponse
from tidelog.kafka.wire.messages.fetch import FetchResponse
from tidelog.kafka.wire.messages.metadata import METADATA, MetadataRequest, MetadataRequestTopic, MetadataResponse
from tidelog.kafka.wire.messages.produce import ProduceRequest
from tidelog.kafka.wire.primitives import MalformedMessage, uvarint
from tidelog.kafka.wire.schema import Message

MESSAGES = [message for api in known_apis() for message in (api.request, api.response)]
KINDS = [
    (m, v)
    for m in MESSAGES
    for v in {m.api.versions.low, m.api.flexible.low, m.api.versions.high}
    if v in m.api.versions
]


def decode_or_refuse(message: type[Message], version: int, data: bytes) -> None:
    with contextlib.suppress(MalformedMessage):
        message.decode(version, data)


@settings(max_examples=1500, deadline=None)
@given(kind=st.sampled_from(KINDS), data=st.binary(max_size=200))
def test_garbage_is_refused_or_decoded(kind: tuple[type[Message], int], data: bytes) -> None:
    decode_or_refuse(*kind, data)


@settings(max_examples=400, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    position=st.integers(0, 200),
    spoilt=st.binary(min_size=1, max_size=6),
    cut=st.integers(0, 30),
)
def test_a_spoilt_message_is_refused_or_decoded(
    kind: tuple[type[Message], int], position: int, spoilt: bytes, cut: int
) -> None:
    message, version = kind
    data = bytearray(message().encode(version) + bytes(20))
    position %= len(data)
    data[position : position + len(spoilt)] = spoilt
    decode_or_refuse(message, version, bytes(data[: len(data) - cut]))


def test_every_cut_of_a_message_is_refused() -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="topic-1"), MetadataRequestTopic(name="t2")])
    for version in range(13):
        data = request.encode(version)
        for size in range(len(data)):
            with pytest.raises(MalformedMessage):
                MetadataRequest.decode(version, data[:size])


LYING: list[tuple[type[Message], int, bytes]] = [
    (MetadataRequest, 1, struct.pack(">i", 2**31 - 1)),
    (MetadataRequest, 1, struct.pack(">i", 1000) + b"\0\1a"),
    (MetadataRequest, 0, struct.pack(">i", -1)),
    (MetadataRequest, 1, struct.pack(">i", -2)),
    (MetadataRequest, 1, struct.pack(">ih", 1, 500) + b"abc"),
    (MetadataRequest, 1, struct.pack(">ih", 1, -1)),
    (MetadataRequest, 4, struct.pack(">i", 0)),
    (MetadataRequest, 9, b"\xff\xff\xff\xff\xff\x01"),
    (MetadataRequest, 9, b"\xff\xff\xff\xff\x0f\0\0\0\0"),
    (MetadataRequest, 9, b"\x02\xff\x7fabc"),
    (MetadataRequest, 9, b"\x01\x01\0\0"),
    (MetadataRequest, 9, b"\x01\x01\0\0\x01\x05\xff\x7f"),
    (MetadataRequest, 9, b"\x01\x01\0\0\xff\xff\x7f"),
    (MetadataRequest, 9, b"\x01\x01\0\0\xff\xff\xff\xff\x0f"),
    # Many elements are really there, but by far not as many as announced.
    (MetadataRequest, 9, uvarint(2**30) + b"\x01\x00" * 200_000),
    (ProduceRequest, 3, struct.pack(">hhii", -1, 1, 1000, -5)),
    (FetchResponse, 4, struct.pack(">iihiihqqi", 0, 1, 0, 1, 0, 0, 0, 0, 2**31 - 1)),
    (ApiVersionsResponse, 0, struct.pack(">hi", 0, 2**31 - 1)),
    (MetadataResponse, 0, struct.pack(">iihhihiii", 0, 1, 0, 0, 1, 0, 0, 0, 2**31 - 1)),
]


@pytest.mark.parametrize(("message", "version", "data"), LYING)
def test_lying_lengths_are_refused_without_taking_memory_or_time(
    message: type[Message], version: int, data: bytes
) -> None:
    decode_or_refuse(message, version, b"")  # compiles the reader
    tracemalloc.start()
    try:
        start = time.perf_counter()
        with pytest.raises(MalformedMessage):
            message.decode(version, data)
        assert time.perf_counter() - start < 1
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@settings(max_examples=500, deadline=None)
@given(frame=st.binary(max_size=40))
def test_headers_of_garbage_are_refused_or_decoded(frame: bytes) -> None:
    for version in (1, 9):
        data = struct.pack(">hhi", 3, version, 1) + frame
        with contextlib.suppress(MalformedMessage):
            decode_request_header(data, METADATA)
        with contextlib.suppress(MalformedMessage):
            response_body_at(frame, METADATA, version)
