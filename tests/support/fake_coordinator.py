"""A coordinator in the hands of a test: a listener that takes envelopes and answers them as the test says."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.support.async_waiting import eventually_true
from tidelog.kafka.coordination.envelopes import encode_enveloped, read_envelope
from tidelog.kafka.types import Endpoint
from tidelog.kafka.wire.headers import decode_request_header, encode_response, peek_request
from tidelog.kafka.wire.messages.envelope import ENVELOPE, EnvelopeResponse
from tidelog.net.limits import ConnectionLimits
from tidelog.net.listener import Listener
from tidelog.rpc import types_pb2

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.kafka.wire.headers import RequestHeader
    from tidelog.kafka.wire.schema import Api, Request, Response
    from tidelog.net.answers import Slot
    from tidelog.net.server_connection import ServerConnection

LENGTH_BYTES = struct.calcsize(">i")


@dataclass
class Relayed:
    """A client's request that came in an envelope, or one that a broker asks by itself."""

    header: RequestHeader
    request: Request[Any]
    # Of the envelope: who passed it on, and for whom. A request of the broker's own has none.
    broker: str | None
    client_host: bytes | None
    _correlation_id: int
    _slot: Slot

    def answer(self, response: Response) -> None:
        data = encode_response(response, self.header.api_version, self.header.correlation_id)
        if self.client_host is None:
            self._slot.fill(data)
        else:
            self._slot.fill(encode_enveloped(memoryview(data)[LENGTH_BYTES:], self._correlation_id))

    def refuse_to_read(self, code: int) -> None:
        self._slot.fill(encode_response(EnvelopeResponse(error_code=code), 0, self._correlation_id))


class FakeCoordinator:
    """Answers at once where there is a way to, else keeps the request until the test answers it."""

    def __init__(self, id: int, apis: tuple[Api, ...]) -> None:
        self.id = id
        self.waiting: list[Relayed] = []
        self.seen: list[Relayed] = []
        self.connections: list[ServerConnection] = []
        self._apis = {api.key: api for api in apis}
        self._ways: dict[type[Request[Any]], Callable[[Any], Response]] = {}
        self._listener: Listener | None = None

    async def start(self, port: int = 0) -> FakeCoordinator:
        limits = ConnectionLimits(answers_in_order=False, unanswered_max=10_000)
        self._listener = await Listener.open(Endpoint("PLAINTEXT", "127.0.0.1", port), self._handle, limits=limits)
        return self

    async def stop(self) -> None:
        if self._listener is not None:
            for connection in self.connections:
                connection.abort()
            await self._listener.close(1.0)
            self._listener = None

    @property
    def port(self) -> int:
        assert self._listener is not None
        return self._listener.port

    def member(self, epoch: int = 1) -> types_pb2.Member:
        endpoints = [
            types_pb2.Endpoint(listener="GRPC", host="127.0.0.1", port=1),
            types_pb2.Endpoint(listener="PLAINTEXT", host="127.0.0.1", port=self.port),
        ]
        return types_pb2.Member(id=self.id, epoch=epoch, endpoints=endpoints)

    def answers(self, kind: type[Request[Any]], way: Callable[[Any], Response]) -> None:
        self._ways[kind] = way

    def always_answers(self, kind: type[Request[Any]], response: Response) -> None:
        self.answers(kind, lambda _: response)

    async def next(self) -> Relayed:
        """The oldest request that waits for its answer."""
        await eventually_true(lambda: self.waiting)
        return self.waiting.pop(0)

    def _handle(self, connection: ServerConnection, frame: memoryview) -> None:
        if connection not in self.connections:
            self.connections.append(connection)
        asked = self._opened(connection, frame)
        self.seen.append(asked)
        way = self._ways.get(type(asked.request))
        if way is None:
            self.waiting.append(asked)
        else:
            asked.answer(way(asked.request))

    def _opened(self, connection: ServerConnection, frame: memoryview) -> Relayed:
        connection.request = None
        slot = connection.defer()
        key, _, _ = peek_request(frame)
        if key != ENVELOPE.key:
            header, request = self._decoded(frame)
            return Relayed(header, request, header.client_id, None, header.correlation_id, slot)
        outer, at = decode_request_header(frame, ENVELOPE)
        start, end, client_host = read_envelope(frame, at)
        header, request = self._decoded(frame[start:end])
        return Relayed(header, request, outer.client_id, client_host, outer.correlation_id, slot)

    def _decoded(self, frame: memoryview) -> tuple[RequestHeader, Request[Any]]:
        key, version, _ = peek_request(frame)
        header, at = decode_request_header(frame, self._apis[key])
        return header, self._apis[key].request.decode(version, bytes(frame), at)
