"""Produce requests of transactional producers: each partition is appended once its transaction is known to be open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.shell.verifying import code_for_client
from tidelog.kafka.errors import KafkaCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.broker.shell.producing import Producing, Production
    from tidelog.broker.shell.verifying import Verifying
    from tidelog.broker.wire.hot_produce import ProduceAsked, Produced

    Respond = Callable[[list[Produced]], None]


class TransactionalProducing:
    def __init__(self, producing: Producing, verifying: Verifying) -> None:
        self._producing = producing
        self._verifying = verifying

    def produce(
        self,
        asked: ProduceAsked,
        frame: memoryview,
        version: int,
        begin: Callable[[], Production],
        respond: Respond,
    ) -> None:
        """Append what the frame holds and answer, now or later. Partitions do not wait for each other."""
        if not asked.partitions:
            respond([])
            return
        answers = _Answers(len(asked.partitions), respond)
        for place, (topic, index, start, end) in enumerate(asked.partitions):
            one = _OnePartition(self._producing, asked, version, begin, answers, place, topic, index)
            self._append(one, asked.transactional_id or b"", frame[start:end])

    def _append(self, one: _OnePartition, transactional_id: bytes, data: memoryview) -> None:
        partition = self._producing.find(one.topic, one.index)
        producer = None if partition is None else self._verifying.producer_to_verify(partition, data)
        if partition is None or producer is None:
            one.append(data, KafkaCode.NONE)
            return
        # The frame is gone when the answer comes.
        kept = memoryview(bytearray(data))
        self._verifying.verify(partition, transactional_id, producer, lambda code: one.append(kept, code))


class _Answers:
    """The answers of one request, given when the last is there."""

    __slots__ = ("_found", "_missing", "_respond")

    def __init__(self, count: int, respond: Respond) -> None:
        self._found: list[Produced | None] = [None] * count
        self._missing = count
        self._respond = respond

    def give(self, place: int, answer: Produced) -> None:
        self._found[place] = answer
        self._missing -= 1
        if not self._missing:
            self._respond([one for one in self._found if one is not None])


class _OnePartition:
    """One partition of a request."""

    __slots__ = ("_answers", "_asked", "_begin", "_place", "_producing", "_version", "index", "topic")

    def __init__(
        self,
        producing: Producing,
        asked: ProduceAsked,
        version: int,
        begin: Callable[[], Production],
        answers: _Answers,
        place: int,
        topic: bytes,
        index: int,
    ) -> None:
        self.topic = topic
        self.index = index
        self._producing = producing
        self._asked = asked
        self._version = version
        self._begin = begin
        self._answers = answers
        self._place = place

    def append(self, data: memoryview, code: KafkaCode) -> None:
        """Append it, unless the code says why not."""
        production = self._begin()
        if code is KafkaCode.NONE:
            self._producing.append(production, self.topic, self.index, data)
        else:
            self._producing.refuse(production, self.topic, self.index, code_for_client(code, self._version))
        if production.awaited is None:
            self._done(production.answers)
        else:
            self._producing.wait(production, self._asked.timeout_ms, self._done)

    def _done(self, answers: list[Produced]) -> None:
        self._answers.give(self._place, answers[0])
