"""Jobs for Spark as processes in the hands of a test."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SPARK = Path(__file__).parents[2] / "spark"
_EXECUTOR = b"CoarseGrainedExecutorBackend"


class Driver:
    """One driver with whatever it starts, in a session of its own."""

    def __init__(self, job: str, arguments: list[str], log: Path, master: str = "local[2]") -> None:
        self._log = log
        with log.open("ab") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", f"jobs.{job}", *arguments],
                cwd=_SPARK,
                stdout=out,
                stderr=out,
                start_new_session=True,
                env={
                    **os.environ,
                    "SPARK_MASTER": master,
                    "PYSPARK_PYTHON": sys.executable,
                    "PYSPARK_SUBMIT_ARGS": "--driver-memory 1g --conf spark.ui.enabled=false pyspark-shell",
                },
            )

    def kill(self) -> None:
        """SIGKILL for all of it: the driver, its Java, executors. Python workers end when nobody speaks with them."""
        for each in self._processes():
            _kill(each)
        self.process.wait(30)

    def kill_executors(self) -> int:
        """SIGKILL for the executors of a local-cluster; how many there were."""
        found = [each for each in self._processes() if _EXECUTOR in _command(each)]
        for each in found:
            _kill(each)
        return len(found)

    def ends(self, seconds: float = 240) -> int:
        return self.process.wait(seconds)

    def stop(self) -> int:
        """SIGTERM, and the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(120)

    def told(self) -> str:
        """The end of its log."""
        return self._log.read_text(errors="replace")[-4000:]

    def _processes(self) -> list[int]:
        every = [int(each.name) for each in Path("/proc").iterdir() if each.name.isdecimal()]
        return [each for each in every if _session(each) == self.process.pid]


@contextmanager
def driver(job: str, arguments: list[str], log: Path, master: str = "local[2]") -> Iterator[Driver]:
    """It is killed at the end unless it has ended."""
    started = Driver(job, arguments, log, master)
    try:
        yield started
    finally:
        started.kill()


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
