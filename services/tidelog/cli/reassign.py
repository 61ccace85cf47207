"""`tidelog reassign`: moves replicas between brokers."""

import json
from pathlib import Path
from typing import Annotated

import typer

from tidelog.cli.lazily import noun
from tidelog.cli.options import JsonOption
from tidelog.cli.parsing import number_list
from tidelog.cli.printing import print_json, print_table
from tidelog.cli.reassigning import Progress, current_plan, plan_text, progress_of, propose, read_plan
from tidelog.cli.target import Target, speaks
from tidelog.local.faults import LocalError

reassign = noun("reassign", "Move replicas between brokers: generate a plan, execute, verify or cancel it.")

PlanArgument = Annotated[Path, typer.Argument(metavar="PLAN", help="A file that `generate` made.", show_default=False)]


@reassign.command("generate")
@speaks
async def generate(
    target: Target,
    topics: Annotated[list[str], typer.Argument(metavar="TOPIC...", help="What to move.", show_default=False)],
    brokers: Annotated[str, typer.Option("--brokers", metavar="0,1-3", help="Where to.", show_default=False)],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PLAN", help="Write the plan there.", show_default=False)
    ] = None,
    current: Annotated[bool, typer.Option("--current", help="The plan of how it is now, to go back.")] = False,
) -> None:
    """Make a plan that spreads topics over brokers: one JSON document, in the format of Kafka's tool.

    Examples:

    - `tidelog reassign generate orders --brokers 0-2 --output plan.json`
    - `tidelog reassign generate orders --brokers 0,1,2 --current`
    """
    wanted = number_list(brokers)
    async with target.admin() as admin:
        plan = await (current_plan(admin, topics) if current else propose(admin, topics, wanted))
    if output is None:
        print_json(json.loads(plan_text(plan)))
        return
    try:
        output.write_text(plan_text(plan) + "\n", "utf-8")
    except OSError as error:
        raise LocalError(f"{output} cannot be written ({error.strerror}).") from None
    print(f"Wrote a plan for {len(plan)} partitions to {output}: `tidelog reassign execute {output}` does it.")


@reassign.command("execute")
@speaks
async def execute(target: Target, plan: PlanArgument) -> None:
    """Start to move replicas as a plan says; `verify` shows how far it is.

    Examples:

    - `tidelog reassign execute plan.json`
    """
    wanted = read_plan(plan)
    async with target.admin() as admin:
        await admin.alter_reassignments(wanted)
    print(f"Started to move {len(wanted)} partitions.")


@reassign.command("verify")
@speaks
async def verify(target: Target, plan: PlanArgument, json_output: JsonOption = False) -> None:
    """Show how far the moves of a plan are. The exit code is 1 if partitions are not where the plan wants them.

    Examples:

    - `tidelog reassign verify plan.json`
    """
    wanted = read_plan(plan)
    async with target.admin() as admin:
        found = await progress_of(admin, wanted)
    if json_output:
        print_json(
            [
                {
                    "topic": each.partition.topic,
                    "partition": each.partition.partition,
                    "replicas": list(each.replicas),
                    "wanted": wanted[each.partition],
                    "state": each.progress.value,
                }
                for each in found
            ]
        )
    else:
        rows = [[str(each.partition), each.replicas, wanted[each.partition], each.progress.value] for each in found]
        print_table(["PARTITION", "REPLICAS", "WANTED", "STATE"], rows)
    lost = [each for each in found if each.progress in (Progress.DIFFERENT, Progress.MISSING)]
    if lost:
        raise LocalError(f"{len(lost)} partitions are not where the plan wants them, and do not move.")


@reassign.command("cancel")
@speaks
async def cancel(target: Target, plan: PlanArgument) -> None:
    """Call off those moves of a plan that are under way.

    Examples:

    - `tidelog reassign cancel plan.json`
    """
    wanted = read_plan(plan)
    async with target.admin() as admin:
        moving = [each for each in await admin.list_reassignments() if each in wanted]
        if moving:
            await admin.alter_reassignments(dict.fromkeys(moving))
    print(f"Called off {len(moving)} moves.")


@reassign.command("list")
@speaks
async def list_moves(target: Target, json_output: JsonOption = False) -> None:
    """List the moves that are under way.

    Examples:

    - `tidelog reassign list`
    """
    async with target.admin() as admin:
        moving = await admin.list_reassignments()
    rows = [[str(each), move.replicas, move.adding, move.removing] for each, move in moving.items()]
    if json_output:
        print_json([{"partition": row[0], "replicas": row[1], "adding": row[2], "removing": row[3]} for row in rows])
    else:
        print_table(["PARTITION", "REPLICAS", "ADDING", "REMOVING"], rows)
