"""What is under way to coordinators: requests of clients as they came, parts of such, and questions of the broker's own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tidelog.broker.shell.coordinator_link import Asked
from tidelog.kafka.coordination.envelopes import framed, read_enveloped
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.headers import encode_response, response_body_at
from tidelog.kafka.wire.primitives import MalformedMessage
from tidelog.net.error_codes import error_codes

if TYPE_CHECKING:
    from tidelog.broker.shell.relay import Relay
    from tidelog.kafka.wire.schema import Api, Response
    from tidelog.net.answers import Slot
    from tidelog.net.served import RequestContext


class PassedOn(Asked):
    """A client's request as it came, whose answer has its place among the answers of the client's connection."""

    __slots__ = ("_api", "_context", "_relay", "_slot", "body_at", "waits_long")

    def __init__(self, relay: Relay, api: Api, context: RequestContext, *, waits_long: bool) -> None:
        super().__init__()
        self.waits_long = waits_long
        self.body_at = 0
        self._relay = relay
        self._api = api
        self._context = context
        self._slot: Slot = context.connection.defer()

    @property
    def is_abandoned(self) -> bool:
        return not self._context.connection.is_open

    def answered(self, frame: memoryview) -> None:
        start, end, error_code = read_enveloped(frame)
        if error_code:
            # The coordinator could make no sense of it.
            self._slot.close()
        elif self._relay.throttling.times_requests:
            self._slot.fill(self._throttled(frame[start:end]))
        else:
            self._slot.fill(framed(frame[start:end]))

    def refused(self, code: KafkaCode) -> None:
        version = self._context.version
        try:
            request = self._api.request.decode(version, self.frame, self.body_at)
        except MalformedMessage:
            self._slot.close()
            return
        response = self._relay.refusal(request, version, code)
        self._slot.fill(encode_counted(self._context, response))

    def _throttled(self, answer: memoryview) -> bytes:
        """The client is told to wait, if it has to."""
        throttle_ms = self._relay.throttling.request_ms(self._context)
        if not throttle_ms:
            return framed(answer)
        version = self._context.version
        response = self._api.response.decode(version, answer, response_body_at(answer, self._api, version))
        self._context.throttle(throttle_ms)
        if hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = throttle_ms
        return encode_response(response, version, self._context.correlation_id)


def encode_counted(context: RequestContext, response: Response) -> bytes:
    """The whole frame of an answer that was made here, with its errors counted."""
    errors = context.counts.errors
    for code in error_codes(response):
        errors[code] += 1
    return encode_response(response, context.version, context.correlation_id)


class OwnRequest(Asked):
    """A request of this broker's own."""

    __slots__ = ("api", "response", "version")

    def __init__(self, api: Api, version: int) -> None:
        super().__init__()
        self.api = api
        self.version = version
        self.response: asyncio.Future[Response] = asyncio.get_running_loop().create_future()

    @property
    def is_abandoned(self) -> bool:
        return self.response.cancelled()

    def answered(self, frame: memoryview) -> None:
        found = self.api.response.decode(self.version, frame, response_body_at(frame, self.api, self.version))
        if not self.response.done():
            self.response.set_result(found)

    def refused(self, code: KafkaCode) -> None:
        if not self.response.done():
            self.response.set_exception(KafkaError(code))


class EnvelopedRequest(OwnRequest):
    """The same in an envelope."""

    __slots__ = ()

    def answered(self, frame: memoryview) -> None:
        start, end, error_code = read_enveloped(frame)
        if error_code:
            self.refused(KafkaCode.UNKNOWN_SERVER_ERROR)
        else:
            super().answered(frame[start:end])
