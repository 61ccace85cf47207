"""The whole cluster in simulation: nothing breaks from any seed, and a bug that is planted is found."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.sim.bugs import BUGS

_ROOT = Path(__file__).parents[2]
_SEEDS = os.environ.get("SEEDS", "200")
# A planted bug is found by one seed in five or so.
_SEEDS_FOR_BUGS = "60"
_BROKE_ONCE = (
    # A delayed UpdateMetadata took a broker that had come back from the members again, and so from every in-sync set.
    810219,
    # A connection that broke while it was being opened was taken for a good one.
    810093,
    # A delayed LeaderAndIsr brought back a replica that was deleted since, and it led in an epoch of the past.
    70,
)

pytestmark = pytest.mark.timeout(1800)


def _run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tests.sim.run", *arguments]
    return subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)


def test_no_seed_breaks_anything() -> None:
    ran = _run("--seeds", _SEEDS)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"{_SEEDS} seeds" in ran.stdout


@pytest.mark.parametrize("seed", _BROKE_ONCE)
def test_a_seed_that_broke_something_once(seed: int) -> None:
    ran = _run("--first", str(seed))
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_seed_is_the_same_run_every_time() -> None:
    """Not only that nothing breaks: every event is the same one, at the same moment."""
    once, again = _run("--first", "7"), _run("--first", "7")
    assert "checksum" in once.stdout
    assert once.stdout == again.stdout


@pytest.mark.parametrize("number", range(len(BUGS)), ids=list(BUGS))
def test_a_planted_bug_is_found(number: int) -> None:
    ran = _run("--seeds", _SEEDS_FOR_BUGS, "--bug", str(number), "--trace", "5")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert re.search(r"^seed \d+: (LEADER|HW|AGREEMENT|ACKED|CONTROLLER|RECOVERY)", ran.stdout), ran.stdout
