"""Background processes with a log and a pid file each, started once and stopped by exactly their pid."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tools.kube.telling import say

if TYPE_CHECKING:
    from collections.abc import Callable

Command = list[str | Path]

_STOP_S_MAX = 10.0
_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Processes:
    """The processes whose pid files lie in `state`/pid."""

    state: Path

    def start(self, name: str, command: Command) -> None:
        """Start it in the background, unless it runs."""
        if self.pid(name) is not None:
            return
        say(f"starting {name}")
        with self.log(name).open("ab") as log:
            process = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._file(name).write_text(f"{process.pid} {_start_time(process.pid)}\n")

    def stop(self, name: str) -> None:
        """Ask it to end, and insist if it does not."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            pid = self.pid(name)
            if pid is None:
                break
            say(f"stopping {name}")
            with suppress(ProcessLookupError):
                os.kill(pid, number)
            self._wait_for_end(name)
        self._file(name).unlink(missing_ok=True)

    def pid(self, name: str) -> int | None:
        """A pid alone may have passed to somebody else; together with the start time it cannot."""
        try:
            pid, since = self._file(name).read_text().split()
        except (FileNotFoundError, ValueError):
            return None
        return int(pid) if _start_time(int(pid)) == since else None

    def wait_until(self, what: str, holds: Callable[[], bool], needs: str, seconds: float) -> None:
        """Try until it holds; SystemExit if the time is up, or if the process that it needs has ended."""
        deadline = time.monotonic() + seconds
        while not holds():
            if self.pid(needs) is None:
                raise SystemExit(f"{needs} ended; its log is {self.log(needs)}:\n{self._tail(needs)}")
            if time.monotonic() > deadline:
                raise SystemExit(f"gave up waiting: {what}; logs are in {self.state / 'log'}")
            time.sleep(_POLL_S * 2)
        say(what)

    def log(self, name: str) -> Path:
        return self.state / "log" / f"{name}.log"

    def _file(self, name: str) -> Path:
        return self.state / "pid" / name

    def _tail(self, name: str) -> str:
        return "\n".join(self.log(name).read_text(errors="replace").splitlines()[-10:])

    def _wait_for_end(self, name: str) -> None:
        deadline = time.monotonic() + _STOP_S_MAX
        while self.pid(name) is not None and time.monotonic() < deadline:
            time.sleep(_POLL_S)


def succeeds(*command: str | Path, **environment: str) -> bool:
    """Whether there is such a program and it ends with 0."""
    if shutil.which(str(command[0])) is None:
        return False
    asked = subprocess.run(
        [str(part) for part in command],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return asked.returncode == 0


def _start_time(pid: int) -> str:
    """The kernel's start time of a process that is not a zombie; empty otherwise."""
    try:
        _name, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")
    except (FileNotFoundError, ProcessLookupError):
        return ""
    fields = rest.split()
    return "" if fields[0] == "Z" else fields[19]
