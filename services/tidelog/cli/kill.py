"""`tidelog kill`: a signal for one process, to see how the cluster takes it."""

import signal
from enum import StrEnum
from typing import Annotated

import typer

from tidelog.cli.options import DEFAULT_DATA_DIR, DataDirOption, IdArgument, RoleArgument, process_id
from tidelog.local.cluster import existing_shape, find_process, open_data_dir, signal_process


class SignalName(StrEnum):
    """The signals that make sense here."""

    TERM = "TERM"
    KILL = "KILL"
    STOP = "STOP"
    CONT = "CONT"


def kill(
    role: RoleArgument,
    number: IdArgument = None,
    signal_name: Annotated[
        SignalName,
        typer.Option(
            "--signal",
            case_sensitive=False,
            help="KILL is a crash, TERM an orderly stop, STOP a freeze that CONT ends.",
        ),
    ] = SignalName.KILL,
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
) -> None:
    """Signal one process: kill it, stop it in an orderly way, freeze it or wake it.

    Examples:

    - `tidelog kill broker 1`
    - `tidelog kill controller 0 --signal STOP`
    - `tidelog kill zookeeper --signal TERM`
    """
    found = open_data_dir(data_dir)
    process = find_process(existing_shape(found), role, process_id(role, number))
    signal_number = signal.Signals[f"SIG{signal_name}"]
    pid = signal_process(found, process, signal_number)
    print(f"Sent {signal_number.name} to {process} (pid {pid}).")
