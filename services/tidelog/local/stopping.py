"""Takes a cluster down in an order in which each process can still hand over its work."""

import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tidelog.local.data_dir import DataDir
from tidelog.local.layout import STOP_ORDER, LocalProcess, Shape
from tidelog.local.pids import ProcessRef, is_alive, load_ref, send_signal

_POLL_INTERVAL_S = 0.02
_KILL_TIMEOUT_S = 10.0


@dataclass(slots=True)
class Stopped:
    """What taking a cluster down came to."""

    ended: list[LocalProcess] = field(default_factory=list)
    killed: list[LocalProcess] = field(default_factory=list)


def take_down(
    data_dir: DataDir,
    shape: Shape,
    *,
    grace_s: float,
    hurry: Callable[[], bool] = lambda: False,
    on_stopped: Callable[[LocalProcess, bool], None] = lambda _process, _killed: None,
) -> Stopped:
    """End all processes, role by role; one that does not stop within the grace is killed.

    `hurry` becoming true ends the grace at once; `on_stopped` hears of each process and whether it had to be killed.
    """
    result = Stopped()
    for role in STOP_ORDER:
        running = list(_running(data_dir, shape.of(role)))
        for _, ref in running:
            ask_to_stop(ref)
        deadline = time.monotonic() + grace_s
        for process, ref in running:
            gone = _wait_gone(ref, deadline, hurry)
            if not gone:
                send_signal(ref, signal.SIGKILL)
                _wait_gone(ref, time.monotonic() + _KILL_TIMEOUT_S)
            (result.ended if gone else result.killed).append(process)
            data_dir.pid_file(process).unlink(missing_ok=True)
            on_stopped(process, not gone)
    return result


def ask_to_stop(ref: ProcessRef) -> None:
    """SIGTERM, and SIGCONT after it, because a suspended process would not see the first."""
    send_signal(ref, signal.SIGTERM)
    send_signal(ref, signal.SIGCONT)


def wait_gone(ref: ProcessRef, timeout_s: float) -> bool:
    """Wait until the process has ended; False if it has not by then."""
    return _wait_gone(ref, time.monotonic() + timeout_s)


def _running(data_dir: DataDir, processes: Iterable[LocalProcess]) -> Iterable[tuple[LocalProcess, ProcessRef]]:
    for process in processes:
        ref = load_ref(data_dir.pid_file(process))
        if ref is not None and is_alive(ref):
            yield process, ref


def _wait_gone(ref: ProcessRef, deadline: float, hurry: Callable[[], bool] = lambda: False) -> bool:
    while is_alive(ref):
        if hurry() or time.monotonic() > deadline:
            return False
        time.sleep(_POLL_INTERVAL_S)
    return True
