"""Deciding whether a start has succeeded, has failed, and what to say then."""

import signal
import sys
from pathlib import Path

import pytest

from tidelog.local.data_dir import DataDir
from tidelog.local.faults import LocalError
from tidelog.local.launching import choose_sentence, last_sentence
from tidelog.local.layout import Counts, Role, lay_out
from tidelog.local.observing import Observed
from tidelog.local.probing import Probe
from tidelog.local.starting import Starter, all_ready, late_sentence

SHAPE = lay_out(Counts())
BROKER = SHAPE.of(Role.BROKER)[0]
CONTROLLERS = SHAPE.of(Role.CONTROLLER)


@pytest.fixture(autouse=True)
def nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else runs on this machine, on whatever ports."""
    monkeypatch.setattr("tidelog.local.probing.probe", lambda _process: Probe(ready=False, reason="silent"))


def observed(*probes: Probe) -> list[Observed]:
    return [Observed(process, 1, probe) for process, probe in zip((*CONTROLLERS, BROKER), probes, strict=False)]


def test_all_must_be_ready() -> None:
    assert all_ready(observed(Probe(ready=True), Probe(ready=True)))
    assert not all_ready(observed(Probe(ready=True), Probe(ready=False)))


def test_controllers_that_tell_must_have_elected_one() -> None:
    reserve, active = Probe(ready=True, active=False), Probe(ready=True, active=True)
    assert not all_ready(observed(reserve, reserve))
    assert all_ready(observed(reserve, active))


def test_one_controller_that_is_started_again_need_not_become_the_active_one() -> None:
    assert all_ready(observed(Probe(ready=True, active=False)))


def test_patience_over_is_told_with_the_reason() -> None:
    sentence = late_sentence(observed(Probe(ready=True), Probe(ready=False, reason="no session")), 60)
    assert sentence.startswith("Not ready within 60 s: controller 1 (no session);")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "it wrote nothing to its log"),
        ("one\ntwo\n\n", "two"),
        ("x ERROR broker: disk full\nx INFO stopped\n", "x ERROR broker: disk full"),
        ("Traceback (most recent call last):\n  File\nKeyError: 'x'\n", "KeyError: 'x'"),
        ("x INFO starting\ntidelog broker: cannot listen on :1\n", "tidelog broker: cannot listen on :1"),
        (
            "tidelog broker: the configuration has 2 faults:\n  - a=1 is bad\n  - b=2 is bad\nSee the docs.\n",
            "tidelog broker: the configuration has 2 faults: - a=1 is bad - b=2 is bad",
        ),
    ],
)
def test_the_sentence_that_tells_best_is_chosen(text: str, sentence: str) -> None:
    assert choose_sentence(text) == sentence


def test_only_this_start_is_quoted(tmp_path: Path) -> None:
    log = tmp_path / "broker.log"
    log.write_text("ERROR of last week\n")
    since = log.stat().st_size
    with log.open("a") as file:
        file.write("today\n")
    assert last_sentence(log, since) == "today"
    assert last_sentence(tmp_path / "none") == "it left no log"


def test_a_process_that_dies_while_it_starts_is_quoted_and_nothing_keeps_running(
    data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = lay_out(Counts(brokers=1, controllers=1, group_coordinators=0, metadata=0), zookeeper="unused:1")
    programs = {Role.CONTROLLER: "import time; time.sleep(60)", Role.BROKER: "print('tidelog broker: no disk')"}
    for process in shape.processes:
        data_dir.folder(process).mkdir()
    monkeypatch.setattr(Starter, "_command", lambda _, process: [sys.executable, "-c", programs[process.role]])
    starter = Starter(data_dir, shape)
    with pytest.raises(LocalError, match=r"broker 0 stopped \(exit code 0\) during start-up: tidelog broker: no disk"):
        starter.start_all(timeout_s=30)
    assert sorted(child.wait() for child in starter.launched.children.values()) == [-signal.SIGTERM, 0]


def test_a_start_that_is_interrupted_leaves_nothing(data_dir: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    shape = lay_out(Counts(brokers=1, controllers=1, group_coordinators=0, metadata=0), zookeeper="unused:1")
    for process in shape.processes:
        data_dir.folder(process).mkdir()
    monkeypatch.setattr(Starter, "_command", lambda *_: ["sleep", "60"])
    starter = Starter(data_dir, shape, interrupted=lambda: True)
    with pytest.raises(LocalError, match="interrupted"):
        starter.start_all(timeout_s=30)
    assert {child.wait() for child in starter.launched.children.values()} == {-signal.SIGTERM}
