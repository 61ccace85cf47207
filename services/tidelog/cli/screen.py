"""What people see of a cluster: a table that lives while the terminal does, plain lines where there is none."""

from collections.abc import Sequence
from typing import Protocol, Self

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tidelog.local.layout import Listener, LocalProcess, Role, Shape
from tidelog.local.observing import Observed

_STYLES = {"ready": "green", "starting": "yellow", "not ready": "yellow", "stopped": "red"}


class Screen(Protocol):
    """Shows the processes while a command runs."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...
    def show(self, seen: Sequence[Observed]) -> None:
        """The processes as they are now."""

    def stopped(self, process: LocalProcess) -> None:
        """One of them has just been taken down."""

    def say(self, line: str) -> None:
        """A sentence besides them."""


class QuietScreen:
    """For scripts, which read the JSON document instead."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None: ...
    def show(self, seen: Sequence[Observed]) -> None: ...
    def stopped(self, process: LocalProcess) -> None: ...
    def say(self, line: str) -> None: ...


class LineScreen:
    """One line whenever the state of a process changes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._words = StateWords()
        self._last: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None: ...

    def show(self, seen: Sequence[Observed]) -> None:
        for one in seen:
            kind, words = self._words.describe(one)
            if self._last.get(str(one.process)) != kind:
                self._last[str(one.process)] = kind
                pid = f" (pid {one.pid}, {main_address(one.process)})" if one.pid else ""
                self.say(f"{one.process}{pid}: {kind if kind == 'starting' else words}")

    def stopped(self, process: LocalProcess) -> None:
        self._last[str(process)] = "stopped"
        self.say(f"{process} stopped.")

    def say(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


class LiveScreen:
    """A table that is drawn again in place."""

    def __init__(self, console: Console) -> None:
        self._words = StateWords()
        self._live = Live(console=console, refresh_per_second=10, transient=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._live.stop()

    def show(self, seen: Sequence[Observed]) -> None:
        self._live.update(process_table(seen, self._words))

    def stopped(self, process: LocalProcess) -> None:
        self.say(f"{process} stopped.")

    def say(self, line: str) -> None:
        self._live.console.print(line, markup=False, highlight=False)


class StateWords:
    """Describes states; a process is `starting` until it is ready for the first time, and `not ready` if that ends."""

    def __init__(self, *, assume_started: bool = False) -> None:
        self._assume_started = assume_started
        self._been_ready: set[int] = set()

    def describe(self, one: Observed) -> tuple[str, str]:
        """The kind of state, and the state with its reason."""
        if one.pid is None:
            return "stopped", one.state
        if one.probe.ready:
            self._been_ready.add(one.pid)
            return "ready", one.state
        if self._assume_started or one.pid in self._been_ready:
            return "not ready", one.state
        return "starting", f"starting: {one.probe.reason}"


def screen_for(console: Console, *, quiet: bool) -> Screen:
    """The screen that suits whoever reads our output."""
    if quiet:
        return QuietScreen()
    return LiveScreen(console) if console.is_terminal else LineScreen(console)


def process_table(seen: Sequence[Observed], words: StateWords) -> Table:
    """The processes for people."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("role", "id", "pid", "address", "state", "uptime"):
        table.add_column(heading, justify="right" if heading in {"id", "pid", "uptime"} else "left")
    for one in seen:
        kind, state = words.describe(one)
        uptime = uptime_text(one.uptime_s) if one.pid else ""
        cells = (one.process.role, str(one.process.id), str(one.pid or "-"), main_address(one.process))
        table.add_row(*cells, Text(state, style=_STYLES[kind]), uptime)
    return table


def summary_lines(shape: Shape) -> list[str]:
    """How to reach the cluster."""
    lines = [f"Kafka clients: {shape.bootstrap}", f"ZooKeeper:     {shape.zookeeper}"]
    return [*lines, f"Console:       {shape.console}"] if shape.console else lines


def main_address(process: LocalProcess) -> str:
    """The address by which people know a process."""
    preferred = {
        Role.BROKER: Listener.KAFKA,
        Role.ZOOKEEPER: Listener.ZOOKEEPER,
        Role.METADATA: Listener.HTTP,
    }
    return process.address(preferred.get(process.role, Listener.GRPC)) or ""


def uptime_text(seconds: float) -> str:
    """A duration in its two largest units."""
    whole = int(seconds)
    days, hours, minutes = whole // 86400, whole // 3600 % 24, whole // 60 % 60
    if days:
        return f"{days}d {hours}h"
    if hours:
        return f"{hours}h {minutes}m"
    return f"{minutes}m {whole % 60}s" if minutes else f"{whole}s"
