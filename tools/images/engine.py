"""The container engine that builds images: the one at hand, or a dockerd of our own for as long as it is needed."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_START_S_MAX = 60.0


@dataclass(frozen=True, slots=True)
class Engine:
    """A docker command line, and the engine that it talks to."""

    host: str | None = None

    def run(self, *arguments: str | Path, stdin: IO[bytes] | None = None, quiet: bool = True) -> None:
        """Raises CalledProcessError if docker does."""
        out = subprocess.DEVNULL if quiet else None
        subprocess.run(["docker", *arguments], check=True, env=self.environment, stdin=stdin, stdout=out)

    def answers(self) -> bool:
        asked = subprocess.run(["docker", "info"], env=self.environment, capture_output=True, check=False)
        return asked.returncode == 0

    def has(self, image: str) -> bool:
        asked = subprocess.run(
            ["docker", "image", "inspect", image], env=self.environment, capture_output=True, check=False
        )
        return asked.returncode == 0

    def size_bytes(self, image: str) -> int:
        command = ["docker", "image", "inspect", "--format", "{{.Size}}", image]
        return int(subprocess.run(command, env=self.environment, capture_output=True, check=True).stdout)

    @property
    def environment(self) -> dict[str, str]:
        # The classic builder is enough for our files, and Debian's packages have no other.
        own = {"DOCKER_BUILDKIT": os.environ.get("DOCKER_BUILDKIT", "0")}
        return {**os.environ, **own, **({"DOCKER_HOST": self.host} if self.host else {})}


@contextmanager
def engine(state: Path) -> Iterator[Engine]:
    """An engine that answers; a dockerd that is started here keeps its images in `state` and is stopped in the end."""
    if shutil.which("docker") is None:
        raise SystemExit("There is no docker command: install one (Debian's docker.io has it, and an engine too).")
    if Engine().answers():
        yield Engine()
        return
    with _own_dockerd(state) as own:
        yield own


@contextmanager
def _own_dockerd(state: Path) -> Iterator[Engine]:
    if shutil.which("dockerd") is None or os.geteuid() != 0:
        raise SystemExit("No container engine answers, and starting one needs root and dockerd (Debian's docker.io).")
    state.mkdir(parents=True, exist_ok=True)
    socket = state / "docker.sock"
    own = Engine(f"unix://{socket}")
    folders: list[str | Path] = [
        "--data-root",
        state / "data",
        "--exec-root",
        state / "run",
        "--pidfile",
        state / "docker.pid",
    ]
    # Builds need no network of their own, and so no firewall rules: those of the machine stay as they are.
    network = ["--iptables=false", "--ip-forward=false", "--bridge=none"]
    with (state / "dockerd.log").open("wb") as log:
        daemon = subprocess.Popen(["dockerd", "-H", str(own.host), *folders, *network], stdout=log, stderr=log)
        try:
            _wait_for(own, daemon, state / "dockerd.log")
            yield own
        finally:
            daemon.terminate()
            daemon.wait()


def _wait_for(own: Engine, daemon: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_S_MAX
    while not own.answers():
        if daemon.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"dockerd did not start; its log is {log}")
        time.sleep(0.2)
