"""Takes a cluster down and tells of it, for `tidelog down` and for the end of a `tidelog up` in the foreground."""

import sys
from collections.abc import Callable

from tidelog.cli.screen import Screen
from tidelog.local.data_dir import DataDir
from tidelog.local.layout import LocalProcess, Shape
from tidelog.local.stopping import Stopped, take_down

# Above shutdown.timeout.ms, in which a process ends by itself.
DEFAULT_GRACE_S = 35.0


def stop_cluster(
    data_dir: DataDir, shape: Shape, *, grace_s: float, screen: Screen, hurry: Callable[[], bool]
) -> Stopped:
    """End all processes in order, with a line for each of them."""

    def on_stopped(process: LocalProcess, killed: bool) -> None:
        if killed:
            print(f"tidelog: {process} did not stop in time and was killed.", file=sys.stderr)
        else:
            screen.stopped(process)

    return take_down(data_dir, shape, grace_s=grace_s, hurry=hurry, on_stopped=on_stopped)
