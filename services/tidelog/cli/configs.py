"""`tidelog configs`: the settings of topics and brokers, as they are and as they shall be."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from tidelog.cli.lazily import noun
from tidelog.cli.options import JsonOption
from tidelog.cli.parsing import pairs
from tidelog.cli.printing import print_json, print_table
from tidelog.cli.target import Target, speaks
from tidelog.local.faults import WrongUsageError

if TYPE_CHECKING:
    from tidelog.client import ConfigResource

configs = noun("configs", "See and change the settings of topics and brokers.")


class Kind(StrEnum):
    """Whose settings."""

    TOPIC = "topic"
    BROKER = "broker"


KindArgument = Annotated[Kind, typer.Argument(metavar="KIND", help="topic or broker.", show_default=False)]
NameArgument = Annotated[
    str,
    typer.Argument(metavar="NAME", help="A topic, the id of a broker, or `all` for all brokers.", show_default=False),
]


@configs.command("describe")
@speaks
async def describe(
    target: Target,
    kind: KindArgument,
    name: NameArgument,
    everything: Annotated[bool, typer.Option("--all", help="Also those that have their default.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Show settings, and where each value comes from.

    Examples:

    - `tidelog configs describe topic orders`
    - `tidelog configs describe broker 1 --all --json`
    - `tidelog configs describe broker all`
    """
    async with target.admin() as admin:
        if kind is Kind.TOPIC:
            await admin.describe_topics([name])
        found = await admin.describe_configs(resource(kind, name))
    shown = [each for _, each in sorted(found.items()) if everything or each.source.name.startswith("DYNAMIC")]
    if json_output:
        print_json(
            [
                {"name": each.name, "value": each.value, "source": each.source.name, "read_only": each.is_read_only}
                for each in shown
            ]
        )
        return
    print_table(["NAME", "VALUE", "SOURCE"], [[each.name, each.value, each.source.name] for each in shown])
    if not everything:
        print("--all shows those that have their default, too.")


@configs.command("alter")
@speaks
async def alter(
    target: Target,
    kind: KindArgument,
    name: NameArgument,
    change: Annotated[
        list[str] | None, typer.Option("--config", "-c", metavar="KEY=VALUE", help="Set it.", show_default=False)
    ] = None,
    delete: Annotated[
        list[str] | None, typer.Option("--delete", "-d", metavar="KEY", help="Back to its default.", show_default=False)
    ] = None,
    append: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Add to a list.", show_default=False)
    ] = None,
    subtract: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Take from a list.", show_default=False)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only ask whether it could be done.")] = False,
) -> None:
    """Change some settings and leave the others.

    Examples:

    - `tidelog configs alter topic orders --config retention.ms=3600000`
    - `tidelog configs alter topic orders --delete retention.ms`
    - `tidelog configs alter broker all --config log.cleaner.threads=2`
    """
    values: dict[str, str | int | bool | None] = {**pairs(change or [], "--config"), **dict.fromkeys(delete or [])}
    appended, subtracted = pairs(append or [], "--append"), pairs(subtract or [], "--subtract")
    if not values and not appended and not subtracted:
        raise WrongUsageError("Say what to change with --config, --delete, --append or --subtract.")
    async with target.admin() as admin:
        await admin.alter_configs(
            resource(kind, name), values, append=appended, subtract=subtracted, validate_only=dry_run
        )
    print(f"The settings of {kind} {name} {'could be' if dry_run else 'were'} changed.")


def resource(kind: Kind, name: str) -> "ConfigResource":
    """Whose settings are meant."""
    from tidelog.client import ConfigResource

    if kind is Kind.TOPIC:
        return ConfigResource.topic(name)
    if name != "all" and not name.isdecimal():
        raise WrongUsageError(f"{name!r} is not the id of a broker; `all` stands for all of them.")
    return ConfigResource.broker(None if name == "all" else int(name))
