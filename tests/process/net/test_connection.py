"""The client side of a connection, against our own listener and against servers that misbehave."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from tidelog.kafka.types import Endpoint
from tidelog.kafka.wire.headers import encode_response, peek_request
from tidelog.kafka.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from tidelog.kafka.wire.messages.metadata import MetadataRequest, MetadataResponse
from tidelog.kafka.wire.primitives import MalformedMessage
from tidelog.net.connection import Connection, ConnectionLostError
from tidelog.net.limits import ConnectionLimits
from tidelog.net.listener import Listener
from tidelog.net.server_connection import Handler, ServerConnection

if TYPE_CHECKING:
    from tidelog.net.answers import Slot

LIMITS = ConnectionLimits(answers_in_order=False)


@asynccontextmanager
async def connected(handler: Handler, limits: ConnectionLimits = LIMITS) -> AsyncIterator[Connection]:
    listener = await Listener.open(Endpoint("PLAINTEXT", "127.0.0.1", 0), handler, limits=limits)
    connection = await Connection.open("127.0.0.1", listener.port, client_id="test", timeout_s=10)
    try:
        yield connection
    finally:
        connection.close()
        await listener.close(5)


def answer_metadata(connection: ServerConnection, frame: memoryview) -> None:
    _, version, correlation_id = peek_request(frame)
    connection.reply(encode_response(MetadataResponse(controller_id=correlation_id), version, correlation_id))


@pytest.mark.parametrize("version", [1, 9, 12])
async def test_a_call_gets_its_answer(version: int) -> None:
    async with connected(answer_metadata) as connection:
        answer = await connection.call(MetadataRequest(topics=None), version, timeout_s=10)
        assert answer == MetadataResponse(controller_id=1)


async def test_calls_do_not_wait_for_each_other_and_find_their_own_answers() -> None:
    slots: list[tuple[Slot, int]] = []

    def answer_in_reverse(connection: ServerConnection, frame: memoryview) -> None:
        slots.append((connection.defer(), peek_request(frame)[2]))
        if len(slots) == 50:
            for slot, correlation_id in reversed(slots):
                slot.fill(encode_response(HeartbeatResponse(error_code=correlation_id), 4, correlation_id))

    async with connected(answer_in_reverse) as connection:
        calls = [connection.call(HeartbeatRequest(), 4, timeout_s=10) for _ in range(50)]
        answers = await asyncio.gather(*calls)
        assert [answer.error_code for answer in answers] == list(range(1, 51))
        assert connection.in_flight == 0


async def test_a_large_answer_is_read_where_it_lies() -> None:
    size = 5_000_000

    def answer_long(connection: ServerConnection, frame: memoryview) -> None:
        connection.reply(struct.pack(">ii", 4 + size, peek_request(frame)[2]), b"x" * size)

    async with connected(answer_long) as connection:
        for _ in range(3):
            correlation_id = connection.next_correlation_id()
            frame = struct.pack(">ihhih", 10, 1, 16, correlation_id, -1)
            seen = connection.exchange(correlation_id, lambda view: (len(view), bytes(view[-3:])), frame[:7], frame[7:])
            assert await seen == (4 + size, b"xxx")


async def test_a_call_that_takes_too_long_times_out_and_the_late_answer_harms_nobody() -> None:
    slots: list[Slot] = []

    def first_late(connection: ServerConnection, frame: memoryview) -> None:
        if slots:
            answer_metadata(connection, frame)
        else:
            slots.append(connection.defer())

    async with connected(first_late) as connection:
        with pytest.raises(TimeoutError):
            await connection.call(MetadataRequest(), 9, timeout_s=0.1)
        slots[0].fill(encode_response(MetadataResponse(), 9, 1))
        answer = await connection.call(MetadataRequest(), 9, timeout_s=10)
        assert answer.controller_id == 2


async def test_calls_under_way_fail_when_the_server_goes_and_so_do_later_ones() -> None:
    async with connected(lambda connection, _: connection.abort()) as connection:
        with pytest.raises(ConnectionLostError):
            await connection.call(MetadataRequest(), 9, timeout_s=10)
        await connection.closed()
        assert not connection.is_open
        with pytest.raises(ConnectionLostError):
            await connection.call(MetadataRequest(), 9, timeout_s=10)


async def test_calls_under_way_fail_when_we_close() -> None:
    async with connected(lambda connection, _: None) as connection:
        call = asyncio.ensure_future(connection.call(MetadataRequest(), 9, timeout_s=10))
        await asyncio.sleep(0.05)
        connection.close()
        with pytest.raises(ConnectionLostError):
            await call


NONSENSE = {
    "a negative length": struct.pack(">i", -1),
    "an absurd length": struct.pack(">i", 2**31 - 1),
    "an answer nobody asked for": struct.pack(">ii", 4, 999),
    "a length too short for a header": struct.pack(">i", 3) + b"abc",
}


@pytest.mark.parametrize("data", NONSENSE.values(), ids=NONSENSE)
async def test_a_server_that_talks_nonsense_is_left(data: bytes) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(4)
        writer.write(data)
        await reader.read()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    connection = await Connection.open("127.0.0.1", port, client_id=None, timeout_s=10)
    with pytest.raises(ConnectionLostError, match="the server sent"):
        await connection.call(MetadataRequest(), 9, timeout_s=10)
    server.close()
    await server.wait_closed()


async def test_an_answer_that_cannot_be_decoded_is_the_fault_of_its_call_alone() -> None:
    def cut_the_first(connection: ServerConnection, frame: memoryview) -> None:
        correlation_id = peek_request(frame)[2]
        if correlation_id == 1:
            connection.reply(struct.pack(">iib", 5, 1, 0))
        else:
            answer_metadata(connection, frame)

    async with connected(cut_the_first) as connection:
        with pytest.raises(MalformedMessage):
            await connection.call(MetadataRequest(), 9, timeout_s=10)
        assert (await connection.call(MetadataRequest(), 9, timeout_s=10)).controller_id == 2


async def test_nobody_there_is_an_oserror() -> None:
    listener = await Listener.open(Endpoint("PLAINTEXT", "127.0.0.1", 0), answer_metadata)
    port = listener.port
    await listener.close(1)
    with pytest.raises(OSError, match="onnect"):
        await Connection.open("127.0.0.1", port, client_id=None, timeout_s=10)
