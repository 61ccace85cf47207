"""Exit codes and last words of a real process, whatever happens to it."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.ports import free_port
from tests.support.services import get_json

ROOT = Path(__file__).parents[3]
WAIT_S = 30


class Example:
    """The example service as a child process."""

    def __init__(self, *arguments: str) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TIDELOG_")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.process.runtime.example_service", *arguments],
            cwd=ROOT,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def wait_for(self, word: str) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.strip() == word:
                return
        raise AssertionError(f"ended without {word!r}: {self.end()}")

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> tuple[int, list[str], str]:
        """Exit code, the lines of stdout that were not waited for, stderr."""
        out, err = self.process.communicate(timeout=WAIT_S)
        return self.process.returncode, out.split("\n")[:-1], err


@pytest.fixture
def examples() -> Iterator[list[Example]]:
    started: list[Example] = []
    yield started
    for example in started:
        if example.process.poll() is None:
            example.process.kill()
        example.process.communicate()


@pytest.fixture
def run(examples: list[Example]) -> "Runner":
    return Runner(examples)


class Runner:
    def __init__(self, examples: list[Example]) -> None:
        self._examples = examples

    def __call__(self, behaviour: str, *settings: str) -> Example:
        assignments = [f"behaviour={behaviour}", *settings]
        return self.plain(*(argument for text in assignments for argument in ("--set", text)))

    def plain(self, *arguments: str) -> Example:
        self._examples.append(Example(*arguments))
        return self._examples[-1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_unwinds_in_order_and_exits_with_0(run: Runner, number: signal.Signals) -> None:
    example = run("serve")
    example.wait_for("up")
    example.signal(number)
    code, out, err = example.end()
    assert (code, out) == (0, ["close inner", "close outer"])
    assert f"stopping reason={number.name}" in err
    assert err.rstrip().endswith("INFO  example-0 process: stopped")


def test_a_signal_during_start_up_exits_with_0_quickly(run: Runner) -> None:
    example = run("wait")
    example.wait_for("up")
    began = time.monotonic()
    example.signal(signal.SIGTERM)
    code, out, err = example.end()
    assert (code, out) == (0, ["close inner", "close outer"])
    assert time.monotonic() - began < 5
    assert "Traceback" not in err


def test_a_hanging_drain_exits_with_1_in_time_and_tells_what_hangs(run: Runner) -> None:
    example = run("hang", "shutdown.timeout.ms=300")
    example.wait_for("up")
    began = time.monotonic()
    example.signal(signal.SIGTERM)
    code, _, err = example.end()
    assert code == 1
    assert 0.3 <= time.monotonic() - began < 5
    assert "drain not finished, exiting timeout_ms=300" in err
    assert re.search(r"hangs task=serve waiting_at=.*\.py:\d+", err)


@pytest.mark.parametrize("behaviour", ["block", "thread"])
def test_a_drain_that_blocks_the_loop_or_a_thread_exits_with_1_too(run: Runner, behaviour: str) -> None:
    example = run(behaviour, "shutdown.timeout.ms=200")
    example.wait_for("up")
    example.signal(signal.SIGTERM)
    code, _, err = example.end()
    assert code == 1
    assert "Timeout" in err


def test_a_second_signal_exits_with_1_at_once(run: Runner) -> None:
    example = run("hang")
    example.wait_for("up")
    example.signal(signal.SIGTERM)
    time.sleep(0.2)
    example.signal(signal.SIGINT)
    code, _, err = example.end()
    assert code == 1
    assert "second signal, exiting at once signal=SIGINT" in err


@pytest.mark.parametrize("behaviour", ["refuse", "refuse-in-group"])
def test_an_operating_fault_is_one_sentence_and_1(run: Runner, behaviour: str) -> None:
    code, out, err = run(behaviour, "log.level=error").end()
    assert (code, out[-1]) == (1, "close outer")
    assert err == "tidelog example: broker.id 1 is registered by another process; give this one another id\n"


def test_an_operating_fault_is_a_record_where_logs_are_json(run: Runner) -> None:
    code, _, err = run("refuse", "log.format=json").end()
    entries = [json.loads(line) for line in err.splitlines()]
    assert code == 1
    assert entries[-1]["event"] == "cannot run"
    assert entries[-1]["fields"]["why"].startswith("broker.id 1 is registered")


def test_an_unexpected_exception_is_logged_and_1(run: Runner) -> None:
    code, out, err = run("crash").end()
    assert (code, out[-1]) == (1, "close outer")
    assert "RuntimeError: the example crashed" in err


def test_a_background_task_that_crashes_unwinds_and_exits_with_1(run: Runner) -> None:
    code, out, err = run("crash-task").end()
    assert (code, out[-2:]) == (1, ["close inner", "close outer"])
    assert "background task 'doomed' failed" in err
    assert "RuntimeError: the task crashed" in err


def test_serve_may_end_by_itself(run: Runner) -> None:
    assert run("return").end()[0] == 0


def test_bad_settings_are_all_listed_and_2(run: Runner) -> None:
    code, out, err = run("serve", "count=0", "shutdown.timeout.ms=soon", "log.format=xml").end()
    assert (code, out) == (2, [])
    assert "the configuration has 3 faults:" in err
    for name in ("count=0", "shutdown.timeout.ms=soon", "log.format=xml"):
        assert re.search(rf"^  - {name} ", err, re.MULTILINE)
    assert "docs/config.md" in err
    assert "Traceback" not in err


def test_wrong_usage_is_2(run: Runner) -> None:
    code, _, err = run.plain("--set", "no-equals-sign").end()
    assert code == 2
    assert "'no-equals-sign' is not KEY=VALUE" in err


def test_help_teaches(run: Runner) -> None:
    code, out, _ = run.plain("--help").end()
    text = "\n".join(out)
    assert code == 0
    for word in ("--config FILE", "--set KEY=VALUE", "docs/config.md", "examples:", "zookeeper.connect", "exit codes"):
        assert word in text


def test_settings_come_from_a_file_too(run: Runner, tmp_path: Path) -> None:
    file = tmp_path / "example.properties"
    file.write_text("behaviour=return\nlog.format=json\n")
    code, out, err = run.plain("--config", str(file)).end()
    assert (code, "done" in out) == (0, True)
    assert [json.loads(line)["event"] for line in err.splitlines()][-1] == "stopped"


def test_a_whole_service_is_ready_small_and_alone_on_its_port(run: Runner) -> None:
    ops, rpc = free_port(), free_port()
    settings = (f"ops.listener=127.0.0.1:{ops}", f"grpc.listener=127.0.0.1:{rpc}", "log.level=warning")
    example = run("whole", *settings)
    example.wait_for("up")
    assert get_json(f"http://127.0.0.1:{ops}/readyz")["ready"] is True
    assert psutil.Process(example.process.pid).memory_info().rss < 80 * 1024 * 1024

    second = run("whole", f"ops.listener=127.0.0.1:{free_port()}", *settings[1:])
    assert second.end()[0] == 1, "the gRPC port is taken"
    third = run("whole", *settings)
    code, _, err = third.end()
    assert code == 1
    assert err == (
        f"tidelog example: cannot listen on 127.0.0.1:{ops} (ops.listener): address already in use; "
        "stop the other process or choose another port\n"
    )
    example.signal(signal.SIGTERM)
    assert (example.end()[0], example.process.returncode) == (0, 0)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", ops))


def test_a_signal_at_any_moment_of_the_start_is_clean(run: Runner) -> None:
    for delay_s in (0.25, 0.3, 0.35, 0.4, 0.5):
        example = run("serve")
        time.sleep(delay_s)
        example.signal(signal.SIGTERM)
        code, _, err = example.end()
        # Before the interpreter has come to our first line the signal kills, as it does any program.
        assert code in (0, -signal.SIGTERM), err
        assert "Traceback" not in err
