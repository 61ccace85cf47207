"""A fetch session (KIP-227), the consumer's side: a broker remembers what it was asked for, and is told only what changed.

One request is under way at a time. The first is full and opens the session; those after it carry its id and an epoch that
grows by one. A partition that has enough records here is forgotten by the broker until it is wanted again. After a
failure of any kind the next request is full again and closes the session that was open.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tidelog.client.records import TopicPartition
from tidelog.kafka.errors import KafkaCode

NO_SESSION = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
_EPOCH_MAX = 2**31 - 1

# The session is over, the question is not: it is asked again at once, in a new one.
SESSION_FAULTS = frozenset({KafkaCode.FETCH_SESSION_ID_NOT_FOUND, KafkaCode.INVALID_FETCH_SESSION_EPOCH})


class Wanted(NamedTuple):
    """What is asked of one partition."""

    fetch_offset: int
    leader_epoch: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class FetchQuestion:
    """What a request says of the session and of partitions."""

    session_id: int
    session_epoch: int
    partitions: Mapping[TopicPartition, Wanted]
    forgotten: Collection[TopicPartition] = ()


def without_session(wanted: Mapping[TopicPartition, Wanted]) -> FetchQuestion:
    """For brokers that know no sessions."""
    return FetchQuestion(NO_SESSION, FINAL_EPOCH, wanted)


class FetchSession:
    """What one broker was told."""

    __slots__ = ("_epoch", "_told", "id")

    def __init__(self) -> None:
        self.id = NO_SESSION
        self._epoch = INITIAL_EPOCH
        self._told: dict[TopicPartition, Wanted] = {}

    def ask(self, wanted: Mapping[TopicPartition, Wanted]) -> FetchQuestion:
        """The next request; `on_answer`, `on_refused` or `on_failed` must follow."""
        told, self._told = self._told, dict(wanted)
        if self._epoch == INITIAL_EPOCH:
            return FetchQuestion(self.id, INITIAL_EPOCH, wanted)
        changed = {each: what for each, what in wanted.items() if told.get(each) != what}
        return FetchQuestion(self.id, self._epoch, changed, [each for each in told if each not in wanted])

    def close(self) -> FetchQuestion:
        """A last request, which asks for nothing."""
        return FetchQuestion(self.id, FINAL_EPOCH, {})

    def on_answer(self, session_id: int, answered: Collection[TopicPartition]) -> None:
        """A full answer names all that was asked for; an incremental one only what is new."""
        is_plausible = all(each in self._told for each in answered) and (
            self._epoch != INITIAL_EPOCH or len(answered) == len(self._told)
        )
        self.id = session_id
        if session_id == NO_SESSION or not is_plausible:
            self._epoch = INITIAL_EPOCH
        else:
            self._epoch = 1 if self._epoch == _EPOCH_MAX else self._epoch + 1

    def on_refused(self, code: KafkaCode) -> None:
        self._epoch = INITIAL_EPOCH
        if code is KafkaCode.FETCH_SESSION_ID_NOT_FOUND:
            self.id = NO_SESSION

    def on_failed(self) -> None:
        """No answer came, so nobody knows whether the broker has counted the request."""
        self._epoch = INITIAL_EPOCH
