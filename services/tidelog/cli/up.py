"""`tidelog up`: a whole cluster on this machine, ZooKeeper included."""

import json
import sys
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.console import Console

from tidelog.cli.interrupts import Interrupts
from tidelog.cli.options import DEFAULT_DATA_DIR, DataDirOption, JsonOption
from tidelog.cli.screen import LineScreen, Screen, screen_for, summary_lines
from tidelog.cli.stopping import DEFAULT_GRACE_S, stop_cluster
from tidelog.local.cluster import Wishes, open_data_dir, prepare
from tidelog.local.data_dir import DataDir
from tidelog.local.known_settings import unknown_sentences
from tidelog.local.layout import Shape
from tidelog.local.observing import Observed, observe, report
from tidelog.local.probing import Prober
from tidelog.local.properties import parse_overrides
from tidelog.local.starting import Starter

_LOOK_INTERVAL_S = 1.0


@dataclass(frozen=True, slots=True)
class _Running:
    """A cluster that this command has started."""

    data_dir: DataDir
    shape: Shape
    starter: Starter


def up(
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
    brokers: Annotated[int | None, typer.Option(min=1, help="How many brokers.", show_default="3")] = None,
    controllers: Annotated[int | None, typer.Option(min=1, help="How many controllers.", show_default="2")] = None,
    group_coordinators: Annotated[
        int | None, typer.Option(min=0, help="How many group coordinators.", show_default="2")
    ] = None,
    metadata: Annotated[
        int | None,
        typer.Option(min=0, help="How many metadata processes; the first has the console.", show_default="1"),
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="A setting for every process that knows it; may be repeated.",
            show_default=False,
        ),
    ] = None,
    zookeeper: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Use this ZooKeeper instead of an embedded one.", show_default=False),
    ] = None,
    port_base: Annotated[
        int | None,
        typer.Option(
            min=1024,
            max=65000,
            metavar="PORT",
            help="Pack all ports from this one upwards; stay below 32768, where the system takes its own ports from.",
            show_default="brokers 9092.., ZooKeeper 2181, console 8080",
        ),
    ] = None,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Return once the cluster is ready.")] = False,
    json_output: JsonOption = False,
    timeout: Annotated[float, typer.Option(min=1, help="How many seconds everything may take to be ready.")] = 60,
) -> None:
    """Start a whole cluster on this machine, ZooKeeper included.

    Without --detach it stays in the foreground with a live table of its processes, and Ctrl-C takes everything down. A
    cluster that was taken down starts again with its data and its options; --brokers may then only grow. Each process
    has a folder in the data directory with its settings, which you may edit, and its log.

    Examples:

    - `tidelog up`
    - `tidelog up --detach --brokers 1 --config log.retention.ms=3600000`
    - `tidelog up --detach --json --data-dir /tmp/second --port-base 20000`
    """
    wishes = Wishes(
        brokers=brokers,
        controllers=controllers,
        group_coordinators=group_coordinators,
        metadata=metadata,
        zookeeper=zookeeper,
        port_base=port_base,
        overrides=parse_overrides(config or []),
    )
    for sentence in unknown_sentences(wishes.overrides):
        print(f"tidelog: {sentence}", file=sys.stderr)
    interrupts = Interrupts()
    console = Console(quiet=json_output)
    with screen_for(console, quiet=json_output) as screen:
        running, seen = _start(open_data_dir(data_dir), wishes, timeout, screen, interrupts)
        if json_output:
            print(json.dumps(report(running.shape, seen)), flush=True)
        if not detach:
            _say_ready(running.shape, screen, "Ctrl-C takes it down.")
            _stay(running, screen, interrupts)
    if detach:
        _say_ready(running.shape, LineScreen(console), "`tidelog down` takes it down.")


def _start(
    data_dir: DataDir, wishes: Wishes, timeout_s: float, screen: Screen, interrupts: Interrupts
) -> tuple[_Running, list[Observed]]:
    with data_dir.locked():
        shape = prepare(data_dir, wishes)
        starter = Starter(data_dir, shape, interrupted=interrupts.requested, on_progress=screen.show)
        seen = starter.start_all(timeout_s)
    return _Running(data_dir, shape, starter), seen


def _say_ready(shape: Shape, screen: Screen, way_out: str) -> None:
    for line in (*summary_lines(shape), way_out):
        screen.say(line)


def _stay(running: _Running, screen: Screen, interrupts: Interrupts) -> None:
    """Show the cluster until a signal, or until `tidelog down` elsewhere has ended everything."""
    prober = Prober()
    try:
        while not interrupts.requested() and any(one.pid for one in _look(running, prober, screen)):
            interrupts.wait(_LOOK_INTERVAL_S)
    finally:
        stop_cluster(running.data_dir, running.shape, grace_s=DEFAULT_GRACE_S, screen=screen, hurry=interrupts.hurried)
        _look(running, prober, screen)
        prober.close()


def _look(running: _Running, prober: Prober, screen: Screen) -> list[Observed]:
    seen = observe(running.data_dir, running.shape, prober, running.starter.launched.children)
    screen.show(seen)
    return seen
