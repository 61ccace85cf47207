"""`tidelog status`: the processes of the cluster on this machine."""

import json

from rich.console import Console

from tidelog.cli.options import DEFAULT_DATA_DIR, DataDirOption, JsonOption
from tidelog.cli.screen import StateWords, process_table, summary_lines
from tidelog.local.cluster import existing_shape, look, open_data_dir
from tidelog.local.faults import UnreachableError
from tidelog.local.observing import report


def status(data_dir: DataDirOption = DEFAULT_DATA_DIR, json_output: JsonOption = False) -> None:
    """Show every process: its pid, address, whether it is ready and if not why.

    The exit code is 3 if nothing runs.

    Examples:

    - `tidelog status`
    - `tidelog status --json | jq -r .bootstrap`
    """
    found = open_data_dir(data_dir)
    shape = existing_shape(found)
    seen = look(found, shape)
    if json_output:
        print(json.dumps(report(shape, seen)))
    else:
        console = Console()
        console.print(process_table(seen, StateWords(assume_started=True)))
        console.print("", *summary_lines(shape), sep="\n", markup=False, highlight=False)
    if all(one.pid is None for one in seen):
        raise UnreachableError(f"The cluster in {found.root} is not running: start it with `tidelog up`.")
