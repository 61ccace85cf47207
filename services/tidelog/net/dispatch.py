"""From a frame to the code that answers it.

What cannot be made sense of (an unknown key, a version that is not offered, a body that does not follow its schema)
closes the connection without an answer. The exception is ApiVersions in a version from the future, which is how a newer
client finds out what it may speak.

An answer that tells a client to wait, by its throttle time, also stops the reading of its connection for that long. The
time of a request that is answered later counts up to where it began to wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from tidelog.kafka.wire.headers import encode_response, peek_request, read_client_id
from tidelog.kafka.wire.messages.api_versions import API_VERSIONS
from tidelog.kafka.wire.primitives import MalformedMessage
from tidelog.kafka.wire.schema import Response
from tidelog.net import api_versions
from tidelog.net.awaited import AwaitedRequests
from tidelog.net.error_codes import error_codes
from tidelog.net.limits import UNLIMITED
from tidelog.net.request_counts import RequestCounts
from tidelog.net.served import RequestContext, Served, ServedApi
from tidelog.runtime import logs

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable

    from tidelog.net.answers import Slot
    from tidelog.net.request_counts import ApiCounts
    from tidelog.net.server_connection import ServerConnection

_logger = logs.get("wire")

# Decoded, a message takes up to thirty times its bytes. No request that is answered by message comes near this size.
MESSAGE_BYTES_MAX = 16 * 1024 * 1024


class RequestTiming(Protocol):
    """Charges clients for the time that their requests keep this process busy."""

    @property
    def times_requests(self) -> bool:
        """Whether anybody is charged at present; where nobody is, no clock is read."""
        ...

    def request_ms(self, context: RequestContext) -> int:
        """For how long this client has to wait now."""
        ...


class FreeOfCharge:
    """For listeners that only this cluster's own processes use."""

    times_requests = False

    def request_ms(self, context: RequestContext) -> int:  # noqa: ARG002  nobody waits
        return 0


class Dispatcher:
    """The handler of every listener of a process. ApiVersions comes by itself and offers exactly what is served."""

    def __init__(
        self,
        served: Iterable[Served],
        throttling: RequestTiming,
        counts: RequestCounts | None = None,
        awaited: AwaitedRequests | None = None,
    ) -> None:
        offers = tuple(served)
        every = (*offers, api_versions.served(offers))
        assert len({one.api.key for one in every}) == len(every), "an API is served once"
        self.counts = RequestCounts() if counts is None else counts
        # By key and version: what serves it, whether the version is flexible, and where it is counted.
        self._served: dict[tuple[int, int], tuple[Served, bool, ApiCounts]] = {
            (one.api.key, version): (one, version in one.api.flexible, self.counts.of(one.api.name))
            for one in every
            for version in range(one.versions.low, one.versions.high + 1)
        }
        self._throttling = throttling
        self._awaited = AwaitedRequests(UNLIMITED) if awaited is None else awaited

    def __call__(self, connection: ServerConnection, frame: memoryview) -> None:
        try:
            key, version, correlation_id = peek_request(frame)
            found = self._served.get((key, version))
            if found is None:
                _refuse(connection, key, version, correlation_id)
                return
            served, flexible, counts = found
            client_id, body_at = read_client_id(frame, flexible=flexible)
            # What came before it on its connection is done by now, so the moment of that is when this one begins.
            context = connection.request = RequestContext(
                connection,
                key,
                version,
                correlation_id,
                client_id,
                counts,
                len(frame),
                connection.received_ns,
                connection.moment_ns,
            )
            if isinstance(served, ServedApi):
                self._serve_message(served, context, frame, body_at)
            else:
                served.serve(context, frame, body_at)
        except MalformedMessage as error:
            _logger.info("connection closed", reason=str(error), peer=connection.peer_host)
            connection.close()

    def _serve_message(self, served: ServedApi, context: RequestContext, frame: memoryview, body_at: int) -> None:
        if len(frame) > MESSAGE_BYTES_MAX:
            raise MalformedMessage(f"a {served.api.name} request of {len(frame)} bytes")
        answer = served.serve(context, served.api.request.decode(context.version, frame, body_at))
        if isinstance(answer, Response):
            context.connection.reply(self._encoded(context, answer))
        elif answer is None:
            context.finish_unanswered()
        else:
            slot = context.connection.defer()
            self._awaited.begin(self._serve_later(answer, context, slot), context.connection)

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
            context.throttle(throttle_ms)
            if hasattr(response, "throttle_time_ms"):
                response.throttle_time_ms = throttle_ms
        errors = context.counts.errors
        for code in error_codes(response):
            errors[code] += 1
        return encode_response(response, context.version, context.correlation_id)


def _refuse(connection: ServerConnection, key: int, version: int, correlation_id: int) -> None:
    if key != API_VERSIONS.key:
        raise MalformedMessage(f"API key {key} version {version} is not offered")
    connection.request = None
    connection.reply(encode_response(api_versions.unsupported_version(), 0, correlation_id))
