"""`tidelog context`: clusters under names, so that their addresses need not be typed."""

from typing import Annotated

import typer

from tidelog.cli.completing import complete_context
from tidelog.cli.contexts import SavedContext, contexts_file, load_contexts, save_contexts
from tidelog.cli.lazily import noun
from tidelog.cli.options import JsonOption
from tidelog.cli.parsing import pairs
from tidelog.cli.printing import print_json, print_table
from tidelog.local.faults import WrongUsageError

context = noun("context", "Save clusters under names, and choose one of them.")

NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="The name of the context.", show_default=False, autocompletion=complete_context
    ),
]


@context.command("add")
def add(
    name: NameArgument,
    bootstrap_server: Annotated[
        str, typer.Option("--bootstrap-server", "-b", metavar="HOST:PORT,...", help="Brokers of the cluster.")
    ],
    setting: Annotated[
        list[str] | None,
        typer.Option("-X", "--set", metavar="KEY=VALUE", help="A setting of clients, such as client.id."),
    ] = None,
) -> None:
    """Save a cluster under a name. The first one that is saved becomes the current one.

    Examples:

    - `tidelog context add here --bootstrap-server 127.0.0.1:9092`
    """
    path = contexts_file()
    contexts = load_contexts(path)
    contexts.saved[name] = SavedContext(bootstrap_server, pairs(setting or [], "--set"))
    contexts.current = contexts.current or name
    save_contexts(path, contexts)
    print(f"Saved context {name}.")


@context.command("use")
def use(name: NameArgument) -> None:
    """Make a saved context the current one: commands without --bootstrap-server speak with it.

    Examples:

    - `tidelog context use here`
    """
    path = contexts_file()
    contexts = load_contexts(path)
    contexts.named(name)
    contexts.current = name
    save_contexts(path, contexts)
    print(f"The current context is {name}.")


@context.command("list")
def list_contexts(json_output: JsonOption = False) -> None:
    """List the saved contexts.

    Examples:

    - `tidelog context list`
    - `tidelog context list --json`
    """
    contexts = load_contexts(contexts_file())
    rows = [
        {"name": name, "current": name == contexts.current, "bootstrap_server": each.bootstrap_server}
        for name, each in sorted(contexts.saved.items())
    ]
    if json_output:
        print_json(rows)
    else:
        print_table(
            ["NAME", "CURRENT", "BOOTSTRAP-SERVER"],
            [[row["name"], "*" if row["current"] else "", row["bootstrap_server"]] for row in rows],
        )


@context.command("remove")
def remove(name: NameArgument) -> None:
    """Forget a saved context.

    Examples:

    - `tidelog context remove here`
    """
    path = contexts_file()
    contexts = load_contexts(path)
    if name not in contexts.saved:
        raise WrongUsageError(f"There is no context {name!r}: `tidelog context list` shows those that there are.")
    del contexts.saved[name]
    if contexts.current == name:
        contexts.current = None
    save_contexts(path, contexts)
    print(f"Removed context {name}.")
