"""A broker's dispatch over real sockets: what is answered, what closes, and that stock clients feel at home."""

import asyncio
import struct
import time
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import uuid4

import pytest
import uvloop
from aiokafka.client import AIOKafkaClient
from confluent_kafka.admin import AdminClient

from tests.support.wire_server import Client, WireServer, framed, wire_server
from tidelog.broker.wire import describe_cluster, metadata
from tidelog.kafka.cluster import ClusterView, Member, MetadataUpdate, PartitionView, TopicView
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.types import BrokerEpoch, ControllerEpoch, ControllerId, Endpoint, LeaderEpoch
from tidelog.kafka.wire.headers import encode_request, encode_response, response_body_at
from tidelog.kafka.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tidelog.kafka.wire.messages.heartbeat import HEARTBEAT, HeartbeatRequest, HeartbeatResponse
from tidelog.kafka.wire.messages.list_groups import LIST_GROUPS, ListGroupsRequest, ListGroupsResponse
from tidelog.kafka.wire.messages.metadata import METADATA, MetadataRequest, MetadataResponse
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.dispatch import MESSAGE_BYTES_MAX, Dispatcher
from tidelog.net.served import RequestContext, ServedApi, ServedFrames

CLUSTER_ID = "abcdefghijklmnopqrstuv"


async def heartbeat_later(context: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse | None:
    """A coroutine: fails, gives no answer or answers, as the group id says."""
    await asyncio.sleep(0.05)
    if request.group_id == "fail":
        raise ZeroDivisionError("a bug")
    return None if request.group_id == "silent" else HeartbeatResponse(error_code=len(request.group_id))


def list_groups_frame(context: RequestContext, frame: memoryview, body_at: int) -> None:
    request = ListGroupsRequest.decode(context.version, frame, body_at)
    response = ListGroupsResponse(error_code=len(request.states_filter))
    context.connection.reply(encode_response(response, context.version, context.correlation_id))


class Unlimited:
    """No topics by themselves, no broker that dies, no quotas; `throttle_ms` is for requests whose time is taken."""

    is_enabled = False
    still_listed = ()
    times_requests = False
    throttle_ms = 0

    def create(self, names: Iterable[str]) -> dict[str, KafkaCode]:
        raise AssertionError(names)

    def lost_leaders(self) -> frozenset[int]:
        return frozenset()

    def request_ms(self, context: RequestContext) -> int:
        assert context.started_ns
        return self.throttle_ms


@pytest.fixture
def throttling() -> Any:
    return Unlimited()


@pytest.fixture
def server(throttling: Any) -> Iterator[WireServer]:
    view = ClusterView(knows_topics=True)
    dispatcher = Dispatcher(
        [
            metadata.served(view, Unlimited(), Unlimited()),
            describe_cluster.served(view),
            ServedApi(HEARTBEAT, parse_versions("0-4"), heartbeat_later),
            ServedFrames(LIST_GROUPS, parse_versions("0-5"), list_groups_frame),
        ],
        throttling,
    )
    with wire_server(uvloop.new_event_loop, dispatcher) as started:
        broker = Member(3, BrokerEpoch(1), (Endpoint("PLAINTEXT", "127.0.0.1", started.port),))
        topic = TopicView("orders", uuid4(), {0: PartitionView(0, 3, LeaderEpoch(0), (3,), (3,))})
        update = MetadataUpdate(ControllerId(1), ControllerEpoch(1), CLUSTER_ID, brokers=(broker,), topics=(topic,))
        started.run(lambda: view.apply(update))
        yield started


@pytest.fixture
def client(server: WireServer) -> Iterator[Client]:
    with server.connect() as connected:
        yield connected


def header(key: int, version: int, correlation_id: int = 1) -> bytes:
    return struct.pack(">hhih", key, version, correlation_id, -1)


def receive_metadata(client: Client, version: int, correlation_id: int) -> MetadataResponse:
    frame = client.receive()
    assert frame[:4] == struct.pack(">i", correlation_id)
    return MetadataResponse.decode(version, frame, response_body_at(frame, METADATA, version))


@pytest.mark.parametrize("version", range(13))
@pytest.mark.parametrize("correlation_id", [0, -1, 2**31 - 1])
def test_metadata_in_every_version(client: Client, version: int, correlation_id: int) -> None:
    client.send_raw(encode_request(MetadataRequest(topics=[]), version, correlation_id, "test"))
    assert [b.node_id for b in receive_metadata(client, version, correlation_id).brokers] == [3]


BAD = {
    "unknown key": header(999, 0),
    "negative key": header(-1, 0),
    "an API with a schema that is not served": header(0, 9) + bytes(20),
    "version too high": header(3, 99) + bytes(4),
    "negative version": header(3, -1) + bytes(4),
    "body missing": header(3, 1),
    "body cut": header(3, 1) + struct.pack(">ih", 2, 1) + b"a",
    "lying count": header(3, 1) + struct.pack(">i", 2**31 - 1),
    "flexible header without tag buffer": header(3, 9),
    "a message beyond any size": header(3, 1) + bytes(MESSAGE_BYTES_MAX),
    "a frame API with a bad body": header(16, 4) + b"\0\xff",
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_what_cannot_be_understood_closes_after_the_answers_before_it(
    server: WireServer, client: Client, data: bytes
) -> None:
    good = encode_request(MetadataRequest(topics=[]), 1, 5, None)
    client.send_raw(good + framed(data) + good)
    assert receive_metadata(client, 1, 5).brokers
    assert client.is_closed()
    with server.connect() as other:
        other.send_raw(good)
        assert receive_metadata(other, 1, 5).brokers


def test_bytes_after_the_body_are_ignored(client: Client) -> None:
    client.send(header(3, 1, 4) + struct.pack(">i", 0) + b"trailing")
    assert receive_metadata(client, 1, 4).topics == []


@pytest.mark.parametrize("version", [5, 99, 32767, -1])
def test_api_versions_of_the_future_is_answered_in_v0_and_the_connection_goes_on(client: Client, version: int) -> None:
    client.send(header(18, version, 77) + b"a body nobody can read")
    answer = ApiVersionsResponse.decode(0, client.receive(), 4)
    assert answer.error_code == 35
    assert [(one.api_key, one.min_version, one.max_version) for one in answer.api_keys] == [(18, 0, 4)]
    client.send_raw(
        encode_request(ApiVersionsRequest(client_software_name="a", client_software_version="1"), 3, 1, None)
    )
    assert [one.api_key for one in ApiVersionsResponse.decode(3, client.receive(), 4).api_keys] == [3, 12, 16, 18, 60]


def test_coroutines_answer_in_order_with_the_others(client: Client) -> None:
    requests = [
        encode_request(HeartbeatRequest(group_id="g"), 0, 1, None),
        encode_request(MetadataRequest(topics=[]), 1, 2, None),
        encode_request(HeartbeatRequest(group_id="silent"), 0, 3, None),
        encode_request(ListGroupsRequest(states_filter=["a", "b"]), 4, 4, None),
        encode_request(HeartbeatRequest(group_id="fail"), 0, 5, None),
        encode_request(MetadataRequest(topics=[]), 1, 6, None),
    ]
    client.send_raw(b"".join(requests))
    assert client.receive() == struct.pack(">ih", 1, 1)
    assert receive_metadata(client, 1, 2).brokers
    assert client.receive()[:11] == struct.pack(">ibih", 4, 0, 0, 2)
    assert client.is_closed()


def test_confluent_lists_brokers_and_topics(server: WireServer) -> None:
    admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{server.port}"})
    listed = admin.list_topics(timeout=20)
    assert list(listed.brokers) == [3]
    assert list(listed.topics) == ["orders"]
    assert admin.describe_cluster().result(20).cluster_id == CLUSTER_ID


async def test_aiokafka_bootstraps(server: WireServer) -> None:
    client = AIOKafkaClient(bootstrap_servers=f"127.0.0.1:{server.port}")
    try:
        await client.bootstrap()
        assert [broker.nodeId for broker in client.cluster.brokers()] == [3]
    finally:
        await client.close()


def test_a_request_that_took_too_long_is_answered_and_the_next_one_waits(client: Client, throttling: Any) -> None:
    throttling.times_requests, throttling.throttle_ms = True, 400
    began = time.monotonic()
    client.send_raw(encode_request(MetadataRequest(topics=[]), 9, 1, "test"))
    assert receive_metadata(client, 9, 1).throttle_time_ms == 400
    assert time.monotonic() - began < 0.35
    throttling.times_requests = False
    client.send_raw(encode_request(MetadataRequest(topics=[]), 9, 2, "test"))
    assert receive_metadata(client, 9, 2).throttle_time_ms == 0
    assert time.monotonic() - began > 0.35
