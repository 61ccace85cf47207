"""`tidelog produce`: records from lines of text."""

from typing import Annotated

import typer

from tidelog.cli.completing import complete_topic
from tidelog.cli.options import JsonOption
from tidelog.cli.parsing import decoded, pairs
from tidelog.cli.printing import note, print_json
from tidelog.cli.record_text import LineFormat
from tidelog.cli.sending import send_lines
from tidelog.cli.target import Target, speaks


@speaks
async def produce(
    target: Target,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", show_default=False, autocompletion=complete_topic)],
    value: Annotated[
        str | None, typer.Option("--value", "-v", help="Send this one record, and read nothing.", show_default=False)
    ] = None,
    key: Annotated[str | None, typer.Option("--key", "-k", help="The key of --value.", show_default=False)] = None,
    key_separator: Annotated[
        str | None,
        typer.Option("--key-separator", "-K", metavar="TEXT", help="What ends the key in a line.", show_default=False),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", "-H", metavar="KEY=VALUE", help="A header of every record.", show_default=False),
    ] = None,
    partition: Annotated[
        int | None, typer.Option("--partition", "-p", min=0, help="Send to this partition.", show_default="by the key")
    ] = None,
    acks: Annotated[str, typer.Option("--acks", help="Who must have a record: all, 1 (the leader) or 0.")] = "all",
    compression: Annotated[str, typer.Option("--compression", "-z", help="none, gzip, snappy, lz4 or zstd.")] = "none",
    json_output: JsonOption = False,
) -> None:
    """Send records: one of --value, else one of every line of the standard input.

    Examples:

    - `tidelog produce orders --key 42 --value "two apples" --header source=web`
    - `seq 100 | tidelog produce orders`
    - `printf '1:one\\n2:two\\n' | tidelog produce orders --key-separator : --compression zstd --json`
    """
    headers = [(name, text.encode()) for name, text in pairs(header or [], "--header").items()]
    settings = {"acks": acks, "compression.type": compression}
    if acks != "all":
        settings["enable.idempotence"] = "false"
    places: list[dict[str, int]] = []
    async with target.producer(settings) as producer:
        if value is not None:
            text = None if key is None else key.encode()
            sent = await producer.send(topic, value.encode(), text, partition=partition, headers=headers)
            places.append({"partition": sent.partition, "offset": sent.offset})
        else:
            form = LineFormat(key_separator=None if key_separator is None else decoded(key_separator))
            await send_lines(
                producer,
                topic,
                form,
                partition=partition,
                headers=list(headers),
                on_sent=lambda each: places.append({"partition": each.partition, "offset": each.offset}),
            )
    if json_output:
        print_json({"topic": topic, "records": places})
    elif value is not None:
        print(f"Sent to {topic}-{places[0]['partition']} at offset {places[0]['offset']}.")
    else:
        note(f"Sent {len(places)} records to {topic}.")
