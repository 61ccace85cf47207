"""Options and arguments that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from tidelog.local.layout import Role

DataDirOption = Annotated[
    Path,
    typer.Option(
        "--data-dir",
        envvar="TIDELOG_DATA_DIR",
        metavar="DIR",
        help="Where the cluster keeps its settings, logs and data.",
        show_default="./.tidelog",
    ),
]
DEFAULT_DATA_DIR = Path(".tidelog")

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]

RoleArgument = Annotated[Role, typer.Argument(metavar="ROLE", help=f"One of {', '.join(Role)}.", show_default=False)]

IdArgument = Annotated[
    int | None,
    typer.Argument(metavar="ID", help="Which of them, from 0; may be left out for zookeeper.", show_default=False),
]


def process_id(role: Role, given: int | None) -> int:
    """The id on the command line; the only role whose id can be guessed is ZooKeeper's."""
    if given is not None:
        return given
    if role is Role.ZOOKEEPER:
        return 0
    raise typer.BadParameter(f"which {role}? Give its id, such as `{role} 0`")
