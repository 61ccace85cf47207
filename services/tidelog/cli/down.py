"""`tidelog down`: ends the cluster that `tidelog up` started."""

from typing import Annotated

import typer
from rich.console import Console

from tidelog.cli.interrupts import Interrupts
from tidelog.cli.options import DEFAULT_DATA_DIR, DataDirOption
from tidelog.cli.screen import LineScreen
from tidelog.cli.stopping import DEFAULT_GRACE_S, stop_cluster
from tidelog.local.cluster import open_data_dir
from tidelog.local.shape_file import load_shape


def down(
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
    timeout: Annotated[
        float, typer.Option(min=0, help="How many seconds the processes of one role may take before they are killed.")
    ] = DEFAULT_GRACE_S,
) -> None:
    """Take the cluster down; its data stays.

    The processes end in an order in which each can hand over its work: metadata, group coordinators, brokers,
    controllers, and ZooKeeper last. Only processes that tidelog itself started here are ever signalled.

    Examples:

    - `tidelog down`
    - `tidelog down --data-dir /tmp/second --timeout 5`
    """
    found = open_data_dir(data_dir)
    shape = load_shape(found.cluster_file)
    screen = LineScreen(Console())
    if shape is None:
        screen.say(f"There is no cluster in {found.root}: nothing to stop.")
        return
    stopped = stop_cluster(found, shape, grace_s=timeout, screen=screen, hurry=Interrupts().hurried)
    if not stopped.ended and not stopped.killed:
        screen.say("Nothing was running.")
