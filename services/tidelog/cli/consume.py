"""`tidelog consume`: records of topics, as text or as JSON."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from tidelog.cli.completing import complete_group, complete_topic
from tidelog.cli.parsing import duration_ms, number_list
from tidelog.cli.printing import note
from tidelog.cli.reading import Bounds, read, start_at, until_signal
from tidelog.cli.record_text import compiled_format, json_line, record_document
from tidelog.cli.target import Target, speaks
from tidelog.local.faults import WrongUsageError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable

    from tidelog.client import Consumer, ConsumerRecord, TopicPartition


@speaks
async def consume(
    target: Target,
    topics: Annotated[list[str], typer.Argument(metavar="TOPIC...", show_default=False, autocompletion=complete_topic)],
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            "-g",
            help="Share the partitions with this group, and commit.",
            show_default=False,
            autocompletion=complete_group,
        ),
    ] = None,
    offset: Annotated[
        str,
        typer.Option(
            "--offset",
            "-o",
            help="Where to start: beginning, end, an offset, -N before the end, @2026-01-31T12:00:00 or @-10m.",
        ),
    ] = "end",
    partitions: Annotated[
        str | None, typer.Option("--partitions", "-p", metavar="0,2-3", help="Only these.", show_default="all")
    ] = None,
    count: Annotated[
        int | None, typer.Option("--count", "-c", min=1, help="Stop after so many records.", show_default=False)
    ] = None,
    exit_at_end: Annotated[bool, typer.Option("--exit", "-e", help="Stop at what is the end now.")] = False,
    idle: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Stop after so long without a record.", show_default=False)
    ] = None,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            help="%t topic, %p partition, %o offset, %k key, %s value, %T timestamp, %D time, %h headers, %K and %S sizes.",
        ),
    ] = "%s\\n",
    committed: Annotated[
        bool, typer.Option("--read-committed", help="Nothing of open and aborted transactions.")
    ] = False,
    json_output: Annotated[
        bool, typer.Option("--json", help="Print one JSON document: a list of records. Needs a bound to end.")
    ] = False,
    json_lines: Annotated[bool, typer.Option("--json-lines", help="Print one JSON document a record.")] = False,
) -> None:
    """Print records until Ctrl-C, or until a bound is reached.

    Examples:

    - `tidelog consume orders --offset beginning --count 3`
    - `tidelog consume orders --offset -5 --exit --format '%p:%o %k=%s (%D)\\n'`
    - `tidelog consume orders --group billing --offset beginning --count 10 --json`
    - `tidelog consume orders --offset @-10m --exit --json-lines`
    """
    printer = json_line if json_lines else compiled_format(form)
    bounds = Bounds(count, None if idle is None else duration_ms(idle), exit_at_end)
    settings = {"isolation.level": "read_committed" if committed else "read_uncommitted"}
    if group is not None:
        if partitions is not None or exit_at_end:
            raise WrongUsageError("--group shares the partitions itself: leave out --partitions and --exit.")
        settings |= {"group.id": group, "auto.offset.reset": _reset_of(offset)}
    kept: list[ConsumerRecord] = []
    async with target.consumer(settings | {"allow.auto.create.topics": "false"}) as consumer:
        await _begin(consumer, topics, None if partitions is None else number_list(partitions), group, offset)
        with until_signal() as stopped:
            seen = await _print_all(consumer, bounds, stopped, kept if json_output else None, printer)
        if group is not None:
            await consumer.commit()
    if json_output:
        import json

        print(json.dumps([record_document(record) for record in kept]))
    note(f"{seen} records.")


async def _print_all(
    consumer: "Consumer",
    bounds: Bounds,
    stopped: "asyncio.Event",
    kept: "list[ConsumerRecord] | None",
    printer: "Callable[[ConsumerRecord], bytes]",
) -> int:
    seen = 0
    async for records in read(consumer, bounds, stopped):
        seen += len(records)
        if kept is not None:
            kept += records
        else:
            write_all(printer(record) for record in records)
    return seen


def write_all(texts: "Iterable[bytes]") -> None:
    """Bytes as they are, since a value need not be text."""
    sys.stdout.flush()
    sys.stdout.buffer.write(b"".join(texts))
    sys.stdout.buffer.flush()


def _reset_of(offset: str) -> str:
    resets = {"beginning": "earliest", "earliest": "earliest", "end": "latest", "latest": "latest"}
    if offset not in resets:
        raise WrongUsageError(
            "With --group, --offset is beginning or end: where the group starts that has no offset yet."
        )
    return resets[offset]


async def _begin(
    consumer: "Consumer", topics: list[str], numbers: list[int] | None, group: str | None, offset: str
) -> None:
    if group is not None:
        for topic in topics:
            await partitions_of(consumer, topic, None)
        consumer.subscribe(topics)
        return
    wanted = [each for topic in topics for each in await partitions_of(consumer, topic, numbers)]
    consumer.assign(wanted)
    await start_at(consumer, wanted, offset)


async def partitions_of(consumer: "Consumer", topic: str, numbers: list[int] | None) -> "list[TopicPartition]":
    """The partitions of a topic, or those asked for; KafkaError if there are none of these."""
    from tidelog.client import KafkaCode, KafkaError, TopicPartition

    known = (await consumer.list_topics()).get(topic)
    if known is None:
        raise KafkaError(KafkaCode.UNKNOWN_TOPIC_OR_PARTITION, f"{topic}: there is no such topic")
    there = sorted(known.partitions)
    for number in numbers or ():
        if number not in there:
            raise KafkaError(KafkaCode.UNKNOWN_TOPIC_OR_PARTITION, f"{topic} has no partition {number}")
    return [TopicPartition(topic, number) for number in (there if numbers is None else numbers)]
