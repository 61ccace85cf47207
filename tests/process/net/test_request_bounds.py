"""How many requests are awaited at once, and what requests leave behind in the counts."""

import asyncio
from collections.abc import Iterator

import pytest
import uvloop

from tests.support.waiting import eventually
from tests.support.wire_server import Client, WireServer, wire_server
from tidelog.kafka.wire.headers import encode_request, response_body_at
from tidelog.kafka.wire.messages.heartbeat import HEARTBEAT, HeartbeatRequest, HeartbeatResponse
from tidelog.kafka.wire.messages.list_groups import LIST_GROUPS, ListGroupsRequest, ListGroupsResponse
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.awaited import AwaitedRequests
from tidelog.net.dispatch import Dispatcher, FreeOfCharge
from tidelog.net.request_counts import RequestCounts
from tidelog.net.served import RequestContext, ServedApi


class Apis:
    """Heartbeats wait until they are let go, ListGroups is answered at once."""

    def __init__(self) -> None:
        self.waiting: dict[str, asyncio.Event] = {}
        self.counts = RequestCounts()
        self.awaited = AwaitedRequests(running_max=2)
        self.dispatcher = Dispatcher(
            [
                ServedApi(HEARTBEAT, parse_versions("0-4"), self.heartbeat),
                ServedApi(LIST_GROUPS, parse_versions("0-5"), lambda _, __: ListGroupsResponse(error_code=15)),
            ],
            FreeOfCharge(),
            self.counts,
            self.awaited,
        )

    async def heartbeat(self, _: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse:
        event = self.waiting[request.group_id] = asyncio.Event()
        await event.wait()
        return HeartbeatResponse(error_code=27)


@pytest.fixture
def apis() -> Apis:
    return Apis()


@pytest.fixture
def server(apis: Apis) -> Iterator[WireServer]:
    with wire_server(uvloop.new_event_loop, apis.dispatcher) as started:
        yield started


def heartbeat(client: Client, group_id: str) -> None:
    client.send_raw(encode_request(HeartbeatRequest(group_id=group_id), 4, 7, "test"))


def list_groups(client: Client) -> None:
    client.send_raw(encode_request(ListGroupsRequest(), 4, 8, "test"))


def receive_heartbeat(client: Client) -> int:
    frame = client.receive()
    return HeartbeatResponse.decode(4, frame, response_body_at(frame, HEARTBEAT, 4)).error_code


def test_beyond_the_bound_a_connection_is_held_until_it_is_its_turn(server: WireServer, apis: Apis) -> None:
    with server.connect() as a, server.connect() as b, server.connect() as c, server.connect() as other:
        heartbeat(a, "a")
        heartbeat(b, "b")
        eventually(lambda: server.run(lambda: apis.awaited.running) == 2)
        heartbeat(c, "c")
        list_groups(c)
        eventually(lambda: server.run(lambda: apis.awaited.waiting) == 1)
        assert "c" not in apis.waiting
        list_groups(other)
        assert other.receive(), "what is answered at once is not held up"
        server.run(apis.waiting["a"].set)
        assert receive_heartbeat(a) == 27
        eventually(lambda: "c" in apis.waiting)
        assert server.run(lambda: (apis.awaited.running, apis.awaited.waiting)) == (2, 0)
        for name in "bc":
            server.run(apis.waiting[name].set)
        assert receive_heartbeat(b) == receive_heartbeat(c) == 27
        assert c.receive(), "what came behind it is answered too"


def test_every_request_is_counted_with_its_phases(server: WireServer, apis: Apis) -> None:
    with server.connect() as client:
        heartbeat(client, "a")
        list_groups(client)
        eventually(lambda: "a" in apis.waiting)
        server.run(apis.waiting["a"].set)
        receive_heartbeat(client)
        client.receive()
    beats, lists = apis.counts.of("Heartbeat"), apis.counts.of("ListGroups")
    eventually(lambda: server.run(lambda: lists.total.count) == 1)
    assert dict(beats.requests) == {4: 1}
    assert dict(beats.errors) == {27: 1}
    assert dict(lists.errors) == {15: 1}
    assert beats.remote.count == 1
    assert lists.remote.count == 0
    assert lists.answer_queue.count == 1, "its answer waited behind the other one"
    assert 0 < beats.remote.sum <= beats.total.sum
    assert beats.local.sum >= 0
    assert beats.request_bytes > 20
    assert beats.answer_bytes > 8
