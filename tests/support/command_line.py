"""The `tidelog` command in the hands of tests: one cluster of `tidelog up`, and commands run within the test's process."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.ports import free_ports

PORTS_OF_A_CLUSTER = 40
# As small as the command lines that are quoted everywhere allow: they look into partition 35 of __consumer_offsets.
SETTINGS = {
    "zookeeper.session.timeout.ms": "6000",
    "offsets.topic.num.partitions": "36",
    "transaction.state.log.num.partitions": "6",
    "num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
}


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on the standard output."""
        assert self.code == 0, self.err
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        assert self.code == 0, self.err
        return self.out.splitlines()


@dataclass
class LocalCluster:
    """A cluster of `tidelog up`, and the `tidelog` that speaks with it."""

    root: Path
    settings: dict[str, str] = field(default_factory=lambda: dict(SETTINGS))
    answer: dict[str, Any] = field(default_factory=dict)

    @property
    def data_dir(self) -> Path:
        return self.root / "cluster"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "TIDELOG_DATA_DIR": str(self.data_dir),
            "TIDELOG_CONTEXTS": str(self.root / "contexts.json"),
            "XDG_RUNTIME_DIR": str(self.root),
        }

    @property
    def bootstrap(self) -> str:
        return str(self.answer["bootstrap"])

    @property
    def zookeeper(self) -> str:
        return str(self.answer["zookeeper"])

    def up(self) -> None:
        settings = [part for key, value in self.settings.items() for part in ("--config", f"{key}={value}")]
        ports = str(free_ports(PORTS_OF_A_CLUSTER))
        done = self.shell("up", "--detach", "--json", "--timeout", "100", "--port-base", ports, *settings)
        self.answer = done.document

    def down(self) -> None:
        self.shell("down")

    def shell(self, *arguments: str, timeout_s: float = 110) -> Done:
        """The command as a process of its own."""
        return self._run([sys.executable, "-m", "tidelog", *arguments], timeout_s)

    def bash(self, line: str) -> Done:
        """A line with pipes and patterns, as a person types it."""
        return self._run(["bash", "-o", "pipefail", "-c", line], 110)

    def _run(self, command: list[str], timeout_s: float) -> Done:
        done = subprocess.run(
            command,
            cwd=self.root,
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=timeout_s,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def with_addresses(self, line: str) -> str:
        """A command line out of a book, with the addresses of this cluster."""
        first = self.bootstrap.partition(",")[0]
        for host in ("localhost", "127.0.0.1"):
            line = line.replace(f"{host}:9092", first).replace(f"{host}:2181", self.zookeeper)
        return line


def has_program(name: str) -> bool:
    return shutil.which(name) is not None
