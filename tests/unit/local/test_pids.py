"""Process ids: a recycled one is never taken for ours."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tidelog.local.pids import (
    ProcessRef,
    is_alive,
    load_ref,
    refer_to,
    save_ref,
    send_signal,
    start_time_in_ps,
    start_time_in_stat,
)

STAT = "4711 (a (strange) name) {state} 1 4711 4711 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 987654 1000 100"


def test_a_pid_file_brings_the_reference_back(tmp_path: Path) -> None:
    ref = refer_to(os.getpid())
    save_ref(tmp_path / "pid", ref)
    assert load_ref(tmp_path / "pid") == ref
    assert is_alive(ref)


@pytest.mark.parametrize("text", ["", "x y", "12"])
def test_an_unusable_pid_file_is_none(tmp_path: Path, text: str) -> None:
    assert load_ref(tmp_path / "pid") is None
    (tmp_path / "pid").write_text(text)
    assert load_ref(tmp_path / "pid") is None


def test_another_process_with_the_same_id_is_not_signalled() -> None:
    recycled = ProcessRef(os.getpid(), "an earlier start")
    assert not is_alive(recycled)
    assert not send_signal(recycled, signal.SIGCONT)


def test_a_process_that_ended_is_dead_even_before_its_parent_looks() -> None:
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not is_alive(refer_to(child.pid))
        assert child.wait() == 0
    assert not is_alive(refer_to(child.pid))


def test_a_signal_reaches_the_process_it_is_meant_for() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        assert send_signal(refer_to(child.pid), signal.SIGTERM)
        assert child.wait() == -signal.SIGTERM


def test_the_start_time_is_read_past_a_strange_command_name() -> None:
    assert start_time_in_stat(STAT.format(state="S")) == "987654"
    assert start_time_in_stat(STAT.format(state="Z")) is None


def test_the_start_time_is_read_from_ps() -> None:
    assert start_time_in_ps("Ss   Wed Nov 18 12:00:00 2026\n") == "Wed Nov 18 12:00:00 2026"
    assert start_time_in_ps("Z    Wed Nov 18 12:00:00 2026\n") is None
    assert start_time_in_ps("") is None
