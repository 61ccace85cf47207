"""Starts a cluster, or one process of it, and waits until it is ready; a cluster that fails to start leaves nothing."""

import socket
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from subprocess import Popen

from tidelog.local.data_dir import DataDir
from tidelog.local.faults import LocalError
from tidelog.local.launching import last_sentence, launch
from tidelog.local.layout import HOST, LocalProcess, Role, Shape, listening_ports
from tidelog.local.observing import Observed, observe
from tidelog.local.pids import refer_to, save_ref
from tidelog.local.probing import Prober
from tidelog.local.stopping import take_down
from tidelog.local.zookeeper import zookeeper_command

_POLL_INTERVAL_S = 0.05
_KEEP_READY_S = 1.0
# A process that has not served anybody yet has nothing to hand over.
_FAILED_START_GRACE_S = 3.0


@dataclass(slots=True)
class Launched:
    """The processes that this command started: the children by process id, and where in its log each one began."""

    children: dict[int, Popen[bytes]] = field(default_factory=dict)
    log_starts: dict[str, int] = field(default_factory=dict)


class Starter:
    """Starts processes from the files in a data directory."""

    def __init__(
        self,
        data_dir: DataDir,
        shape: Shape,
        *,
        interrupted: Callable[[], bool] = lambda: False,
        on_progress: Callable[[Sequence[Observed]], None] = lambda _seen: None,
    ) -> None:
        self._data_dir = data_dir
        self._shape = shape
        self._interrupted = interrupted
        self._on_progress = on_progress
        self.launched = Launched()

    def start_all(self, timeout_s: float) -> list[Observed]:
        """Start everything at once and wait until all of it is ready; LocalError, and nothing runs, if that fails.

        The services wait for ZooKeeper by themselves, so there is no order to keep.
        """
        commands = [(process, self._command(process)) for process in self._shape.processes]
        try:
            for process, command in commands:
                self._launch(process, command)
            return self.wait_ready(self._shape.processes, timeout_s)
        except BaseException:
            take_down(self._data_dir, self._shape, grace_s=_FAILED_START_GRACE_S)
            raise

    def start_one(self, process: LocalProcess) -> None:
        """Start one process and return at once."""
        self._launch(process, self._command(process))

    def wait_ready(self, processes: Sequence[LocalProcess], timeout_s: float) -> list[Observed]:
        """Wait until these processes are ready, and return what the whole cluster looks like then."""
        deadline = time.monotonic() + timeout_s
        prober = Prober(keep_ready_s=_KEEP_READY_S)
        try:
            while True:
                seen = observe(self._data_dir, self._shape, prober, self.launched.children)
                self._on_progress(seen)
                awaited = [one for one in seen if one.process in processes]
                self._check_running(awaited)
                if all_ready(awaited):
                    return seen
                self._check_patience(awaited, deadline, timeout_s)
                time.sleep(_POLL_INTERVAL_S)
        finally:
            prober.close()

    def _command(self, process: LocalProcess) -> list[str]:
        settings = self._data_dir.settings_file(process)
        if process.role is Role.ZOOKEEPER:
            return zookeeper_command(settings)
        return [sys.executable, "-m", "tidelog", process.role, "--config", str(settings)]

    def _launch(self, process: LocalProcess, command: Sequence[str]) -> None:
        log_file = self._data_dir.log_file(process)
        self.launched.log_starts[str(process)] = log_file.stat().st_size if log_file.exists() else 0
        child = launch(command, self._data_dir.folder(process), log_file)
        save_ref(self._data_dir.pid_file(process), refer_to(child.pid))
        self.launched.children[child.pid] = child

    def _check_running(self, awaited: Iterable[Observed]) -> None:
        for one in awaited:
            if one.pid is None:
                log_file = self._data_dir.log_file(one.process)
                said = last_sentence(log_file, since=self.launched.log_starts.get(str(one.process), 0))
                raise LocalError(f"{one.process} {one.state} during start-up: {said} (its log: {log_file})")

    def _check_patience(self, awaited: Iterable[Observed], deadline: float, timeout_s: float) -> None:
        if self._interrupted():
            raise LocalError("The start was interrupted.")
        if time.monotonic() > deadline:
            raise LocalError(late_sentence(awaited, timeout_s))


def all_ready(seen: Sequence[Observed]) -> bool:
    """Whether all processes are ready, and the controllers, if they tell, have elected one of them."""
    told = [one.probe.active for one in seen if one.probe.active is not None]
    return all(one.probe.ready for one in seen) and (not told or any(told) or len(seen) == 1)


def late_sentence(seen: Iterable[Observed], timeout_s: float) -> str:
    """What to tell when patience is over."""
    late = [f"{one.process} ({one.probe.reason})" for one in seen if not one.probe.ready]
    waiting_for = ", ".join(late) or "a controller to become active"
    return f"Not ready within {timeout_s:g} s: {waiting_for}; look into the logs, or give more time with --timeout."


def check_ports(shape: Shape) -> None:
    """LocalError if somebody else listens on a port that the cluster needs."""
    for port, what in listening_ports(shape):
        with socket.socket() as candidate:
            # As the services do: connections of an earlier cluster that still linger are no obstacle.
            candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                candidate.bind((HOST, port))
            except OSError as error:
                raise LocalError(
                    f"Port {port}, for the {what}, cannot be used ({error.strerror}): stop the program that listens "
                    "there, or move the whole cluster with --port-base."
                ) from error
