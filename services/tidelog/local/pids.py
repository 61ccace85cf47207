"""Process ids that survive the command that started them, and are never mistaken for somebody else's process.

The system may give the id of a dead process to a new one. An id is therefore kept together with the start time of its
process, in whatever words the system tells it, and counts only as long as both are the same.
"""

import os
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_HAS_PROC = (_PROC / "self" / "stat").exists()
# Fields of /proc/<pid>/stat after the command name, which is in parentheses and may itself contain blanks.
_STATE_FIELD = 0
_START_TIME_FIELD = 19


@dataclass(frozen=True, slots=True)
class ProcessRef:
    """One process, told apart from later ones with the same id by its start time."""

    pid: int
    started: str


def refer_to(pid: int) -> ProcessRef:
    """The reference to a process; to one that has ended already, a reference that is never alive."""
    return ProcessRef(pid, _start_time(pid) or "ended")


def is_alive(ref: ProcessRef) -> bool:
    """Whether exactly this process still runs. A zombie, which only waits for its parent, does not."""
    return _start_time(ref.pid) == ref.started


def send_signal(ref: ProcessRef, number: signal.Signals) -> bool:
    """Signal the process unless it is gone; True if it was still there."""
    if not is_alive(ref):
        return False
    with suppress(ProcessLookupError):
        os.kill(ref.pid, number)
        return True
    return False


def save_ref(path: Path, ref: ProcessRef) -> None:
    """Write the pid file in one step."""
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(f"{ref.pid} {ref.started}\n")
    fresh.replace(path)


def load_ref(path: Path) -> ProcessRef | None:
    """The reference in a pid file, or None if there is no usable one."""
    try:
        pid, started = path.read_text().strip().split(maxsplit=1)
        return ProcessRef(int(pid), started)
    except (OSError, ValueError):
        return None


def start_time_in_stat(stat: str) -> str | None:
    """The start time in a line of /proc/<pid>/stat, or None for a process that has ended."""
    fields = stat.rpartition(")")[2].split()
    return None if fields[_STATE_FIELD] in "ZX" else fields[_START_TIME_FIELD]


def start_time_in_ps(line: str) -> str | None:
    """The start time in a line of `ps -o stat=,lstart=`, or None for a process that has ended."""
    state, _, started = line.strip().partition(" ")
    return None if not state or state.startswith("Z") else started.strip()


def _start_time(pid: int) -> str | None:
    if not _HAS_PROC:
        asked = subprocess.run(
            ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
        )
        return start_time_in_ps(asked.stdout)
    try:
        return start_time_in_stat((_PROC / str(pid) / "stat").read_text())
    except (OSError, IndexError):
        return None
