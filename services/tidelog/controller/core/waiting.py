"""Answers that wait until what was asked for has come about, or until their time is up."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tidelog.controller.core.answers import TopicResult, TopicsAnswered
from tidelog.controller.core.effects import Reply
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.types import TopicName


@dataclass(frozen=True, slots=True)
class _Waiting:
    request: int
    deadline_ms: int
    results: tuple[TopicResult, ...]
    pending: Mapping[str, Callable[[], bool]]

    def answer(self) -> Reply:
        """Topics that are not there yet are answered with 7; they may still come about."""
        late = {name for name, is_done in self.pending.items() if not is_done()}
        timed_out = "The request timed out before the change was complete."
        results = (
            replace(each, code=KafkaCode.REQUEST_TIMED_OUT, message=timed_out) if each.name in late else each
            for each in self.results
        )
        return Reply(self.request, TopicsAnswered(tuple(results)))


class WaitingAnswers:
    """Every request about topics that was carried out and is not answered yet."""

    def __init__(self) -> None:
        self._waiting: list[_Waiting] = []

    def add(
        self,
        request: int,
        deadline_ms: int,
        results: tuple[TopicResult, ...],
        is_done: Callable[[TopicName], bool],
    ) -> None:
        """Answer with these results once each that is no error `is_done`."""
        names = [each.name for each in results if each.code is KafkaCode.NONE]
        pending = {name: lambda name=name: is_done(TopicName(name)) for name in names}
        self._waiting.append(_Waiting(request, deadline_ms, results, pending))

    def completed(self) -> list[Reply]:
        """Answers that are due because nothing is pending any more."""
        return self._take(lambda each: all(is_done() for is_done in each.pending.values()))

    def expired(self, now_ms: int) -> list[Reply]:
        return self._take(lambda each: each.deadline_ms <= now_ms)

    def _take(self, is_due: Callable[[_Waiting], bool]) -> list[Reply]:
        due = [each for each in self._waiting if is_due(each)]
        self._waiting = [each for each in self._waiting if each not in due]
        return [each.answer() for each in due]
