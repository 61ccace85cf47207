"""`tidelog bench`: how fast a cluster is, as seen by one client."""

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from tidelog.cli.lazily import noun
from tidelog.cli.options import JsonOption
from tidelog.cli.printing import print_json, print_table
from tidelog.cli.target import Target, speaks
from tidelog.local.faults import UnreachableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidelog.cli.benching import Advance
    from tidelog.cli.figures import Measured

bench = noun("bench", "Measure a cluster: throughput in and out, latency from end to end.")

TopicArgument = Annotated[str, typer.Argument(metavar="TOPIC", help="Which must be there.", show_default=False)]
RecordsOption = Annotated[int, typer.Option("--records", "-n", min=1, help="How many.")]
SizeOption = Annotated[int, typer.Option("--record-size", "-s", min=1, metavar="BYTES", help="Of one record.")]
AcksOption = Annotated[str, typer.Option("--acks", help="all, 1 or 0.")]


@bench.command("produce")
@speaks
async def bench_produce(
    target: Target,
    topic: TopicArgument,
    records: RecordsOption = 100_000,
    record_size: SizeOption = 1024,
    throughput: Annotated[float, typer.Option(help="Records a second at most; 0 is as fast as it goes.")] = 0,
    acks: AcksOption = "all",
    compression: Annotated[str, typer.Option(help="none, gzip, snappy, lz4 or zstd.")] = "none",
    batch_size: Annotated[int, typer.Option(min=0, metavar="BYTES", help="batch.size.")] = 65536,
    linger_ms: Annotated[int, typer.Option(min=0, help="linger.ms.")] = 5,
    json_output: JsonOption = False,
) -> None:
    """Send records as fast as it goes, and tell how fast that was.

    Examples:

    - `tidelog bench produce orders --records 2000 --record-size 100`
    - `tidelog bench produce orders --records 500 --throughput 1000 --acks 1 --json`
    """
    from tidelog.cli import benching

    await _check_topic(target, topic)
    settings = {"compression.type": compression, "batch.size": batch_size, "linger.ms": linger_ms, **_acks(acks)}
    async with target.producer(settings) as producer:
        with progress("Sending", records) as advance:
            measured = await benching.bench_produce(
                producer, topic, [os.urandom(record_size)], records, throughput, advance
            )
    _show(measured, json_output)


@bench.command("consume")
@speaks
async def bench_consume(
    target: Target, topic: TopicArgument, records: RecordsOption = 100_000, json_output: JsonOption = False
) -> None:
    """Read records from the beginning as fast as it goes; ends early when there are no more.

    Examples:

    - `tidelog bench consume orders --records 1000`
    - `tidelog bench consume orders --records 1000 --json`
    """
    from tidelog.cli import benching
    from tidelog.client import TopicPartition

    numbers = await _check_topic(target, topic)
    async with target.consumer({"max.poll.records": 5000}) as consumer:
        consumer.assign([TopicPartition(topic, number) for number in numbers])
        consumer.seek_to_beginning()
        with progress("Reading", records) as advance:
            measured = await benching.bench_consume(consumer, records, 3.0, advance)
    _show(measured, json_output)


@bench.command("latency")
@speaks
async def bench_latency(
    target: Target,
    topic: TopicArgument,
    records: RecordsOption = 1000,
    record_size: SizeOption = 100,
    acks: AcksOption = "all",
    json_output: JsonOption = False,
) -> None:
    """Send one record after the other, each when the one before it was read, and tell how long that takes.

    Examples:

    - `tidelog bench latency orders --records 20`
    """
    from tidelog.cli import benching
    from tidelog.client import TopicPartition

    numbers = await _check_topic(target, topic)
    async with target.producer(_acks(acks)) as producer, target.consumer() as consumer:
        consumer.assign([TopicPartition(topic, number) for number in numbers])
        consumer.seek_to_end()
        for each in consumer.assignment():
            await consumer.position(each)
        with progress("Asking", records) as advance:
            try:
                measured = await benching.bench_latency(
                    producer, consumer, topic, os.urandom(record_size), records, target.timeout_s, advance
                )
            except TimeoutError:
                raise UnreachableError(f"A record did not come back within {target.timeout_s:g} s.") from None
    _show(measured, json_output)


def _acks(acks: str) -> dict[str, str]:
    return {"acks": acks} | ({} if acks == "all" else {"enable.idempotence": "false"})


async def _check_topic(target: Target, topic: str) -> list[int]:
    async with target.admin() as admin:
        return sorted((await admin.describe_topics([topic]))[topic].partitions)


@contextmanager
def progress(words: str, total: int) -> "Iterator[Advance]":
    """A bar on the standard error output, if somebody is there to see it."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(words, total=total)
        yield lambda count: bars.advance(task, count)


def _show(measured: "Measured", json_output: bool) -> None:
    document = measured.document()
    if json_output:
        print_json(document)
        return
    latency = document.pop("latency_ms", {})
    rows = [*document.items(), *((f"latency_ms {name}", value) for name, value in latency.items())]
    print_table(["FIGURE", "VALUE"], rows)
