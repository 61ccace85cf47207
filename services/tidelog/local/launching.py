"""Starts one process that outlives the command that started it, and reads what it said last."""

import os
import subprocess
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

# What configures the command itself; a service would take it for a setting of its own.
_NOT_FOR_SERVICES = ("TIDELOG_DATA_DIR", "TIDELOG_TRACEBACK")
_TAIL_BYTES = 16384


def launch(command: Sequence[str], folder: Path, log_file: Path) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own: neither Ctrl-C nor the end of the terminal reaches it.

    It runs in its own folder, because `python -m` would prefer modules in the current one to installed ones.
    """
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_SERVICES}
    with log_file.open("ab") as log:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def last_sentence(log_file: Path, since: int = 0) -> str:
    """What tells best why a process ended: the last error in its log after that position, else the last line."""
    try:
        with log_file.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(since, end - _TAIL_BYTES))
            return choose_sentence(file.read().decode(errors="replace"))
    except OSError:
        return "it left no log"


def choose_sentence(text: str) -> str:
    """The process's own account of why it cannot run, else the last line with an error in it, else the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for place, line in reversed(list(enumerate(lines))):
        if line.startswith("tidelog "):
            return " ".join([line, *takewhile(lambda following: following.startswith("- "), lines[place + 1 :])])
    errors = [line for line in lines if "ERROR" in line or "CRITICAL" in line or "Error:" in line]
    return (errors or lines or ["it wrote nothing to its log"])[-1]
