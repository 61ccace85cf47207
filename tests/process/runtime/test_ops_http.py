"""The ops port over real sockets: good requests, bad ones, slow ones, and too many."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator

import h11
import pytest

from tests.support.ports import free_port
from tidelog.runtime.faults import PortTakenError, StartupError
from tidelog.runtime.metrics import Metrics
from tidelog.runtime.ops_http import HttpLimits, OpsHttp, ops_http
from tidelog.runtime.ops_pages import OpsPages, Response
from tidelog.runtime.readiness import Readiness

GET_LIVEZ = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
LIMITS = HttpLimits(connections=3, header_bytes=2048, body_bytes=4096, idle_timeout_ms=30_000, request_timeout_ms=300)


@pytest.fixture
def readiness() -> Readiness:
    return Readiness()


@pytest.fixture
async def ops(readiness: Readiness) -> AsyncIterator[OpsHttp]:
    async with OpsHttp("127.0.0.1:0", OpsPages(readiness, Metrics("broker", "1"), lambda: 1.0), LIMITS) as ops:
        yield ops


class Client:
    """A raw connection that understands answers, whatever it sent."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
        """The next answer on the connection."""
        http = h11.Connection(h11.CLIENT)
        http.send(h11.Request(method=method, target="/", headers=[("host", "x")]))
        http.send(h11.EndOfMessage())
        head: h11.Response | None = None
        body = b""
        while True:
            event = http.next_event()
            if event is h11.NEED_DATA:
                # Byte by byte, so that nothing of the following answer is lost in this connection's buffer.
                async with asyncio.timeout(10):
                    http.receive_data(await self.reader.read(1))
            elif isinstance(event, h11.Response):
                head = event
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                assert head is not None
                headers = {name.decode(): value.decode() for name, value in head.headers}
                return head.status_code, headers, body

    async def closed(self) -> bool:
        """Whether the server ends the connection, sooner or later."""
        async with asyncio.timeout(10):
            try:
                while await self.reader.read(65536):
                    pass
            except ConnectionError:
                pass
        return True


_clients: list[Client] = []


@pytest.fixture(autouse=True)
async def _clients_closed() -> AsyncIterator[None]:
    yield
    while _clients:
        writer = _clients.pop().writer
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


@pytest.fixture
async def client(ops: OpsHttp) -> Client:
    return await connect(ops)


async def connect(ops: OpsHttp) -> Client:
    client = Client(*await asyncio.open_connection("127.0.0.1", ops.port))
    _clients.append(client)
    return client


async def test_many_requests_on_one_connection(client: Client, readiness: Readiness) -> None:
    readiness.expect("registered", "waiting for ZooKeeper")
    await client.send(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
    status, headers, body = await client.answer()
    assert (status, headers["content-type"]) == (503, "application/json")
    assert json.loads(body)["conditions"]["registered"]["why"] == "waiting for ZooKeeper"
    readiness.ok("registered")
    await client.send(b"GET /readyz?verbose=1 HTTP/1.1\r\nHost: x\r\n\r\n")
    assert (await client.answer())[0] == 200
    await client.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    status, headers, body = await client.answer()
    assert (status, headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert b"tidelog_build_info" in body


async def test_head_has_the_length_but_no_body(client: Client) -> None:
    await client.send(b"HEAD /livez HTTP/1.1\r\nHost: x\r\n\r\n" + GET_LIVEZ)
    status, headers, body = await client.answer("HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["content-length"]) > 10
    assert (await client.answer())[0] == 200


async def test_requests_sent_at_once_are_answered_in_order(client: Client) -> None:
    await client.send(GET_LIVEZ + b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n" + GET_LIVEZ)
    assert [(await client.answer())[0] for _ in range(3)] == [200, 404, 200]


async def test_http_1_0_and_connection_close_end_the_connection(ops: OpsHttp) -> None:
    for request in (b"GET /livez HTTP/1.0\r\n\r\n", b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"):
        client = await connect(ops)
        await client.send(request)
        assert (await client.answer())[0] == 200
        assert await client.closed()


async def test_other_methods_are_405_and_the_connection_goes_on(client: Client) -> None:
    await client.send(b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody")
    status, headers, _ = await client.answer("POST")
    assert (status, headers["allow"]) == (405, "GET, HEAD")
    await client.send(GET_LIVEZ)
    assert (await client.answer())[0] == 200


@pytest.mark.parametrize(
    ("garbage", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"hello\r\n\r\n", 400),
        (b"GET /livez HTTP/1.1\r\n\r\n", 400),  # no Host
        (b"GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400),
        (b"GET /livez HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (b"GET /livez HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 4000, 431),
        (b"GET /" + b"a" * 4000, 431),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\n" + b"a" * 9000, 413),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n", 417),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
    ],
)
async def test_garbage_is_answered_and_closed(ops: OpsHttp, garbage: bytes, status: int) -> None:
    client = await connect(ops)
    await client.send(garbage)
    assert (await client.answer())[0] == status
    assert await client.closed()
    after = await connect(ops)
    await after.send(GET_LIVEZ)
    assert (await after.answer())[0] == 200


async def test_a_trickle_of_bytes_does_not_hold_the_connection(client: Client) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()

    async def trickle() -> None:
        for byte in b"GET /livez HTTP/1.1\r\nX-Slow: " + b"a" * 1000:
            await client.send(bytes([byte]))
            await asyncio.sleep(0.02)

    slow = asyncio.ensure_future(trickle())
    assert await client.closed()
    slow.cancel()
    await asyncio.wait({slow})
    assert loop.time() - began < 5


async def test_idle_connections_are_closed(readiness: Readiness) -> None:
    limits = HttpLimits(idle_timeout_ms=50)
    async with OpsHttp("127.0.0.1:0", OpsPages(readiness, Metrics("b", "1"), lambda: 1.0), limits) as ops:
        client = await connect(ops)
        await client.send(GET_LIVEZ)
        assert (await client.answer())[0] == 200
        assert await client.closed()


async def test_connections_beyond_the_limit_are_closed_and_places_come_free(ops: OpsHttp) -> None:
    held = [await connect(ops) for _ in range(LIMITS.connections)]
    for client in held:
        await client.send(GET_LIVEZ)
        assert (await client.answer())[0] == 200
    extra = await connect(ops)
    assert await extra.closed()
    held[0].writer.close()
    await held[0].writer.wait_closed()
    async with asyncio.timeout(10):
        while not await gets_an_answer(ops):
            await asyncio.sleep(0.01)


async def gets_an_answer(ops: OpsHttp) -> bool:
    client = await connect(ops)
    try:
        await client.send(GET_LIVEZ)
        return bool(await client.reader.read(1))
    except ConnectionError:
        return False


class LargePages(OpsPages):
    """Pages that fill any socket buffer, and one that fails."""

    def respond(self, path: str) -> Response:
        if path == "/fails":
            raise RuntimeError("page broke")
        return Response(200, "text/plain", b"x" * 1_000_000)


async def test_a_client_that_does_not_read_cannot_make_us_hoard_answers(readiness: Readiness) -> None:
    pages = LargePages(readiness, Metrics("b", "1"), lambda: 1.0)
    async with OpsHttp("127.0.0.1:0", pages, HttpLimits(idle_timeout_ms=400)) as ops:
        with socket.create_connection(("127.0.0.1", ops.port)) as lazy:
            lazy.settimeout(0)
            lazy.send(GET_LIVEZ * 100)
            await asyncio.sleep(0.1)
            (connection,) = ops._connections
            assert connection._transport.get_write_buffer_size() < 3_000_000
            async with asyncio.timeout(10):
                while ops._connections:
                    await asyncio.sleep(0.02)


async def test_a_slow_reader_gets_all_of_its_answers(readiness: Readiness) -> None:
    pages = LargePages(readiness, Metrics("b", "1"), lambda: 1.0)
    async with OpsHttp("127.0.0.1:0", pages) as ops:
        client = await connect(ops)
        await client.send(GET_LIVEZ * 5)
        await asyncio.sleep(0.05)
        total = 0
        async with asyncio.timeout(20):
            while total < 5_000_000:
                total += len(await client.reader.read(100_000))


async def test_a_page_that_fails_is_a_500_and_the_port_lives(readiness: Readiness) -> None:
    async with OpsHttp("127.0.0.1:0", LargePages(readiness, Metrics("b", "1"), lambda: 1.0)) as ops:
        client = await connect(ops)
        for _ in range(2):
            await client.send(b"GET /fails HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await client.answer())[0] == 500


async def test_closing_ends_open_connections(readiness: Readiness) -> None:
    async with OpsHttp("127.0.0.1:0", OpsPages(readiness, Metrics("b", "1"), lambda: 1.0)) as ops:
        client = await connect(ops)
        await client.send(GET_LIVEZ)
        assert (await client.answer())[0] == 200
    assert await client.closed()


async def test_a_taken_port_is_told_with_its_setting(ops: OpsHttp, readiness: Readiness) -> None:
    second = OpsHttp(f"127.0.0.1:{ops.port}", OpsPages(readiness, Metrics("b", "1"), lambda: 1.0))
    with pytest.raises(PortTakenError, match=r"\(ops\.listener\): address already in use; stop the other process"):
        await second.__aenter__()


async def test_an_address_that_is_not_ours_is_told(readiness: Readiness) -> None:
    foreign = OpsHttp(f"192.0.2.1:{free_port()}", OpsPages(readiness, Metrics("b", "1"), lambda: 1.0))
    with pytest.raises(StartupError, match="this machine does not have that address"):
        await foreign.__aenter__()


async def test_no_listener_is_no_server(readiness: Readiness) -> None:
    async with ops_http("", OpsPages(readiness, Metrics("b", "1"), lambda: 1.0)) as ops:
        assert not isinstance(ops, OpsHttp)
    async with ops_http("127.0.0.1:0", OpsPages(readiness, Metrics("b", "1"), lambda: 1.0)) as ops:
        assert isinstance(ops, OpsHttp)


async def test_an_empty_host_listens_everywhere(readiness: Readiness) -> None:
    async with OpsHttp(f":{free_port()}", OpsPages(readiness, Metrics("b", "1"), lambda: 1.0)) as ops:
        client = await connect(ops)
        await client.send(GET_LIVEZ)
        assert (await client.answer())[0] == 200
