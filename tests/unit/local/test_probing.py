"""What the answers of /readyz mean, also strange ones."""

import json
from collections.abc import Callable

import pytest

from tidelog.local.layout import Counts, LocalProcess, Role, lay_out
from tidelog.local.probing import Probe, Prober, read_answer

BROKER, STANDBY = (lay_out(Counts()).of(role)[0] for role in (Role.BROKER, Role.CONTROLLER))


def test_ready_is_the_status_alone() -> None:
    assert read_answer(200, b"anything") == Probe(ready=True)
    assert not read_answer(503, b'{"ready": true}').ready


def test_the_reasons_are_those_of_the_conditions_that_do_not_hold() -> None:
    conditions = {"zk": {"ok": False, "why": "no session"}, "log": {"ok": True}, "peers": {"ok": False}}
    assert read_answer(503, json.dumps({"conditions": conditions}).encode()).reason == "no session; peers"


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[1]", b'{"conditions": [1], "detail": "x"}', b'{"conditions": {"a": 1}}']
)
def test_an_answer_that_tells_nothing_still_has_a_reason(body: bytes) -> None:
    assert read_answer(503, body) == Probe(ready=False, reason="/readyz answers 503")


@pytest.mark.parametrize(
    ("document", "active"),
    [
        ({"detail": {"active": True}}, True),
        ({"active": False}, False),
        ({"detail": {"active": "yes"}}, None),
        ({}, None),
    ],
)
def test_the_active_controller_is_told_in_the_detail(document: dict[str, object], active: bool | None) -> None:
    assert read_answer(200, json.dumps(document).encode()).active is active


def counting(answer: Probe, asked: list[str]) -> Callable[[LocalProcess], Probe]:
    def ask(process: LocalProcess) -> Probe:
        asked.append(str(process))
        return answer

    return ask


@pytest.mark.parametrize(
    ("answer", "questions"),
    [
        (Probe(ready=True), 1),
        (Probe(ready=True, active=True), 1),
        (Probe(ready=False), 2),
        (Probe(ready=True, active=False), 2),
    ],
)
def test_only_an_answer_that_leaves_nothing_to_wait_for_is_kept(answer: Probe, questions: int) -> None:
    asked: list[str] = []
    prober = Prober(keep_ready_s=3600, ask=counting(answer, asked))
    assert [prober.probe_all([STANDBY]) for _ in range(2)] == [[answer], [answer]]
    assert len(asked) == questions
    prober.close()


def test_answers_come_in_the_order_of_the_processes() -> None:
    prober = Prober(ask=lambda process: Probe(ready=False, reason=str(process)))
    assert [answer.reason for answer in prober.probe_all([STANDBY, BROKER])] == ["controller 0", "broker 0"]
    prober.close()
