"""`tidelog offsets`: where partitions begin and end, and what was where at a time."""

from typing import Annotated

import typer

from tidelog.cli.completing import complete_topic
from tidelog.cli.options import JsonOption
from tidelog.cli.parsing import datetime_ms, topic_partitions
from tidelog.cli.printing import print_json, print_table
from tidelog.cli.target import Target, speaks


@speaks
async def offsets(
    target: Target,
    topics: Annotated[
        list[str],
        typer.Argument(metavar="TOPIC[:0,1]...", help="Topics.", show_default=False, autocompletion=complete_topic),
    ],
    at: Annotated[
        str | None,
        typer.Option(
            "--at", metavar="TIME", help="Also the first record since 2026-01-31T12:00:00.", show_default=False
        ),
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """Show the first offset of each partition, its end, and how many lie between.

    Examples:

    - `tidelog offsets orders`
    - `tidelog offsets orders:0 --at 2026-01-31T12:00:00 --json`
    """
    from tidelog.client import TopicPartition

    named = [topic_partitions(text) for text in topics]
    async with target.admin() as admin:
        known = await admin.describe_topics([topic for topic, _ in named])
        wanted = [
            TopicPartition(topic, number)
            for topic, numbers in named
            for number in (sorted(known[topic].partitions) if numbers is None else numbers)
        ]
        starts = await admin.list_offsets(dict.fromkeys(wanted, "earliest"))
        ends = await admin.list_offsets(dict.fromkeys(wanted, "latest"))
        times = await admin.list_offsets(dict.fromkeys(wanted, datetime_ms(at))) if at else {}
    heads = ["topic", "partition", "start", "end", "records", *(["at"] if at else [])]
    rows = [
        [
            *each,
            starts[each].offset,
            ends[each].offset,
            ends[each].offset - starts[each].offset,
            *([times[each].offset if times[each].offset >= 0 else None] if at else []),
        ]
        for each in wanted
    ]
    if json_output:
        print_json([dict(zip(heads, row, strict=True)) for row in rows])
    else:
        print_table([head.upper() for head in heads], rows)
