"""The order of answers, and how many connections there may be."""

import pytest

from tidelog.net.answers import AnswerQueue
from tidelog.net.limits import Admission
from tidelog.net.outbox import Part


class Sent:
    def __init__(self, *, ordered: bool = True) -> None:
        self.events: list[object] = []
        self.queue = AnswerQueue(self.send, lambda: self.events.append("close"), ordered=ordered)

    def send(self, parts: tuple[Part, ...], _: object) -> None:
        self.events.extend(parts)


def test_answers_wait_for_those_before_them() -> None:
    sent = Sent()
    sent.queue.answer((b"0",))
    first, second = sent.queue.defer(), sent.queue.defer()
    sent.queue.answer((b"3", b"and more"))
    second.fill(b"2")
    assert sent.events == [b"0"]
    assert sent.queue.waiting == 3
    first.fill(b"1")
    assert sent.events == [b"0", b"1", b"2", b"3", b"and more"]
    assert sent.queue.waiting == 0


def test_unordered_answers_do_not_wait() -> None:
    sent = Sent(ordered=False)
    first, second = sent.queue.defer(), sent.queue.defer()
    sent.queue.answer((b"3",))
    second.fill(b"2")
    assert sent.events == [b"3", b"2"]
    assert sent.queue.waiting == 1
    first.fill(b"1")
    assert sent.events == [b"3", b"2", b"1"]


@pytest.mark.parametrize("ordered", [True, False])
def test_a_close_waits_for_what_was_asked_before(ordered: bool) -> None:
    sent = Sent(ordered=ordered)
    slot = sent.queue.defer()
    sent.queue.close_after_all()
    assert sent.events == []
    slot.fill(b"1")
    assert sent.events == [b"1", "close"]


def test_nothing_is_said_after_a_close() -> None:
    sent = Sent()
    first, second = sent.queue.defer(), sent.queue.defer()
    first.close()
    second.fill(b"late")
    assert sent.events == ["close"]


def test_a_slot_is_filled_once() -> None:
    slot = Sent().queue.defer()
    slot.fill()
    with pytest.raises(AssertionError, match="once"):
        slot.fill(b"again")


def test_admission_counts_all_and_by_address() -> None:
    admission = Admission(connections_max=3, per_ip_max=2, per_ip_overrides={"b": 1})
    assert [admission.admit(ip) for ip in ("a", "a", "a")] == [True, True, False]
    assert [admission.admit(ip) for ip in ("b", "b")] == [True, False]
    assert admission.admit("c") is False
    admission.release("a")
    assert admission.total == 2
    assert admission.admit("b") is False
    assert admission.admit("a") is True
