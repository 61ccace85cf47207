"""gRPC between our processes: errors, deadlines, health, drain, and peers that die."""

import asyncio
import logging
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from tests.process.runtime.raw_rpc import NAME, Raw, add_to_server, call_of, stream_of
from tests.support.ports import free_port
from tidelog.kafka.errors import PROPERTIES, KafkaCode, KafkaError
from tidelog.runtime.faults import PortTakenError, StartupError
from tidelog.runtime.grpc_edge import (
    CallFailed,
    Channel,
    DeadlineExceeded,
    GrpcLimits,
    ProbeResult,
    Unreachable,
    connect,
    probe,
    server,
)
from tidelog.runtime.readiness import Readiness

LONG_MS = 20_000
ROOT = Path(__file__).parents[3]


@pytest.fixture
def readiness() -> Readiness:
    return Readiness()


@pytest.fixture
async def raw() -> Raw:
    return Raw()


@pytest.fixture
async def port(raw: Raw, readiness: Readiness) -> AsyncIterator[int]:
    async with server(f"127.0.0.1:{free_port()}", [(add_to_server, raw)], [NAME], readiness) as serving:
        yield serving.port


@pytest.fixture
async def channel(port: int) -> AsyncIterator[Channel]:
    async with connect(f"127.0.0.1:{port}") as channel:
        yield channel


async def call(channel: Channel, name: str, request: bytes = b"", timeout_ms: float = LONG_MS) -> Any:
    return await channel.call(call_of(channel.grpc, name), request, timeout_ms)


async def test_a_call_and_its_answer(channel: Channel) -> None:
    assert await call(channel, "echo", b"hello") == b"hello"


async def test_messages_up_to_64_mib(channel: Channel) -> None:
    large = bytes(32 * 1024 * 1024)
    assert len(await call(channel, "echo", large)) == len(large)


@pytest.mark.parametrize("code", [code for code in KafkaCode if code is not KafkaCode.NONE])
async def test_every_kafka_error_survives_the_trip(channel: Channel, code: KafkaCode) -> None:
    with pytest.raises(KafkaError) as refused:
        await call(channel, "refuse", str(int(code)).encode())
    assert refused.value.code is code
    expected = "no such topic: grün" if code == 3 else PROPERTIES[code].text
    assert refused.value.message == expected


async def test_the_status_is_the_one_of_the_table_for_callers_without_our_metadata(channel: Channel) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await call_of(channel.grpc, "refuse")(b"3", timeout=10)
    assert failed.value.code() is grpc.StatusCode.NOT_FOUND
    assert dict(failed.value.trailing_metadata() or ())["kafka-error-code"] == "3"


async def test_an_unexpected_error_is_an_incident_without_details(
    channel: Channel, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR), pytest.raises(CallFailed) as failed:
        await call(channel, "breaks")
    assert failed.value.status is grpc.StatusCode.INTERNAL
    assert "secret" not in str(failed.value)
    (record,) = caplog.records
    assert record.__dict__["fields"]["incident"] in failed.value.details
    assert "RuntimeError: a secret detail" in caplog.text


async def test_what_a_third_process_failed_is_passed_on(channel: Channel) -> None:
    with pytest.raises(Unreachable, match="other:1"):
        await call(channel, "forwards")


async def test_a_handler_may_abort_by_itself(channel: Channel, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(CallFailed, match="ALREADY_EXISTS: my own words"):
        await call(channel, "aborts")
    assert not caplog.records


@pytest.mark.parametrize("method", ["nowhere", "placeholder"])
async def test_a_method_nobody_serves(channel: Channel, method: str) -> None:
    with pytest.raises(CallFailed) as failed:
        await call(channel, method)
    assert failed.value.status is grpc.StatusCode.UNIMPLEMENTED


async def test_a_stream_nobody_serves(channel: Channel) -> None:
    with pytest.raises(CallFailed) as failed:
        await anext(channel.stream(stream_of(channel.grpc, "stream_placeholder"), b""))
    assert failed.value.status is grpc.StatusCode.UNIMPLEMENTED


async def test_a_deadline_ends_the_call(channel: Channel) -> None:
    began = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        await call(channel, "waits", timeout_ms=200)
    assert time.monotonic() - began < 5


async def test_streams_deliver_then_end(channel: Channel) -> None:
    assert [item async for item in channel.stream(stream_of(channel.grpc, "counts"), b"3")] == [b"0", b"1", b"2"]
    assert [item async for item in channel.stream(stream_of(channel.grpc, "writes"), b"")] == [b"first", b"second"]


async def test_streams_can_refuse_midway(channel: Channel) -> None:
    stream = channel.stream(stream_of(channel.grpc, "counts_then_refuses"), b"")
    assert await anext(stream) == b"0"
    with pytest.raises(KafkaError) as refused:
        await anext(stream)
    assert refused.value.code is KafkaCode.NOT_CONTROLLER


async def test_streams_that_break_are_incidents(channel: Channel, caplog: pytest.LogCaptureFixture) -> None:
    stream = channel.stream(stream_of(channel.grpc, "counts_then_breaks"), b"")
    assert await anext(stream) == b"0"
    with caplog.at_level(logging.ERROR), pytest.raises(CallFailed, match="incident"):
        await anext(stream)
    assert "broken stream" in caplog.text


async def test_leaving_a_stream_cancels_it_at_the_server(channel: Channel, raw: Raw) -> None:
    stream = channel.stream(stream_of(channel.grpc, "watches"), b"")
    assert await anext(stream) == b"first"
    await raw.entered.wait()
    await stream.aclose()
    async with asyncio.timeout(10):
        await raw.release.wait()


async def test_health_follows_readiness(channel: Channel, readiness: Readiness) -> None:
    stub = health_pb2_grpc.HealthStub(channel.grpc)
    watching: Any = channel.stream(stub.Watch, health_pb2.HealthCheckRequest(service=NAME))
    statuses = health_pb2.HealthCheckResponse
    async with asyncio.timeout(10):
        while (await anext(watching)).status != statuses.NOT_SERVING:
            pass
        readiness.expect("registered", "waiting")
        readiness.ok("registered")
        assert (await anext(watching)).status == statuses.SERVING
        readiness.not_ready("registered", "lost")
        assert (await anext(watching)).status == statuses.NOT_SERVING
        answer: Any = await channel.call(stub.Check, health_pb2.HealthCheckRequest(), LONG_MS)
        assert answer.status == statuses.NOT_SERVING
    await watching.aclose()


async def test_reflection_lists_the_services(channel: Channel) -> None:
    stub = reflection_pb2_grpc.ServerReflectionStub(channel.grpc)
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    listing: Any = stub.ServerReflectionInfo(iter([request]))
    names = [service.name async for answer in listing for service in answer.list_services_response.service]
    assert NAME in names
    assert "grpc.health.v1.Health" in names


async def test_a_drain_lets_calls_finish_and_ends_streams(raw: Raw, readiness: Readiness) -> None:
    began = time.monotonic()
    limits = GrpcLimits(grace_ms=LONG_MS)
    async with server(f"127.0.0.1:{free_port()}", [(add_to_server, raw)], [NAME], readiness, limits) as serving:
        channel = connect(f"127.0.0.1:{serving.port}")
        watching: Any = channel.stream(stream_of(channel.grpc, "watches"), b"")
        writing: Any = channel.stream(stream_of(channel.grpc, "writes"), b"wait")
        assert await anext(watching) == b"first"
        assert [await anext(writing), await anext(writing)] == [b"first", b"second"]
        pending = asyncio.ensure_future(call(channel, "waits"))
        await raw.entered.wait()
        await asyncio.sleep(0.1)
        ending = asyncio.gather(ends(watching), ends(writing))
        asyncio.get_running_loop().call_later(0.2, raw.release.set)
    assert await pending == b"released"
    assert all("shutting down" in str(error) for error in await ending)
    assert time.monotonic() - began < LONG_MS / 2000
    await channel.close()


async def ends(stream: AsyncIterator[bytes]) -> Unreachable:
    with pytest.raises(Unreachable) as failed:
        await anext(stream)
    return failed.value


async def test_a_drain_is_bounded_by_the_grace_period(raw: Raw, readiness: Readiness) -> None:
    limits = GrpcLimits(grace_ms=100)
    async with server(f"127.0.0.1:{free_port()}", [(add_to_server, raw)], [NAME], readiness, limits) as serving:
        channel = connect(f"127.0.0.1:{serving.port}")
        pending = asyncio.ensure_future(call(channel, "waits"))
        await raw.entered.wait()
        began = time.monotonic()
    assert time.monotonic() - began < 5
    with pytest.raises(Unreachable):
        await pending
    await channel.close()


async def test_calls_beyond_the_limit_are_refused(raw: Raw, readiness: Readiness) -> None:
    limits = GrpcLimits(concurrent_calls=1, grace_ms=0)
    address = f"127.0.0.1:{free_port()}"
    async with server(address, [(add_to_server, raw)], [NAME], readiness, limits), connect(address) as channel:
        pending = asyncio.ensure_future(call(channel, "waits"))
        await raw.entered.wait()
        with pytest.raises(CallFailed) as failed:
            await call(channel, "echo")
        assert failed.value.status is grpc.StatusCode.RESOURCE_EXHAUSTED
        raw.release.set()
        assert await pending == b"released"


async def test_a_taken_port_is_told_with_its_setting(port: int, readiness: Readiness) -> None:
    with pytest.raises(PortTakenError, match=rf"127.0.0.1:{port} \(grpc\.listener\): address already in use"):
        async with server(f"127.0.0.1:{port}", [], [], readiness):
            pass


async def test_a_name_that_does_not_resolve_is_told(readiness: Readiness) -> None:
    with pytest.raises(StartupError, match="does not resolve"):
        async with server("no-such-host.invalid:9000", [], [], readiness):
            pass


async def test_an_empty_host_listens_everywhere(raw: Raw, readiness: Readiness) -> None:
    port = free_port()
    async with (
        server(f":{port}", [(add_to_server, raw)], [NAME], readiness),
        connect(f"127.0.0.1:{port}") as channel,
    ):
        assert await call(channel, "echo", b"x") == b"x"


async def test_nobody_there_is_unreachable_at_once() -> None:
    async with connect(f"127.0.0.1:{free_port()}") as channel:
        began = time.monotonic()
        with pytest.raises(Unreachable):
            await call(channel, "echo")
        assert time.monotonic() - began < 5


async def test_a_peer_that_comes_later_can_be_waited_for(raw: Raw, readiness: Readiness) -> None:
    port = free_port()
    async with connect(f"127.0.0.1:{port}") as channel:
        early = asyncio.ensure_future(
            channel.call(call_of(channel.grpc, "echo"), b"early", LONG_MS, wait_for_ready=True)
        )
        await asyncio.sleep(0.3)
        async with server(f"127.0.0.1:{port}", [(add_to_server, raw)], [NAME], readiness):
            assert await early == b"early"


class Peer:
    """The raw service in a process of its own."""

    def __init__(self) -> None:
        self.port = free_port()
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.process.runtime.raw_server", str(self.port)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"serving\n"

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def peer() -> Iterator[Peer]:
    peer = Peer()
    yield peer
    peer.end()


async def test_a_killed_peer_is_noticed_at_once_and_its_successor_found(peer: Peer) -> None:
    async with connect(f"127.0.0.1:{peer.port}") as channel:
        assert await call(channel, "echo", b"x") == b"x"
        broken = asyncio.ensure_future(channel.broken())
        pending = asyncio.ensure_future(call(channel, "waits"))
        await asyncio.sleep(0.2)
        assert not broken.done()
        began = time.monotonic()
        peer.signal(signal.SIGKILL)
        with pytest.raises(Unreachable):
            await pending
        async with asyncio.timeout(5):
            await broken
            while await probe("127.0.0.1", peer.port, 1000) is not ProbeResult.REFUSED:
                await asyncio.sleep(0.01)
        assert time.monotonic() - began < 2
        peer.end()
        peer.start()
        assert await channel.call(call_of(channel.grpc, "echo"), b"again", LONG_MS, wait_for_ready=True) == b"again"


async def test_a_frozen_peer_is_noticed_by_keepalive(peer: Peer) -> None:
    async with connect(f"127.0.0.1:{peer.port}") as channel:
        assert await call(channel, "echo", b"x") == b"x"
        peer.signal(signal.SIGSTOP)
        with pytest.raises(Unreachable):
            await call(channel, "waits", timeout_ms=LONG_MS)
        # The kernel still accepts for it: nothing says that this process is gone.
        assert await probe("127.0.0.1", peer.port, 1000) is ProbeResult.OPEN
        peer.signal(signal.SIGCONT)


async def test_a_channel_to_nobody_is_broken() -> None:
    async with connect(f"127.0.0.1:{free_port()}") as channel, asyncio.timeout(10):
        await channel.broken()


async def test_probe_tells_refused_from_open_from_unknown() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        assert await probe("127.0.0.1", listening.getsockname()[1], 1000) is ProbeResult.OPEN
    assert await probe("127.0.0.1", free_port(), 1000) is ProbeResult.REFUSED
    assert await probe("no-such-host.invalid", 80, 1000) is ProbeResult.UNKNOWN


async def test_probe_gives_up_in_time() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        # With its queue full, a listener answers no further connection at all.
        fillers = [socket.socket() for _ in range(3)]
        for filler in fillers:
            filler.settimeout(0)
            filler.connect_ex(full.getsockname())
        began = time.monotonic()
        assert await probe("127.0.0.1", full.getsockname()[1], 200) is ProbeResult.UNKNOWN
        assert time.monotonic() - began < 5
        for filler in fillers:
            filler.close()
