"""`tidelog elect-leaders`: gives partitions back to their preferred leaders, or any leader at all."""

from typing import TYPE_CHECKING, Annotated

import typer

from tidelog.cli.options import JsonOption
from tidelog.cli.parsing import topic_partitions
from tidelog.cli.printing import print_json
from tidelog.cli.target import Target, speaks
from tidelog.local.faults import WrongUsageError

if TYPE_CHECKING:
    from tidelog.client import Admin, TopicPartition


@speaks
async def elect_leaders(
    target: Target,
    topics: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TOPIC[:0,1]]...", help="Topics, or some of their partitions.", show_default=False),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All partitions of all topics.")] = False,
    unclean: Annotated[
        bool, typer.Option("--unclean", help="Any replica may lead where none in sync is left: records may be lost.")
    ] = False,
    json_output: JsonOption = False,
) -> None:
    """Elect leaders: the first replica of each partition, if it is in sync.

    Examples:

    - `tidelog elect-leaders orders`
    - `tidelog elect-leaders --all --json`
    """
    from tidelog.client import ElectionType

    if bool(topics) == everything:
        raise WrongUsageError("Name topics, or take --all.")
    async with target.admin() as admin:
        wanted = None if everything else await _partitions(admin, topics or [])
        election = ElectionType.UNCLEAN if unclean else ElectionType.PREFERRED
        elected = await admin.elect_leaders(wanted, election=election)
    if json_output:
        print_json({"elected": [{"topic": each.topic, "partition": each.partition} for each in elected]})
    else:
        print(f"{len(elected)} partitions have a new leader.")


async def _partitions(admin: "Admin", texts: list[str]) -> "list[TopicPartition]":
    from tidelog.client import TopicPartition

    named = [topic_partitions(text) for text in texts]
    known = await admin.describe_topics([topic for topic, _ in named])
    return [
        TopicPartition(topic, number)
        for topic, numbers in named
        for number in (sorted(known[topic].partitions) if numbers is None else numbers)
    ]
