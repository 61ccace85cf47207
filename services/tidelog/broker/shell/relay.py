"""Requests about groups and transactions, passed on to the coordinators that own their shards."""

from __future__ import annotations

from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tidelog.broker.core.coordinator_routing import kafka_endpoint
from tidelog.broker.shell.coordinator_link import CoordinatorLink
from tidelog.broker.shell.coordinator_requests import EnvelopedRequest, OwnRequest, encode_counted
from tidelog.kafka.coordination.envelopes import encode_envelope, host_bytes
from tidelog.kafka.coordination.group_refusals import refused
from tidelog.kafka.coordination.transaction_answers import TransactionRequest, refusal
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.headers import encode_request
from tidelog.runtime import logs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from tidelog.broker.core.coordinator_routing import CoordinatorRouting
    from tidelog.broker.shell.coordinator_link import Spawn
    from tidelog.broker.shell.coordinator_requests import PassedOn
    from tidelog.kafka.cluster import Member
    from tidelog.kafka.wire.schema import Request, Response
    from tidelog.net.answers import Slot
    from tidelog.net.dispatch import RequestTiming
    from tidelog.net.served import RequestContext
    from tidelog.runtime.background import Background
    from tidelog.runtime.clock import Clock
    from tidelog.runtime.cluster_mirror import ClusterMirror
    from tidelog.runtime.timers import Timers

R = TypeVar("R", bound="Response")

# How late a request may be refused that waited too long.
_SWEEP_MS = 1000
_LENGTH_BYTES = 4

_logger = logs.get("relay")


class Relay:
    """The links to all coordinators, and the two ways of asking them: a client's frame as it came, or a message."""

    def __init__(
        self,
        routing: CoordinatorRouting,
        request_timeout_ms: int,
        throttling: RequestTiming,
        clock: Clock,
        spawn: Spawn,
    ) -> None:
        self.routing = routing
        self.throttling = throttling
        # How many requests were refused here, by the code that clients were told.
        self.refusals: Counter[KafkaCode] = Counter()
        self.links: dict[int, CoordinatorLink] = {}
        self._request_timeout_ms = request_timeout_ms
        self._clock = clock
        self._spawn = spawn
        self._client_id = str(routing.broker_id)

    @asynccontextmanager
    async def followed(self, mirror: ClusterMirror, timers: Timers, tasks: Background) -> AsyncIterator[None]:
        """Links follow the cluster within, and are closed in the end."""
        sweep = timers.every(_SWEEP_MS, self._sweep)
        tasks.spawn(self._follow(mirror), "links to coordinators")
        try:
            yield
        finally:
            sweep.cancel()
            for link in self.links.values():
                link.close()

    def pass_on(self, owner: Member, context: RequestContext, frame: memoryview, at: int, request: PassedOn) -> None:
        """A client's frame, whose body starts at `at`; its answer goes to the client as it comes."""
        link = self._link(owner)
        if link is None:
            request.frame, request.body_at = bytes(frame), at
            request.refused(KafkaCode.COORDINATOR_NOT_AVAILABLE)
            return
        correlation_id = link.next_correlation_id()
        host = host_bytes(context.connection.peer_host)
        envelope, start = encode_envelope(frame, correlation_id, link.client_id, host)
        request.frame, request.body_at = envelope, start + at
        link.ask(request, correlation_id, envelope, waits_long=request.waits_long)

    async def ask_for_client(self, owner: Member, context: RequestContext, request: Request[R]) -> R:
        """A client's request, or a part of it, in an envelope of its own. KafkaError if there is no answer."""
        version = context.version
        frame = encode_request(request, version, context.correlation_id, context.client_id)
        link = self._required(owner)
        correlation_id = link.next_correlation_id()
        host = host_bytes(context.connection.peer_host)
        envelope, _ = encode_envelope(memoryview(frame)[_LENGTH_BYTES:], correlation_id, link.client_id, host)
        asked = EnvelopedRequest(request.api, version)
        link.ask(asked, correlation_id, envelope)
        return cast("R", await asked.response)

    async def ask(self, owner: Member, request: Request[R], version: int) -> R:
        """A request of this broker's own. KafkaError if there is no answer."""
        link = self._required(owner)
        correlation_id = link.next_correlation_id()
        asked = OwnRequest(request.api, version)
        link.ask(asked, correlation_id, encode_request(request, version, correlation_id, self._client_id))
        return cast("R", await asked.response)

    def answer_later(self, context: RequestContext, response: Coroutine[Any, Any, Response]) -> None:
        """For a request that came as a frame and is not passed on as one."""
        self._spawn(_answer(context, context.connection.defer(), response), "a request in parts")

    def refusal(self, request: Request[Any], version: int, code: KafkaCode) -> Response:
        """The answer that tells a client to look for its coordinator again."""
        self.refusals[code] += 1
        if isinstance(request, TransactionRequest):
            return refusal(request, version, code)
        return refused(request, version, code, self.routing.partition_exists)

    # ---- links

    def _required(self, owner: Member) -> CoordinatorLink:
        link = self._link(owner)
        if link is None:
            raise KafkaError(KafkaCode.COORDINATOR_NOT_AVAILABLE)
        return link

    def _link(self, owner: Member) -> CoordinatorLink | None:
        link = self.links.get(owner.id)
        if link is not None and link.epoch == owner.epoch:
            return link
        if link is not None:
            link.close()
        endpoint = kafka_endpoint(owner)
        if endpoint is None:
            return None
        link = self.links[owner.id] = CoordinatorLink(
            owner.epoch, endpoint, self._client_id, self._request_timeout_ms, self._clock, self._spawn
        )
        return link

    async def _follow(self, mirror: ClusterMirror) -> None:
        """Close the links to coordinators that are gone, and to former incarnations of those that are back."""
        while True:
            changed = mirror.next_change
            for id, link in list(self.links.items()):
                member = mirror.view.coordinators.get(id)
                if member is None or member.epoch != link.epoch:
                    link.close()
                    del self.links[id]
            await changed.wait()

    def _sweep(self) -> None:
        for link in self.links.values():
            link.sweep()


async def _answer(context: RequestContext, slot: Slot, response: Coroutine[Any, Any, Response]) -> None:
    try:
        slot.fill(encode_counted(context, await response))
    except Exception as error:  # noqa: BLE001  whatever one request breaks, it breaks for its connection alone
        _logger.failure("request failed", error, api_key=context.api_key, version=context.version)
        slot.close()
