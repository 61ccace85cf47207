"""A cluster that is not there, or does not answer: every command says so in time, and exits with 3."""

import re
import socket
import time
from collections.abc import Iterator

import pytest

from tests.process.cli.conftest import Run
from tests.process.cli.test_examples import EXAMPLES
from tests.support.command_line import LocalCluster

NOBODY = "127.0.0.1:1"
_TIMEOUT_S = 0.1
# They speak with files, with contexts, or with the processes of this machine.
_ELSEWHERE = ("tidelog status", "tidelog context", "tidelog log", "tidelog kafka-dump-log", "tidelog kafka-run-class")


def _one_a_command() -> list[str]:
    """The first example of each command, without what is piped in and where it speaks to."""
    found: dict[str, str] = {}
    for example in EXAMPLES:
        line = re.sub(r"^.*\| (?=tidelog)| < \S+$", "", example)
        words = [word for word in line.split()[1:] if not word.startswith("-")]
        actions = [word for word in line.split() if word in _ACTIONS]
        if not line.startswith(_ELSEWHERE):
            found.setdefault(" ".join([*words[: 2 if words[0] in _NOUNS else 1], *actions]), line)
    return sorted(found.values())


_NOUNS = {"topics", "groups", "configs", "reassign", "txn", "bench", "demo"}
_ACTIONS = {"--list", "--create", "--describe", "--alter", "--delete", "--reset-offsets", "--sync", "--all"}
_ACTIONS |= {"--generate", "--execute", "--verify", "--cancel"}
COMMANDS = _one_a_command()


@pytest.fixture
def plan(local: LocalCluster) -> None:
    for name in ("plan.json", "moves.json"):
        (local.root / name).write_text('{"partitions":[{"topic":"t","partition":0,"replicas":[0]}]}')
    (local.root / "topics.json").write_text('{"topics":[{"topic":"t"}]}')


def at(line: str, address: str) -> str:
    line = line.replace("localhost:9092", address).replace("localhost:2181", address)
    is_ours = not line.startswith("tidelog kafka-")
    return line.removeprefix("tidelog ") + (f" -b {address} --timeout {_TIMEOUT_S}" if is_ours else "")


@pytest.mark.usefixtures("plan")
@pytest.mark.parametrize("line", COMMANDS)
def test_nobody_is_there(line: str, tidelog: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDELOG_TIMEOUT", str(_TIMEOUT_S))
    begun = time.monotonic()
    done = tidelog(at(line, NOBODY), "a line\n")
    assert done.code == 3, done.err
    assert done.out == ""
    assert done.err.splitlines()[-1].startswith("tidelog: ")
    assert "127.0.0.1:1" in done.err
    assert time.monotonic() - begun < 10


@pytest.fixture
def silence() -> Iterator[str]:
    """The address of somebody who takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()
        yield f"{host}:{port}"


@pytest.mark.usefixtures("plan")
@pytest.mark.parametrize(
    "line",
    [
        "tidelog topics list",
        "tidelog produce t -v x",
        "tidelog consume t -e",
        "tidelog groups lag g",
        "tidelog health --wait",
        "tidelog kafka-topics --list --bootstrap-server localhost:9092",
        "tidelog kafka-console-producer --broker-list localhost:9092 --topic t",
        "tidelog kafka-console-consumer --bootstrap-server localhost:9092 --topic t",
        "tidelog kafka-console-consumer --zookeeper localhost:2181 --topic t",
    ],
)
def test_nobody_answers(line: str, silence: str, tidelog: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDELOG_TIMEOUT", str(_TIMEOUT_S))
    begun = time.monotonic()
    done = tidelog(at(line, silence), "a line\n")
    assert done.code == 3, done.err
    assert silence in done.err
    assert time.monotonic() - begun < 10
