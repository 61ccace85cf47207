"""A cluster on this machine for the length of a test session, by way of the `tidelog` command."""

import json
import random
import socket
import subprocess
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Small, so that it is there in seconds, and replicated as far as its brokers go.
_SETTINGS = (
    "group.initial.rebalance.delay.ms=0",
    "offsets.topic.num.partitions=4",
    "transaction.state.log.num.partitions=4",
    "zookeeper.session.timeout.ms=6000",
)
# Below 32768, where the system takes the ports of outgoing connections from.
_PORTS = range(20_000, 32_000)
_PORTS_A_CLUSTER = 40
_TIMEOUT_S = 120.0


class TidelogCluster:
    """Real processes; killed and started by role ("broker", "controller", "group-coordinator") and id."""

    def __init__(
        self, folder: Path, *, brokers: int = 1, zookeeper: str | None = None, settings: Sequence[str] = ()
    ) -> None:
        self._data_dir = folder / "cluster"
        self._brokers = brokers
        self._zookeeper = None if zookeeper is None else f"{zookeeper}/tidelog-test-{uuid.uuid4().hex}"
        self._settings = (*_SETTINGS, *settings)
        self._report: dict[str, Any] = {}

    @property
    def bootstrap_servers(self) -> str:
        """What `bootstrap.servers` of a client is set to."""
        return str(self._report["bootstrap"])

    @property
    def zookeeper(self) -> str:
        """Where ZooKeeper is, chroot included."""
        return self._zookeeper or str(self._report["zookeeper"])

    def up(self) -> None:
        """Start everything and wait until it is ready."""
        counts = ["--brokers", str(self._brokers), "--controllers", "1", "--group-coordinators", "1", "--metadata", "0"]
        elsewhere = [] if self._zookeeper is None else ["--zookeeper", self._zookeeper]
        configs = [argument for each in self._settings for argument in ("--config", each)]
        ports = ["--port-base", str(_free_port_base())]
        self._report = json.loads(self._tidelog("up", "--detach", "--json", *counts, *elsewhere, *ports, *configs))

    def down(self) -> None:
        """End everything."""
        self._tidelog("down")

    def status(self) -> dict[str, Any]:
        """What `tidelog status --json` says."""
        return dict(json.loads(self._tidelog("status", "--json")))

    def kill(self, role: str, id: int, signal: str = "KILL") -> None:
        """Send one process a signal: KILL, TERM, STOP or CONT."""
        self._tidelog("kill", role, str(id), "--signal", signal)

    def start(self, role: str, id: int) -> None:
        """Start one process again, and wait until it is ready."""
        self._tidelog("start", role, str(id))

    def _tidelog(self, verb: str, *arguments: str) -> str:
        command = [sys.executable, "-m", "tidelog", verb, *arguments, "--data-dir", str(self._data_dir)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
        if done.returncode != 0:
            raise RuntimeError(
                f"tidelog {verb} failed with {done.returncode}: {done.stderr.strip() or done.stdout.strip()}"
            )
        return done.stdout


def _free_port_base() -> int:
    """The first of so many ports in a row that nobody listens on."""
    for _ in range(100):
        base = random.randrange(_PORTS.start, _PORTS.stop - _PORTS_A_CLUSTER)  # noqa: S311  no secret
        if all(_is_free(port) for port in range(base, base + _PORTS_A_CLUSTER)):
            return base
    raise RuntimeError("no free ports were found")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
