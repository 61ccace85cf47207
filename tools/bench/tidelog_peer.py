"""A Tidelog cluster as a benchmark sees it, started by the command that people use."""

import json
import subprocess
import sys
from pathlib import Path


class TidelogPeer:
    """Everything that `tidelog up` starts, ZooKeeper included."""

    label = "Tidelog"

    def __init__(self, folder: Path, port_base: int, brokers: int) -> None:
        self._folder = folder
        self._port_base = port_base
        self._brokers = brokers
        self._up: subprocess.Popen[str] | None = None

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{self._port_base + id}" for id in range(self._brokers))

    def up(self) -> None:
        """Start everything; it is ready when it answers."""
        command = self._command("up", "--detach", "--json", "--port-base", str(self._port_base))
        command += ["--brokers", str(self._brokers), "--config", "log.segment.delete.delay.ms=1000"]
        command += ["--config", "group.initial.rebalance.delay.ms=0"]
        command += ["--config", f"offsets.topic.replication.factor={min(3, self._brokers)}"]
        self._up = subprocess.Popen(command, stdout=subprocess.DEVNULL, text=True)

    def pids(self) -> dict[str, int]:
        assert self._up is not None, "it was not started"
        if self._up.wait():
            raise SystemExit("tidelog up failed")
        status = subprocess.run(self._command("status", "--json"), check=True, capture_output=True, text=True).stdout
        return {f"{one['role']}-{one['id']}": one["pid"] for one in json.loads(status)["processes"]}

    def start_broker(self, id: int) -> None:
        subprocess.run(self._command("start", "broker", str(id)), check=True, capture_output=True)

    def down(self) -> None:
        subprocess.run(self._command("down"), check=True, capture_output=True)

    def _command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "tidelog", *arguments, "--data-dir", str(self._folder)]
