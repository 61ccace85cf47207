"""From a frame to the code that answers it.

What cannot be made sense of (an unknown key, a version that is not offered, a body that does not follow its schema)
closes the connection without an answer. The exception is ApiVersions in a version from the future, which is how a newer
client finds out what it may speak.

An answer that tells a client to wait, by its throttle time, also stops the reading of its connection for that long. The
time of a request that is answered later counts up to where it began to wait.
"""

from __future__ import annotations

import asyncio
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from tidelog.broker.wire import api_versions
from tidelog.broker.wire.served import RequestContext, Served, ServedApi
from tidelog.kafka.wire.headers import encode_response, peek_request, read_client_id
from tidelog.kafka.wire.messages.api_versions import API_VERSIONS
from tidelog.kafka.wire.primitives import MalformedMessage
from tidelog.kafka.wire.schema import Response
from tidelog.runtime import logs

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable

    from tidelog.broker.shell.client_throttling import ClientThrottling
    from tidelog.net.answers import Slot
    from tidelog.net.server_connection import ServerConnection

_logger = logs.get("wire")

# Decoded, a message takes up to thirty times its bytes. No request that is answered by message comes near this size.
MESSAGE_BYTES_MAX = 16 * 1024 * 1024


class Dispatcher:
    """The handler of every listener of a broker. ApiVersions comes by itself and offers exactly what is served."""

    def __init__(self, served: Iterable[Served], throttling: ClientThrottling) -> None:
        offers = tuple(served)
        every = (*offers, api_versions.served(offers))
        assert len({one.api.key for one in every}) == len(every), "an API is served once"
        # By key and version: what serves it, and whether the version is flexible.
        self._served: dict[tuple[int, int], tuple[Served, bool]] = {
            (one.api.key, version): (one, version in one.api.flexible)
            for one in every
            for version in range(one.versions.low, one.versions.high + 1)
        }
        self._throttling = throttling
        # The event loop keeps no strong reference to a task, so that one could vanish half done.
        self._tasks: set[asyncio.Task[None]] = set()

    def __call__(self, connection: ServerConnection, frame: memoryview) -> None:
        try:
            self._dispatch(connection, frame)
        except MalformedMessage as error:
            _logger.info("connection closed", reason=str(error), peer=connection.peer_host)
            connection.close()

    def _dispatch(self, connection: ServerConnection, frame: memoryview) -> None:
        key, version, correlation_id = peek_request(frame)
        found = self._served.get((key, version))
        if found is None:
            if key != API_VERSIONS.key:
                raise MalformedMessage(f"API key {key} version {version} is not offered")
            connection.reply(encode_response(api_versions.unsupported_version(), 0, correlation_id))
            return
        served, flexible = found
        client_id, body_at = read_client_id(frame, flexible=flexible)
        context = RequestContext(connection, key, version, correlation_id, client_id)
        if self._throttling.times_requests:
            context.started_ns = perf_counter_ns()
        if isinstance(served, ServedApi):
            self._serve_message(served, context, frame, body_at)
        else:
            served.serve(context, frame, body_at)
        if context.started_ns:
            context.busy_ns = perf_counter_ns() - context.started_ns

    def _serve_message(self, served: ServedApi, context: RequestContext, frame: memoryview, body_at: int) -> None:
        if len(frame) > MESSAGE_BYTES_MAX:
            raise MalformedMessage(f"a {served.api.name} request of {len(frame)} bytes")
        answer = served.serve(context, served.api.request.decode(context.version, frame, body_at))
        if isinstance(answer, Response):
            context.connection.reply(self._encoded(context, answer))
        elif answer is not None:
            task = asyncio.create_task(self._serve_later(answer, context, context.connection.defer()))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _serve_later(
        self, answer: Coroutine[Any, Any, Response | None], context: RequestContext, slot: Slot
    ) -> None:
        try:
            response = await answer
        except Exception:
            _logger.exception("request failed", api_key=context.api_key, version=context.version)
            slot.close()
            return
        if response is None:
            slot.fill()
        else:
            slot.fill(self._encoded(context, response))

    def _encoded(self, context: RequestContext, response: Response) -> bytes:
        throttle_ms: int = getattr(response, "throttle_time_ms", 0)
        if self._throttling.times_requests:
            throttle_ms = max(throttle_ms, self._throttling.request_ms(context))
        if throttle_ms:
            context.connection.mute(throttle_ms)
            if hasattr(response, "throttle_time_ms"):
                response.throttle_time_ms = throttle_ms
        return encode_response(response, context.version, context.correlation_id)
