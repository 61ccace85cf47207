"""The command line as a whole: exit codes, sentences instead of tracebacks, and services that start without it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tidelog import __main__ as entry
from tidelog.cli import app, status


def test_help_lists_every_command_and_service(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["--help"]) == 0
    text = capsys.readouterr().out
    for name in ("up", "down", "status", "kill", "start", *entry.SERVICES):
        assert f" {name} " in text


@pytest.mark.parametrize("verb", ["up", "down", "status", "kill", "start"])
def test_every_command_teaches_with_examples(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run([verb, "--help"]) == 0
    assert f"tidelog {verb}" in capsys.readouterr().out.partition("Examples:")[2]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["upp"], "Did you mean 'up'?"),
        (["up", "--brokers", "0"], "--brokers"),
        (["up", "--brokers", "many"], "see `tidelog up --help`."),
        (["up", "--config", "no-value"], "KEY=VALUE"),
        (["up", "--config", "listeners=x"], "--port-base"),
        (["kill", "moon", "1"], "see `tidelog kill --help`."),
        (["kill", "broker", "1", "--signal", "HUP"], "--signal"),
        (["start"], "ROLE"),
    ],
)
def test_wrong_usage_is_one_sentence(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("tidelog: ")
    assert printed.err.count("\n") == 1
    assert sentence in printed.err


def test_nothing_at_all_prints_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run([]) == 2
    printed = capsys.readouterr()
    assert "Usage: tidelog" in printed.out + printed.err
    assert "tidelog: :" not in printed.err


@pytest.mark.parametrize(
    "arguments", [["status"], ["status", "--json"], ["kill", "broker", "0"], ["start", "broker", "0"]]
)
def test_no_cluster_cannot_be_reached(arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run([*arguments, "--data-dir", str(tmp_path)]) == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "tidelog up" in printed.err


def test_down_without_a_cluster_has_nothing_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["down", "--data-dir", str(tmp_path)]) == 0
    assert "nothing to stop" in capsys.readouterr().out


def test_a_bug_is_told_without_a_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(*_: object) -> None:
        raise KeyError("x")

    monkeypatch.delenv("TIDELOG_TRACEBACK", raising=False)
    monkeypatch.setattr(status, "open_data_dir", broken)
    assert app.run(["status"]) == 1
    text = capsys.readouterr().err
    assert "bug" in text
    assert "Traceback" not in text


def test_a_service_is_run_with_its_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, list[str]]] = []

    def run_service(role: str, arguments: list[str]) -> int:
        calls.append((role, arguments))
        return 7

    monkeypatch.setattr(entry, "run_service", run_service)
    monkeypatch.setattr(sys, "argv", ["tidelog", "group-coordinator", "--config", "x"])
    assert entry.main() == 7
    assert calls == [("group-coordinator", ["--config", "x"])]


def test_a_service_starts_without_the_command_line_libraries() -> None:
    program = (
        "import sys; sys.argv = ['tidelog', 'metadata', '--help']\n"
        "from tidelog.__main__ import main\n"
        "assert main() == 0\n"
        "assert not {'typer', 'rich'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL, timeout=60)
