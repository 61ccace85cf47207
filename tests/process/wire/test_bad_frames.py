"""Bytes that are no request: the connection is closed without an answer, and nobody else notices."""

import struct
import time

import pytest

from tests.support.services import Service
from tests.support.wire_client import WireClient, fetch_request, produce_request
from tests.support.wire_server import framed
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.headers import encode_request
from tidelog.kafka.wire.messages.api_versions import ApiVersionsResponse
from tidelog.kafka.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tidelog.kafka.wire.schema import Request

pytestmark = pytest.mark.usefixtures("unharmed")

INT32_MAX = 2**31 - 1
UVARINT_HUGE = b"\xff\xff\xff\xff\x07"


def header(key: int, version: int, *, tags: bytes = b"") -> bytes:
    return struct.pack(">hhih", key, version, 1, -1) + tags


def int32(number: int) -> bytes:
    return struct.pack(">i", number)


NO_FRAMES = {
    "negative length": int32(-1),
    "lowest length": int32(-(2**31)),
    "no length": int32(0),
    "no room for a header": framed(b"\0\3\0"),
    "beyond the limit": int32(INT32_MAX) + bytes(1000),
    "just beyond the limit": int32(104_857_601),
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "TLS": bytes.fromhex("16030100c8010000c40303") + bytes(190),
    "newlines": b"\r\n" * 500,
}

BAD_REQUESTS = {
    "unknown key": header(999, 0),
    "negative key": header(-1, 0),
    "version from the future": header(3, 99) + int32(0),
    "negative version": header(0, -1),
    "metadata without a body": header(3, 9, tags=b"\0"),
    "produce without a body": header(0, 9, tags=b"\0"),
    "fetch without a body": header(1, 11),
    "client id beyond the frame": struct.pack(">hhih", 3, 1, 1, 30_000),
    "2^31-1 topics in metadata": header(3, 1) + int32(INT32_MAX),
    "2^31-1 topics in compact form": header(3, 9, tags=b"\0") + UVARINT_HUGE,
    "negative count": header(3, 1) + int32(-5),
    "2^31-1 topics to produce to": header(0, 3) + struct.pack(">hhii", -1, 1, 1000, INT32_MAX),
    "2^31-1 partitions to produce to": header(0, 3) + struct.pack(">hhiih1si", -1, 1, 1000, 1, 1, b"t", INT32_MAX),
    "2^31-1 topics to fetch": header(1, 4) + struct.pack(">iiiibi", -1, 0, 1, 1000, 0, INT32_MAX),
    "2^31-1 partitions to fetch": header(1, 4) + struct.pack(">iiiibih1si", -1, 0, 1, 1, 0, 1, 1, b"t", INT32_MAX),
    "a name longer than the frame": header(3, 1) + int32(1) + struct.pack(">h", 3000) + b"abc",
    "a length of ten bytes": header(3, 9, tags=b"\0") + b"\xff" * 10,
    "records longer than the frame": header(0, 3)
    + struct.pack(">hhiih1sii", -1, 1, 1000, 1, 1, b"t", 1, 0)
    + int32(INT32_MAX),
    "tags without an end in the header": header(3, 9, tags=b"\xff\xff\xff\xff\x0f"),
    "a tag longer than the frame": header(18, 3, tags=b"\1\0" + UVARINT_HUGE),
    "many tags without content": header(3, 9, tags=UVARINT_HUGE + b"\0" * 8),
}


@pytest.mark.parametrize("data", NO_FRAMES.values(), ids=NO_FRAMES)
def test_what_is_no_frame_closes_the_connection(client: WireClient, data: bytes) -> None:
    client.send_raw(data)
    assert client.is_closed()


@pytest.mark.parametrize("body", BAD_REQUESTS.values(), ids=BAD_REQUESTS)
def test_what_is_no_request_closes_the_connection(client: WireClient, body: bytes) -> None:
    client.send(body)
    assert client.is_closed()


def test_requests_before_a_bad_one_are_answered(client: WireClient) -> None:
    good = encode_request(MetadataRequest(topics=[]), 9, 7, "test")
    client.send_raw(good + good + framed(header(999, 0)))
    assert [client.receive()[:4] for _ in range(2)] == [int32(7)] * 2
    assert client.is_closed()


def test_api_versions_from_the_future_are_answered_in_the_oldest_form(client: WireClient) -> None:
    client.send(header(18, 99) + b"whatever")
    answer = ApiVersionsResponse.decode(0, client.receive(), 4)
    assert answer.error_code == KafkaCode.UNSUPPORTED_VERSION
    assert [(one.api_key, one.min_version) for one in answer.api_keys] == [(18, 0)]


@pytest.mark.parametrize("announced", [100, 100_000_000])
def test_half_a_frame_and_then_silence(broker: Service, announced: int) -> None:
    silent = [WireClient(broker) for _ in range(100)]
    for one in silent:
        one.send_raw(int32(announced) + header(3, 9))
    time.sleep(0.3)
    with WireClient(broker) as other:
        assert other.call(MetadataRequest(topics=[]), 9).brokers
    for one in silent:
        one.socket.close()


def test_a_frame_in_single_bytes(client: WireClient) -> None:
    for byte in encode_request(MetadataRequest(topics=[]), 9, 5, "test"):
        client.send_raw(bytes([byte]))
    assert client.receive()[:4] == int32(5)


def test_bytes_that_are_no_utf8_are_no_topic(client: WireClient) -> None:
    client.send(header(3, 1) + int32(1) + struct.pack(">h", 4) + b"a\xff\xfeb")
    frame = client.receive()
    assert struct.pack(">h", KafkaCode.INVALID_TOPIC_EXCEPTION) in frame


@pytest.mark.parametrize(
    ("request_", "version"),
    [
        (MetadataRequest(topics=[MetadataRequestTopic(name="topic")]), 12),
        (produce_request("topic", b"records"), 9),
        (fetch_request("topic"), 11),
    ],
    ids=["Metadata", "Produce", "Fetch"],
)
def test_a_request_that_is_cut_anywhere(broker: Service, request_: Request[object], version: int) -> None:  # type: ignore[type-var]
    whole = encode_request(request_, version, 1, "test")[4:]
    for length in range(8, len(whole)):
        with WireClient(broker) as client:
            client.send(whole[:length])
            assert client.is_closed(), f"after {length} of {len(whole)} bytes"
