"""`tidelog groups`: consumer groups, how far they are behind, and where they go on."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidelog.cli.completing import complete_group
from tidelog.cli.lag import describe_group, group_lags
from tidelog.cli.lazily import noun
from tidelog.cli.options import JsonOption
from tidelog.cli.parsing import topic_partitions
from tidelog.cli.printing import print_json, print_table
from tidelog.cli.resetting import aim_of, plan
from tidelog.cli.target import Target, speaks
from tidelog.local.faults import WrongUsageError

if TYPE_CHECKING:
    from tidelog.client import Admin, TopicPartition

groups = noun("groups", "See consumer groups and their lag, reset their offsets, delete them.")

GroupArgument = Annotated[
    str, typer.Argument(metavar="GROUP", help="A group.", show_default=False, autocompletion=complete_group)
]
TopicsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--topic", "-t", metavar="TOPIC[:0,1]", help="A topic, or some of its partitions.", show_default=False
    ),
]


@groups.command("list")
@speaks
async def list_groups(
    target: Target,
    state: Annotated[
        list[str] | None,
        typer.Option("--state", metavar="STATE", help="Only Stable, Empty, Dead ... ones.", show_default=False),
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """List the groups.

    Examples:

    - `tidelog groups list`
    - `tidelog groups list --state Empty --json`
    """
    async with target.admin() as admin:
        found = await admin.list_groups(states=state or ())
    if json_output:
        print_json([{"group": each.group_id, "state": each.state, "type": each.protocol_type} for each in found])
    else:
        print_table(["GROUP", "STATE", "TYPE"], [[each.group_id, each.state, each.protocol_type] for each in found])


@groups.command("lag")
@speaks
async def lag(
    target: Target,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[GROUP]...", help="All if none is named.", autocompletion=complete_group),
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """Show for each partition what a group has committed, where the end is, and how much lies between.

    Examples:

    - `tidelog groups lag billing`
    - `tidelog groups lag --json`
    """
    found = []
    async with target.admin() as admin:
        for name in names or [each.group_id for each in await admin.list_groups()]:
            found += await group_lags(admin, await describe_group(admin, name))
    if json_output:
        print_json([each.document() for each in found])
        return
    rows = [
        [each.group, each.topic, each.partition, each.current_offset, each.log_end_offset, each.lag, each.client_id]
        for each in found
    ]
    print_table(["GROUP", "TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "CLIENT"], rows)
    if len(found) > 1:
        print(f"Lag in all: {sum(each.lag or 0 for each in found)}")


@groups.command("members")
@speaks
async def members(target: Target, group: GroupArgument, json_output: JsonOption = False) -> None:
    """Show the members of a group and what each of them reads.

    Examples:

    - `tidelog groups members billing`
    """
    async with target.admin() as admin:
        found = await describe_group(admin, group)
    documents = [
        {
            "member_id": each.member_id,
            "instance_id": each.group_instance_id,
            "client_id": each.client_id,
            "host": each.host,
            "partitions": [str(partition) for partition in each.partitions],
        }
        for each in found.members
    ]
    if json_output:
        print_json({"group": group, "state": found.state, "assignor": found.assignor, "members": documents})
        return
    print(f"{group} is {found.state}, {len(documents)} members" + (f", {found.assignor}" if found.assignor else ""))
    if documents:
        rows = [
            [each["member_id"], each["client_id"], each["host"], " ".join(each["partitions"] or ())]
            for each in documents
        ]
        print_table(["MEMBER", "CLIENT", "HOST", "PARTITIONS"], rows)


@groups.command("reset-offsets")
@speaks
async def reset_offsets(
    target: Target,
    group: GroupArgument,
    topic: TopicsOption = None,
    all_topics: Annotated[bool, typer.Option("--all-topics", help="All that the group has committed.")] = False,
    to_earliest: Annotated[bool, typer.Option("--to-earliest", help="To the first record that is there.")] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="To the end.")] = False,
    to_current: Annotated[bool, typer.Option("--to-current", help="To where it is.")] = False,
    to_offset: Annotated[int | None, typer.Option(min=0, help="To this offset.", show_default=False)] = None,
    to_datetime: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="To the first record since 2026-01-31T12:00:00.", show_default=False),
    ] = None,
    by_duration: Annotated[
        str | None, typer.Option(metavar="DURATION", help="To the first record of the last 1h30m.", show_default=False)
    ] = None,
    shift_by: Annotated[
        int | None, typer.Option(metavar="N", help="By N records forward, or back if negative.", show_default=False)
    ] = None,
    from_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="To lines topic,partition,offset.", show_default=False)
    ] = None,
    execute: Annotated[bool, typer.Option("--execute/--dry-run", help="Do it, or only show it.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Set where a group without members goes on. Without --execute it only shows what would be done.

    Examples:

    - `tidelog groups reset-offsets billing --topic orders --to-earliest`
    - `tidelog groups reset-offsets billing --topic orders:0,1 --to-offset 2 --execute`
    - `tidelog groups reset-offsets billing --all-topics --shift-by -1 --execute`
    - `tidelog groups reset-offsets billing --topic orders --to-datetime 2026-01-31T12:00:00.000`
    - `tidelog groups reset-offsets billing --topic orders --by-duration 1h30m`
    - `tidelog groups reset-offsets billing --topic orders --to-latest --execute --json`
    """
    aim = aim_of(
        to_earliest=to_earliest,
        to_latest=to_latest,
        to_current=to_current,
        to_offset=to_offset,
        to_datetime=to_datetime,
        by_duration=by_duration,
        shift_by=shift_by,
        from_file=from_file,
    )
    async with target.admin() as admin:
        partitions = [] if aim.offsets is not None else await named_partitions(admin, group, topic or [], all_topics)
        planned = await plan(admin, group, partitions, aim)
        if execute:
            await check_without_members(admin, group)
            await admin.alter_group_offsets(group, planned)
    if json_output:
        changes = [{"topic": each.topic, "partition": each.partition, "offset": planned[each]} for each in planned]
        print_json({"group": group, "executed": execute, "offsets": changes})
        return
    rows = [[group, each.topic, each.partition, offset] for each, offset in planned.items()]
    print_table(["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"], rows)
    if not execute:
        print("Nothing was changed: --execute does it.")


@groups.command("delete")
@speaks
async def delete(target: Target, names: Annotated[list[str], typer.Argument(metavar="GROUP...")]) -> None:
    """Delete groups without members, with their offsets.

    Examples:

    - `tidelog groups delete billing`
    """
    async with target.admin() as admin:
        await admin.delete_groups(names)
    print(f"Deleted {', '.join(names)}.")


@groups.command("delete-offsets")
@speaks
async def delete_offsets(target: Target, group: GroupArgument, topic: TopicsOption = None) -> None:
    """Forget what a group has committed for topics.

    Examples:

    - `tidelog groups delete-offsets billing --topic orders`
    """
    async with target.admin() as admin:
        partitions = await named_partitions(admin, group, topic or [], all_topics=False)
        await admin.delete_group_offsets(group, partitions)
    print(f"Deleted the offsets of {len(partitions)} partitions.")


async def named_partitions(admin: "Admin", group: str, topics: list[str], all_topics: bool) -> "list[TopicPartition]":
    """The partitions of --topic options, or all of those topics of which the group has committed something."""
    from tidelog.client import TopicPartition

    if bool(topics) == all_topics:
        raise WrongUsageError("Name topics with --topic, or take --all-topics.")
    if all_topics:
        topics = sorted({each.topic for each in await admin.list_group_offsets(group)})
    wanted = [topic_partitions(text) for text in topics]
    known = await admin.describe_topics([topic for topic, _ in wanted])
    return [
        TopicPartition(topic, number)
        for topic, numbers in wanted
        for number in (sorted(known[topic].partitions) if numbers is None else numbers)
    ]


async def check_without_members(admin: "Admin", group: str) -> None:
    """Offsets under the feet of members would be overwritten by their next commit."""
    from tidelog.client import KafkaCode, KafkaError

    found = (await admin.describe_groups([group]))[group]
    if found.members:
        raise KafkaError(
            KafkaCode.NON_EMPTY_GROUP,
            f"{group} is {found.state} with {len(found.members)} members: stop them, then reset.",
        )
