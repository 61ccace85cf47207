"""A consumer's fetch session: what is told to the broker, and when it starts over."""

import pytest

from tidelog.client.core.fetch_session import FetchSession, Wanted
from tidelog.client.records import TopicPartition
from tidelog.kafka.errors import KafkaCode

P0, P1, P2 = (TopicPartition("t", number) for number in range(3))


def at(offset: int) -> Wanted:
    return Wanted(offset, leader_epoch=0, max_bytes=1000)


def opened() -> FetchSession:
    session = FetchSession()
    question = session.ask({P0: at(1), P1: at(2)})
    assert (question.session_id, question.session_epoch, dict(question.partitions)) == (0, 0, {P0: at(1), P1: at(2)})
    session.on_answer(77, [P0, P1])
    return session


def test_after_the_first_request_only_changes_are_told() -> None:
    session = opened()
    question = session.ask({P0: at(5), P1: at(2)})
    assert (question.session_id, question.session_epoch) == (77, 1)
    assert (dict(question.partitions), list(question.forgotten)) == ({P0: at(5)}, [])
    session.on_answer(77, [])
    question = session.ask({P0: at(5), P1: at(2)})
    assert (question.session_epoch, dict(question.partitions), list(question.forgotten)) == (2, {}, [])


def test_partitions_come_and_go() -> None:
    session = opened()
    question = session.ask({P1: at(2), P2: at(0)})
    assert (dict(question.partitions), list(question.forgotten)) == ({P2: at(0)}, [P0])
    session.on_answer(77, [P2])
    question = session.ask({P0: at(1), P1: at(2), P2: at(0)})
    assert (dict(question.partitions), list(question.forgotten)) == ({P0: at(1)}, [])


def test_a_broker_without_room_for_a_session_is_asked_in_full_again() -> None:
    session = FetchSession()
    session.ask({P0: at(1)})
    session.on_answer(0, [P0])
    question = session.ask({P0: at(1)})
    assert (question.session_id, question.session_epoch, dict(question.partitions)) == (0, 0, {P0: at(1)})


@pytest.mark.parametrize(
    ("code", "session_id"),
    [(KafkaCode.FETCH_SESSION_ID_NOT_FOUND, 0), (KafkaCode.INVALID_FETCH_SESSION_EPOCH, 77)],
)
def test_a_refusal_starts_over_and_closes_a_session_that_may_be_there(code: KafkaCode, session_id: int) -> None:
    session = opened()
    session.ask({P0: at(5)})
    session.on_refused(code)
    question = session.ask({P0: at(5)})
    assert (question.session_id, question.session_epoch, dict(question.partitions)) == (session_id, 0, {P0: at(5)})
    assert list(question.forgotten) == []


def test_no_answer_starts_over() -> None:
    session = opened()
    session.ask({P0: at(5)})
    session.on_failed()
    assert session.ask({P0: at(5)}).session_epoch == 0


@pytest.mark.parametrize("answered", [[P0], [P0, P2]])
def test_an_answer_about_other_partitions_than_those_asked_for_starts_over(answered: list[TopicPartition]) -> None:
    session = FetchSession()
    session.ask({P0: at(1), P1: at(2)})
    session.on_answer(77, answered)
    question = session.ask({P0: at(1), P1: at(2)})
    assert (question.session_id, question.session_epoch) == (77, 0)


def test_closing() -> None:
    question = opened().close()
    assert (question.session_id, question.session_epoch, dict(question.partitions)) == (77, -1, {})
