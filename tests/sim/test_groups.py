"""Coordinators, groups and transactions in simulation, on the same cluster and under the same faults."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.sim.bugs import GROUP_BUGS

_ROOT = Path(__file__).parents[2]
# These worlds are larger: one of them for eight of the others.
_SEEDS = str(max(1, int(os.environ.get("SEEDS", "200")) // 8))
_SEEDS_FOR_BUGS = "60"
# They broke something once: an update of the cluster's state that came after a later one undid it.
_BROKE_ONCE = ("5010", "5091")

pytestmark = pytest.mark.timeout(1800)


def _run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tests.sim.run", "--groups", *arguments]
    return subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)


def test_no_seed_breaks_anything() -> None:
    ran = _run("--seeds", _SEEDS)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"{_SEEDS} seeds" in ran.stdout


@pytest.mark.parametrize("seed", _BROKE_ONCE)
def test_what_broke_once_does_not_break_again(seed: str) -> None:
    ran = _run("--first", seed)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_seed_is_the_same_run_every_time() -> None:
    once, again = _run("--first", "3"), _run("--first", "3")
    assert "checksum" in once.stdout
    assert once.stdout == again.stdout


@pytest.mark.parametrize("number", range(len(GROUP_BUGS)), ids=list(GROUP_BUGS))
def test_a_planted_bug_is_found(number: int) -> None:
    ran = _run("--seeds", _SEEDS_FOR_BUGS, "--bug", str(number), "--trace", "5")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert re.search(r"^seed \d+: (OWNER|OFFSET|WHOLE|STABLE|ZOMBIE|RECOVERY)", ran.stdout), ran.stdout
