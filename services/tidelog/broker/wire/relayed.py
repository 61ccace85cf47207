"""What the APIs of groups and transactions share: their requests are passed on to coordinators, whole or in parts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidelog.broker.shell.coordinator_requests import PassedOn, encode_counted
from tidelog.kafka.cluster import CONSUMER_OFFSETS, TRANSACTION_STATE
from tidelog.kafka.coordination.keys import first_key
from tidelog.kafka.coordination.splitting import merge, split_by
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.primitives import MalformedMessage
from tidelog.net.dispatch import MESSAGE_BYTES_MAX

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from tidelog.broker.shell.relay import Relay
    from tidelog.kafka.cluster import Member
    from tidelog.kafka.wire.schema import Api, Request, Response
    from tidelog.net.served import RequestContext

    ServeFrame = Callable[[RequestContext, memoryview, int], None]

    class KeyOf(Protocol):
        """Finds the key in a frame whose body starts at a place."""

        def __call__(self, frame: memoryview, at: int, *, flexible: bool) -> bytes: ...


@dataclass(frozen=True, slots=True)
class OneKey:
    """Serves the requests of an API that are about one group or transactional id, by passing on their frames."""

    relay: Relay
    api: Api
    topic: str
    key_of: KeyOf = first_key
    # Whether it may have to wait for the other members of the group.
    waits_long: bool = False
    # What is wrong with an empty key, if anything: offsets can be those of the group without a name.
    refusal_of_empty: KafkaCode | None = None

    def serve(self, context: RequestContext, frame: memoryview, at: int) -> None:
        key = self.key_of(frame, at, flexible=context.version in self.api.flexible)
        if not key and self.refusal_of_empty is not None:
            self._refuse(self.refusal_of_empty, context, frame, at)
        else:
            self.pass_on(key, context, frame, at)

    def pass_on(self, key: bytes, context: RequestContext, frame: memoryview, at: int) -> None:
        """To the owner of this key. Refused if there is none, or if another broker should have been asked."""
        if len(frame) > MESSAGE_BYTES_MAX:
            raise MalformedMessage(f"a {self.api.name} request of {len(frame)} bytes")
        try:
            owner = self.relay.routing.owner_behind(self.topic, key)
        except KafkaError as refusal:
            self._refuse(refusal.code, context, frame, at)
            return
        request = PassedOn(self.relay, self.api, context, waits_long=self.waits_long)
        self.relay.pass_on(owner, context, frame, at, request)

    def _refuse(self, code: KafkaCode, context: RequestContext, frame: memoryview, at: int) -> None:
        request = self.api.request.decode(context.version, frame, at)
        response = self.relay.refusal(request, context.version, code)
        context.connection.reply(encode_counted(context, response))


def by_group(
    relay: Relay, api: Api, key_of: KeyOf = first_key, *, waits_long: bool = False, may_be_empty: bool = False
) -> ServeFrame:
    refusal_of_empty = None if may_be_empty else KafkaCode.INVALID_GROUP_ID
    return OneKey(relay, api, CONSUMER_OFFSETS, key_of, waits_long, refusal_of_empty).serve


def by_transactional_id(relay: Relay, api: Api) -> ServeFrame:
    return OneKey(relay, api, TRANSACTION_STATE, refusal_of_empty=KafkaCode.INVALID_REQUEST).serve


async def ask_owner(relay: Relay, topic: str, key: str, context: RequestContext, request: Request[Any]) -> Response:
    """A decoded request to the owner of this key."""
    return await _asked(relay, _place_of(relay, topic, key), context, request)


async def ask_owners_of_keys(relay: Relay, topic: str, context: RequestContext, request: Request[Any]) -> Response:
    """A request about several keys: each owner is asked about its own, and the answers are put together."""
    parts = split_by(request, context.version, lambda key: _place_of(relay, topic, key))
    answers = await asyncio.gather(*(_asked(relay, place, context, part) for place, part in parts.items()))
    return merge(request, context.version, answers)


async def ask_all_owners(relay: Relay, topic: str, context: RequestContext, request: Request[Any]) -> Response:
    """A request about everything that this broker is the coordinator of, as its clients see it."""
    try:
        owners = relay.routing.owners_behind(topic)
    except KafkaError as refusal:
        return relay.refusal(request, context.version, refusal.code)
    answers = await asyncio.gather(*(_asked(relay, owner, context, request) for owner in owners))
    return merge(request, context.version, answers)


def _place_of(relay: Relay, topic: str, key: str) -> Member | KafkaCode:
    """The owner, or why there is none to be asked."""
    if not key and topic == TRANSACTION_STATE:
        return KafkaCode.INVALID_REQUEST
    try:
        return relay.routing.owner_behind(topic, key.encode("utf-8", "replace"))
    except KafkaError as refusal:
        return refusal.code


async def _asked(relay: Relay, place: Member | KafkaCode, context: RequestContext, part: Request[Any]) -> Response:
    if isinstance(place, KafkaCode):
        return relay.refusal(part, context.version, place)
    try:
        response: Response = await relay.ask_for_client(place, context, part)
    except KafkaError as refusal:
        return relay.refusal(part, context.version, refusal.code)
    return response
