"""Finding the broker that answers for a group or a transactional id, and asking it until it does."""

import time
from collections.abc import Callable
from enum import IntEnum
from typing import TypeVar

from tidelog.client.shell.client import Client
from tidelog.client.shell.connections import NETWORK_FAULTS, Link
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.kafka.wire.schema import Request, Response

R = TypeVar("R", bound=Response)

_SINGLE_KEY_VERSION = 3
_MOVED = frozenset({KafkaCode.NOT_COORDINATOR, KafkaCode.COORDINATOR_NOT_AVAILABLE})


class KeyType(IntEnum):
    GROUP = 0
    TRANSACTION = 1


class Coordinator:
    """The coordinator of one key, wherever it is now."""

    def __init__(self, client: Client, key: str, key_type: KeyType) -> None:
        self._client = client
        self._key = key
        self._key_type = key_type
        self._node_id: int | None = None

    async def link(self) -> Link:
        """A link of its own to the coordinator, so that nothing waits behind fetches. Raises what insisting handles."""
        return await self._client.connections.link(await self.node_id(), self._key_type.name)

    async def node_id(self) -> int:
        """Its broker's id. Raises what insisting handles."""
        if self._node_id is None:
            self._node_id = await self._find()
        return self._node_id

    def forget(self) -> None:
        """It has moved, or does not answer."""
        self._node_id = None

    async def call(
        self,
        make: Callable[[], Request[R]],
        code_of: Callable[[R], int],
        *,
        timeout_ms: int,
        answer_timeout_ms: int | None = None,
        at_most: int = 32767,
        patient_about: frozenset[KafkaCode] = frozenset(),
    ) -> R:
        """Ask until an answer comes that is no reason to ask again. The request is made anew for each attempt."""

        async def attempt() -> R:
            return await self.ask(make(), code_of, answer_timeout_ms=answer_timeout_ms, at_most=at_most)

        deadline = time.monotonic() + timeout_ms / 1000
        while True:
            left_ms = max(1, int((deadline - time.monotonic()) * 1000))
            try:
                return await self._client.insist(attempt, left_ms)
            except KafkaError as error:
                if error.code not in patient_about or time.monotonic() >= deadline:
                    raise
            await self._client.back_off()

    async def ask(
        self,
        request: Request[R],
        code_of: Callable[[R], int],
        *,
        answer_timeout_ms: int | None = None,
        at_most: int = 32767,
    ) -> R:
        """Ask once; the answer's error is raised."""
        try:
            link = await self.link()
            response = await link.call(request, timeout_ms=answer_timeout_ms, at_most=at_most)
        except NETWORK_FAULTS:
            self.forget()
            raise
        code = KafkaCode(code_of(response))
        if code in _MOVED:
            self.forget()
        if code:
            raise KafkaError(code)
        return response

    async def _find(self) -> int:
        link = await self._client.any_broker()
        request = FindCoordinatorRequest(key=self._key, key_type=self._key_type)
        found = await link.call(request, at_most=_SINGLE_KEY_VERSION)
        if found.error_code:
            raise KafkaError(KafkaCode(found.error_code), found.error_message or "")
        if found.node_id not in self._client.metadata.view.nodes:
            self._client.metadata.request()
            raise KafkaError(KafkaCode.COORDINATOR_NOT_AVAILABLE, f"broker {found.node_id} is not known yet")
        return found.node_id
