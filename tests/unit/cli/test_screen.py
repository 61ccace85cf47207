"""What people see: states in words, a line for each change, a table."""

import io

import pytest
from rich.console import Console

from tidelog.cli.screen import (
    LineScreen,
    LiveScreen,
    QuietScreen,
    StateWords,
    process_table,
    screen_for,
    summary_lines,
    uptime_text,
)
from tidelog.local.layout import Counts, Role, lay_out
from tidelog.local.observing import Observed
from tidelog.local.probing import Probe

SHAPE = lay_out(Counts())
BROKER = SHAPE.of(Role.BROKER)[0]
READY = Observed(BROKER, 42, Probe(ready=True), uptime_s=61)
WAITING = Observed(BROKER, 42, Probe(ready=False, reason="no session [yet]"))
STOPPED = Observed(BROKER, None, Probe(ready=False), exit_code=-9)


def console(*, terminal: bool = False) -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, width=120, force_terminal=terminal, color_system=None), out


def test_a_process_starts_until_it_is_ready_for_the_first_time() -> None:
    words = StateWords()
    kinds = [words.describe(one)[0] for one in (WAITING, READY, WAITING, STOPPED)]
    assert kinds == ["starting", "ready", "not ready", "stopped"]


def test_a_command_that_looks_once_cannot_know_of_a_start() -> None:
    assert StateWords(assume_started=True).describe(WAITING) == ("not ready", "not ready: no session [yet]")


def test_lines_tell_changes_and_only_those() -> None:
    target, out = console()
    with LineScreen(target) as screen:
        for one in (WAITING, WAITING, READY, READY, STOPPED):
            screen.show([one])
        screen.say("Ctrl-C takes it down.")
    assert out.getvalue().splitlines() == [
        "broker 0 (pid 42, 127.0.0.1:9092): starting",
        "broker 0 (pid 42, 127.0.0.1:9092): ready",
        "broker 0: stopped (exit code -9)",
        "Ctrl-C takes it down.",
    ]


def test_a_process_that_was_taken_down_is_told_once() -> None:
    target, out = console()
    screen = LineScreen(target)
    screen.show([READY])
    screen.stopped(BROKER)
    screen.show([STOPPED])
    assert out.getvalue().splitlines()[1:] == ["broker 0 stopped."]


def test_the_table_shows_reasons_literally() -> None:
    target, out = console()
    target.print(process_table([READY, WAITING, STOPPED], StateWords(assume_started=True)))
    header, *rows = out.getvalue().splitlines()
    assert header.split() == ["role", "id", "pid", "address", "state", "uptime"]
    assert rows[0].split() == ["broker", "0", "42", "127.0.0.1:9092", "ready", "1m", "1s"]
    assert "not ready: no session [yet]" in rows[1]
    assert rows[2].split()[:3] == ["broker", "0", "-"]


def test_the_screen_suits_its_reader() -> None:
    assert isinstance(screen_for(console(terminal=True)[0], quiet=False), LiveScreen)
    assert isinstance(screen_for(console()[0], quiet=False), LineScreen)
    assert isinstance(screen_for(console(terminal=True)[0], quiet=True), QuietScreen)


def test_the_summary_tells_how_to_reach_the_cluster() -> None:
    assert summary_lines(SHAPE)[0].endswith(SHAPE.bootstrap)
    assert len(summary_lines(lay_out(Counts(metadata=0)))) == 2


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0s"), (61, "1m 1s"), (3661, "1h 1m"), (90000, "1d 1h")])
def test_uptimes_have_two_units(seconds: float, text: str) -> None:
    assert uptime_text(seconds) == text
