"""`tidelog start`: one process again, after it was killed or stopped."""

from typing import Annotated

import typer

from tidelog.cli.interrupts import Interrupts
from tidelog.cli.options import DEFAULT_DATA_DIR, DataDirOption, IdArgument, RoleArgument, process_id
from tidelog.local.cluster import existing_shape, find_process, open_data_dir, start_process
from tidelog.local.observing import running_pid


def start(
    role: RoleArgument,
    number: IdArgument = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Return once it is ready, or at once.")] = True,
    timeout: Annotated[float, typer.Option(min=1, help="How many seconds it may take to be ready.")] = 60,
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
) -> None:
    """Start one process of the cluster again, with the settings in its folder.

    If it is not ready in time it keeps running, and `tidelog status` tells what it waits for.

    Examples:

    - `tidelog start broker 1`
    - `tidelog start zookeeper --no-wait`
    """
    found = open_data_dir(data_dir)
    shape = existing_shape(found)
    process = find_process(shape, role, process_id(role, number))
    interrupts = Interrupts()
    start_process(found, shape, process, timeout_s=timeout if wait else None, interrupted=interrupts.requested)
    print(f"{process} runs with pid {running_pid(found, process)}{' and is ready' if wait else ''}.")
