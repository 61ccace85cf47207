"""What all parts of the admin client share: asking the right broker until it answers, and raising what it refuses."""

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from tidelog.client.configs.admin import AdminConfig
from tidelog.client.core.cluster import NO_LEADER
from tidelog.client.records import TopicPartition
from tidelog.client.shell.client import Client
from tidelog.client.shell.connections import Link
from tidelog.client.shell.coordinators import Coordinator, KeyType
from tidelog.kafka.errors import PROPERTIES, KafkaCode, KafkaError
from tidelog.kafka.wire.schema import Request, Response

R = TypeVar("R", bound=Response)

# What was asked for (by name), an error code, and what the broker adds to it.
Outcome = tuple[str, int, str | None]


class AdminClient(Client):
    """Asks any broker, the controller, a leader or a coordinator."""

    config: AdminConfig

    def _creates_topics(self) -> bool:
        return False

    def _retries(self) -> int:
        return self.config.retries

    def _time_ms(self, timeout_ms: int | None) -> int:
        self.check_open()
        return self.config.default_api_timeout_ms if timeout_ms is None else timeout_ms

    async def _ask_any(
        self, request: Request[R], timeout_ms: int | None, code_of: Callable[[R], int] | None = None
    ) -> R:
        async def attempt() -> R:
            return await _asked(await self.any_broker(), request, code_of)

        return await self.insist(attempt, self._time_ms(timeout_ms))

    async def _ask_broker(
        self, broker_id: int, request: Request[R], timeout_ms: int | None, code_of: Callable[[R], int] | None = None
    ) -> R:
        async def attempt() -> R:
            return await _asked(await self.connections.link(broker_id), request, code_of)

        return await self.insist(attempt, self._time_ms(timeout_ms))

    async def _ask_controller(
        self,
        request: Request[R],
        timeout_ms: int | None,
        outcomes: Callable[[R], Iterable[Outcome]],
        *,
        at_most: int = 32767,
    ) -> R:
        """Ask the controller; a broker that is not it any more makes the question be asked again."""

        async def attempt() -> R:
            link = await self.controller()
            answer = await link.call(request, at_most=at_most)
            if any(code == KafkaCode.NOT_CONTROLLER for _, code, _ in outcomes(answer)):
                raise KafkaError(KafkaCode.NOT_CONTROLLER)
            return answer

        answer = await self.insist(attempt, self._time_ms(timeout_ms))
        raise_first(outcomes(answer))
        return answer

    async def _ask_coordinator(
        self,
        key: str,
        request: Request[R],
        code_of: Callable[[R], int],
        timeout_ms: int | None,
        *,
        key_type: KeyType = KeyType.GROUP,
        at_most: int = 32767,
    ) -> R:
        coordinator = Coordinator(self, key, key_type)
        return await coordinator.call(lambda: request, code_of, timeout_ms=self._time_ms(timeout_ms), at_most=at_most)

    async def _leaders_of(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None
    ) -> dict[int, list[TopicPartition]]:
        """Who leads each of these partitions now."""
        wanted = [TopicPartition(*each) for each in partitions]
        deadline = time.monotonic() + self._time_ms(timeout_ms) / 1000
        for topic in {each.topic for each in wanted}:
            await self.metadata.topic(topic, max(1, int((deadline - time.monotonic()) * 1000)))
        found: dict[int, list[TopicPartition]] = {}
        for each in wanted:
            leader = self.metadata.view.leader(*each)
            if leader == NO_LEADER:
                raise KafkaError(KafkaCode.LEADER_NOT_AVAILABLE, f"{each} has no leader")
            found.setdefault(leader, []).append(each)
        return found


async def _asked(link: Link, request: Request[R], code_of: Callable[[R], int] | None) -> R:
    answer = await link.call(request)
    code = KafkaCode(0 if code_of is None else code_of(answer))
    if code:
        raise KafkaError(code)
    return answer


def raise_first(outcomes: Iterable[Outcome]) -> None:
    """Raise the first refusal with the name of what was refused."""
    for name, number, message in outcomes:
        if number:
            code = KafkaCode(number)
            raise KafkaError(code, f"{name}: {message or PROPERTIES[code].text}")


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Partition numbers under the names of their topics."""
    found: dict[str, list[int]] = {}
    for topic, partition in partitions:
        found.setdefault(topic, []).append(partition)
    return found
