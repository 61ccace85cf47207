"""`tidelog chaos`: kills processes of the cluster on this machine again and again, to see that nobody notices."""

import random
import signal
import time
from typing import Annotated

import typer

from tidelog.cli.interrupts import Interrupts
from tidelog.cli.kill import SignalName
from tidelog.cli.lazily import noun
from tidelog.cli.options import DEFAULT_DATA_DIR, DataDirOption
from tidelog.cli.parsing import duration_ms
from tidelog.local.data_dir import DataDir
from tidelog.local.layout import LocalProcess, Role, Shape

chaos = noun("chaos", "Disturb the cluster on this machine.")


@chaos.command("kill")
def chaos_kill(
    every: Annotated[str, typer.Option(metavar="DURATION", help="How long to wait between two kills.")] = "10s",
    role: Annotated[
        list[Role] | None,
        typer.Option("--role", metavar="ROLE", help="Whom to kill; may be repeated.", show_default="broker"),
    ] = None,
    count: Annotated[int | None, typer.Option(min=1, help="Stop after so many kills.", show_default=False)] = None,
    down_for: Annotated[str, typer.Option(metavar="DURATION", help="Start it again after so long.")] = "2s",
    signal_name: Annotated[
        SignalName, typer.Option("--signal", case_sensitive=False, help="KILL is a crash, TERM an orderly stop.")
    ] = SignalName.KILL,
    seed: Annotated[int | None, typer.Option(help="Choose the same victims again.", show_default=False)] = None,
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
) -> None:
    """Kill a process, start it again, wait until it is ready, and so on until Ctrl-C.

    Examples:

    - `tidelog chaos kill --every 10s --count 1`
    - `tidelog chaos kill --every 1s --role group-coordinator --role controller --down-for 500ms --count 1 --seed 7`
    """
    from tidelog.local.cluster import existing_shape, open_data_dir

    pause_s, down_s = duration_ms(every) / 1000, duration_ms(down_for) / 1000
    found = open_data_dir(data_dir)
    shape = existing_shape(found)
    victims = [process for each in role or [Role.BROKER] for process in shape.of(each)]
    # A game, not a secret.
    choose = random.Random(seed).choice  # noqa: S311
    interrupts = Interrupts()
    kills = 0
    while not interrupts.requested() and kills != count and victims:
        if kills:
            interrupts.wait(pause_s)
        if not interrupts.requested():
            _kill_and_start(found, shape, choose(victims), signal.Signals[f"SIG{signal_name}"], down_s, interrupts)
            kills += 1
    print(f"{kills} kills.")


def _kill_and_start(
    data_dir: DataDir,
    shape: Shape,
    victim: LocalProcess,
    number: signal.Signals,
    down_s: float,
    interrupts: Interrupts,
) -> None:
    from tidelog.local.cluster import signal_process, start_process
    from tidelog.local.observing import running_pid

    pid = signal_process(data_dir, victim, number)
    print(f"Sent {number.name} to {victim} (pid {pid}).", flush=True)
    interrupts.wait(down_s)
    deadline = time.monotonic() + 30
    while running_pid(data_dir, victim) and time.monotonic() < deadline:
        time.sleep(0.05)
    begun = time.monotonic()
    start_process(data_dir, shape, victim, timeout_s=120, interrupted=lambda: False)
    print(f"{victim} is ready again after {time.monotonic() - begun:.1f} s.", flush=True)
