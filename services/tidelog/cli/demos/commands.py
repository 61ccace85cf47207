"""`tidelog demo`: the command lines of the demonstrations."""

from typing import Annotated

import typer

from tidelog.cli.lazily import noun
from tidelog.cli.options import DEFAULT_DATA_DIR, DataDirOption, JsonOption
from tidelog.cli.target import Target, speaks

demo = noun("demo", "See a cluster at work: a producer with a consumer, exactly-once, failover, traffic.")


@demo.command("producer-consumer")
@speaks
async def producer_consumer(
    target: Target,
    topic: Annotated[str, typer.Option(help="Is created if it is not there.")] = "demo-messages",
    sync: Annotated[bool, typer.Option("--sync", help="Wait for each record before the next is sent.")] = False,
    records: Annotated[int | None, typer.Option(min=1, help="How many.", show_default="endless, until Ctrl-C")] = None,
) -> None:
    """Send messages and read them back, each telling what it does.

    Examples:

    - `tidelog demo producer-consumer --records 5`
    - `tidelog demo producer-consumer --sync --records 5`
    """
    from tidelog.cli.demos.producer_consumer import run

    await run(target, topic, sync=sync, records=records)


@demo.command("exactly-once")
@speaks
async def exactly_once(
    target: Target,
    partitions: Annotated[int, typer.Argument(metavar="PARTITIONS", min=1, show_default=False)],
    instances: Annotated[int, typer.Argument(metavar="INSTANCES", min=1, show_default=False)],
    records: Annotated[int, typer.Argument(metavar="RECORDS", min=1, show_default=False)],
    json_output: JsonOption = False,
) -> None:
    """Copy records from one topic to another in transactions, by several instances of a group, and count them.

    Examples:

    - `tidelog demo exactly-once 3 2 300`
    """
    from tidelog.cli.demos.exactly_once import Wishes, run

    await run(target, Wishes(partitions, instances, records), json_output=json_output)


@demo.command("failover")
def failover(
    seconds: Annotated[float, typer.Option(min=1, help="How long to write after the kill.")] = 5,
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
    json_output: JsonOption = False,
) -> None:
    """Write, kill the broker that leads, see how long nobody does, and that no acknowledged record is lost.

    It kills a broker of the cluster on this machine, and starts it again at the end.

    Examples:

    - `tidelog demo failover --seconds 3`
    """
    from tidelog.cli.demos.failover import run

    run(data_dir, seconds, json_output=json_output)


@demo.command("traffic")
@speaks
async def traffic(
    target: Target,
    rate: Annotated[float, typer.Option(min=0.1, help="Messages in a second.")] = 200,
    seconds: Annotated[
        float | None, typer.Option(min=0.1, help="How long.", show_default="endless, until Ctrl-C")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed makes the same traffic.", show_default=False)] = None,
    partitions: Annotated[int, typer.Option(min=1, help="Of the topics, where they are not there yet.")] = 3,
) -> None:
    """Send page views to the topic pageviews and lines of logs to service-logs, as pipelines count them.

    A few messages are late, few pages are viewed often, and some services fail more often than others.

    Examples:

    - `tidelog demo traffic --rate 50 --seconds 2`
    """
    from tidelog.cli.demos.traffic import Wishes, run

    await run(target, Wishes(rate, seconds, seed, partitions))
