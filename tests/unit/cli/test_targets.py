"""Which cluster a command speaks with, and how little is imported before it does."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tidelog.cli import app
from tidelog.cli.target import choose_target
from tidelog.local.faults import UnreachableError, WrongUsageError


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDELOG_CONTEXTS", str(tmp_path / "contexts.json"))
    for name in ("TIDELOG_DATA_DIR", "TIDELOG_BOOTSTRAP_SERVER", "TIDELOG_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def add(name: str, server: str) -> None:
    assert app.run(["context", "add", name, "-b", server, "-X", "client.id=me"]) == 0


def test_what_is_named_wins_over_the_context() -> None:
    add("here", "h:1")
    add("there", "t:1")
    assert choose_target(None).bootstrap_server == "h:1"
    assert choose_target(None).settings == {"client.id": "me"}
    assert choose_target(None, "there").bootstrap_server == "t:1"
    assert choose_target("x:9").bootstrap_server == "x:9"


def test_contexts_are_used_listed_and_removed(capsys: pytest.CaptureFixture[str]) -> None:
    add("here", "h:1")
    add("there", "t:1")
    assert app.run(["context", "use", "there"]) == 0
    assert choose_target(None).bootstrap_server == "t:1"
    assert app.run(["context", "remove", "there"]) == 0
    capsys.readouterr()
    assert app.run(["context", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"name": "here", "current": False, "bootstrap_server": "h:1"}]
    assert app.run(["context", "use", "there"]) == 2


def test_an_unknown_context_names_those_that_there_are() -> None:
    add("here", "h:1")
    with pytest.raises(WrongUsageError, match="here"):
        choose_target(None, "nowhere")


def test_without_anything_there_is_nothing_to_reach(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError, match="tidelog up"):
        choose_target(None)
    assert app.run(["topics", "list"]) == 3


@pytest.mark.parametrize(
    "arguments",
    [
        ["topics", "create"],
        ["topics", "create", "t", "--partitions", "0"],
        ["topics", "frobnicate"],
        ["consume", "t", "--bogus"],
        ["groups", "reset-offsets", "g", "--topic", "t", "-b", "h:1"],
        ["configs", "alter", "moon", "x", "-c", "a=b"],
        ["may-stop", "controller", "1"],
        ["chaos", "kill", "--every", "often"],
        ["demo", "exactly-once", "1", "1"],
        ["kafka-topics"],
        ["kafka-topics", "--create", "--list"],
        ["kafka-topics", "--create"],
        ["kafka-topics", "--bogus"],
        ["kafka-console-consumer", "--topic", "t", "--offset", "1"],
        ["kafka-consumer-groups", "--describe"],
        ["kafka-configs", "--describe"],
        ["kafka-run-class", "kafka.Nothing"],
        ["zookeeper-server-start"],
        ["topics", "list", "-b", "no-port"],
        ["topics", "list", "-b", "h:1", "-X", "acks=all"],
    ],
)
def test_wrong_usage_is_one_sentence(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("tidelog: ")
    assert printed.err.count("\n") == 1


def test_the_shell_is_taught_to_complete() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tidelog"],
        env={"_TIDELOG_COMPLETE": "complete_bash", "COMP_WORDS": "tidelog top", "COMP_CWORD": "1", "PATH": "/bin"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.split() == ["topics"]


def test_a_command_imports_only_what_it_needs() -> None:
    program = (
        "import sys; import tidelog.cli.app, tidelog.cli.topics; from tidelog.cli.target import Target\n"
        "assert 'tidelog.client' not in sys.modules\n"
        "Target('127.0.0.1:9092').admin()\n"
        "heavy = {'rich', 'kazoo', 'grpc', 'fastapi', 'prometheus_client', 'tidelog.local.probing', 'tidelog.cli.groups'}\n"
        "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", program], check=True, stderr=subprocess.DEVNULL, timeout=60)
