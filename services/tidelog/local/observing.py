"""Looks at every process of a cluster: does it run, is it ready, and how long already."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from subprocess import Popen
from typing import Any

from tidelog.local.data_dir import DataDir
from tidelog.local.layout import Listener, LocalProcess, Role, Shape
from tidelog.local.pids import is_alive, load_ref
from tidelog.local.probing import Probe, Prober

Children = Mapping[int, Popen[bytes]]  # by process id


@dataclass(frozen=True, slots=True)
class Observed:
    """One process as it is now; `pid` is None if it does not run."""

    process: LocalProcess
    pid: int | None
    probe: Probe
    uptime_s: float = 0.0
    exit_code: int | None = None

    @property
    def state(self) -> str:
        """The state in words, for people."""
        if self.pid is None:
            return "stopped" if self.exit_code is None else f"stopped (exit code {self.exit_code})"
        if self.probe.ready:
            return "ready, active" if self.probe.active else "ready"
        return f"not ready: {self.probe.reason}"


def observe(data_dir: DataDir, shape: Shape, prober: Prober, children: Children | None = None) -> list[Observed]:
    """Every process of the cluster; exit codes are known only of children of this very command."""
    pids = [running_pid(data_dir, process) for process in shape.processes]
    running = [process for process, pid in zip(shape.processes, pids, strict=True) if pid is not None]
    probes = iter(prober.probe_all(running))
    seen = []
    for process, pid in zip(shape.processes, pids, strict=True):
        if pid is None:
            exit_code = _exit_code(data_dir, process, children or {})
            seen.append(Observed(process, None, Probe(ready=False, reason="stopped"), exit_code=exit_code))
        else:
            seen.append(Observed(process, pid, next(probes), uptime_s=_uptime_s(data_dir, process)))
    return seen


def running_pid(data_dir: DataDir, process: LocalProcess) -> int | None:
    """The id of the process if it runs."""
    ref = load_ref(data_dir.pid_file(process))
    return ref.pid if ref is not None and is_alive(ref) else None


def report(shape: Shape, seen: Sequence[Observed]) -> dict[str, Any]:
    """The JSON document of `tidelog up --json` and `tidelog status --json`."""
    return {
        "bootstrap": shape.bootstrap,
        "zookeeper": shape.zookeeper,
        "console": shape.console,
        "processes": [_report_process(one) for one in seen],
    }


def _report_process(one: Observed) -> dict[str, Any]:
    document: dict[str, Any] = {
        "role": one.process.role.value,
        "id": one.process.id,
        "pid": one.pid,
        "ready": one.probe.ready,
    }
    for listener in (Listener.KAFKA, Listener.GRPC, Listener.HTTP):
        if address := one.process.address(listener):
            document[listener.value] = address
    if one.process.role is Role.CONTROLLER and one.probe.ready and one.probe.active:
        document["active"] = True
    return document


def _exit_code(data_dir: DataDir, process: LocalProcess, children: Children) -> int | None:
    ref = load_ref(data_dir.pid_file(process))
    child = children.get(ref.pid) if ref else None
    return child.poll() if child else None


def _uptime_s(data_dir: DataDir, process: LocalProcess) -> float:
    """The pid file is written when a process starts, so its age is the uptime."""
    try:
        return max(0.0, time.time() - data_dir.pid_file(process).stat().st_mtime)
    except OSError:
        return 0.0
