"""Admin requests on their way through the core: each gets a number, and its caller waits for the answer."""

import asyncio
from collections.abc import Callable
from itertools import count

from tidelog.controller.core.answers import Answer, Refused
from tidelog.controller.core.events import AdminRequest, Event
from tidelog.kafka.errors import KafkaError


class AdminDesk:
    def __init__(self, post: Callable[[Event], None]) -> None:
        self._post = post
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[Answer]] = {}

    @property
    def is_busy(self) -> bool:
        return bool(self._waiting)

    async def ask(self, make: Callable[[int], AdminRequest]) -> Answer:
        """What the core answers; raises KafkaError if it refuses the whole request."""
        number = next(self._numbers)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        self._post(make(number))
        try:
            answer = await self._waiting[number]
        finally:
            del self._waiting[number]
        if isinstance(answer, Refused):
            raise KafkaError(answer.code, answer.message)
        return answer

    def reply(self, number: int, answer: Answer) -> None:
        future = self._waiting.get(number)
        if future is not None and not future.done():
            future.set_result(answer)
