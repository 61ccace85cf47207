"""`tidelog kafka-console-consumer` and `tidelog kafka-simple-consumer-shell`."""

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from tidelog.cli.kafka_tools.dialect import Flags, needed, run, target_of
from tidelog.cli.kafka_tools.formatters import Printer, printer
from tidelog.cli.parsing import pairs
from tidelog.cli.reading import Bounds, read, start_at, until_signal
from tidelog.cli.target import Target
from tidelog.local.faults import WrongUsageError

if TYPE_CHECKING:
    from tidelog.client import Consumer

_EXAMPLES = (
    "--bootstrap-server localhost:9092 --topic test --from-beginning --max-messages 2",
    "--zookeeper localhost:2181 --topic test --from-beginning --timeout-ms 3000",
    "--bootstrap-server localhost:9092 --topic test --partition 0 --offset 1 --max-messages 1 --property print.key=true",
)
_SHELL_EXAMPLES = (
    (
        "--topic __consumer_offsets --partition 3 --broker-list localhost:9092 --no-wait-at-logend "
        '--formatter "kafka.coordinator.GroupMetadataManager\\$OffsetsMessageFormatter"'
    ),
)


def parser() -> Flags:
    flags = Flags("kafka-console-consumer", "Print the records of a topic.", _EXAMPLES)
    flags.addresses(config="consumer.config")
    flags.flags("from-beginning", "skip-message-on-error", "new-consumer", "enable-systest-events")
    flags.values("topic", "include", "whitelist", "group", "offset", "formatter", "isolation-level")
    flags.values("key-deserializer", "value-deserializer")
    flags.numbers(max_messages=None, timeout_ms=None, partition=None)
    flags.lists("property", "formatter-property", "consumer-property", "command-property")
    flags.ignored("formatter-config", "blacklist")
    return flags


def main(arguments: list[str]) -> None:
    flags = parser()
    given = flags.parse_args(arguments)
    pattern = given.include or given.whitelist
    if (given.topic is None) == (pattern is None):
        flags.error("exactly one of --topic and --include is wanted")
    if given.offset is not None and given.partition is None:
        flags.error("--partition is wanted with --offset")
    if given.partition is not None and given.group:
        flags.error("--group and --partition do not go together")
    if given.offset is not None and given.from_beginning:
        flags.error("--from-beginning and --offset do not go together")
    properties = pairs([*given.property, *given.formatter_property], "--property")
    printing = printer(given.formatter, properties, {"key": given.key_deserializer, "value": given.value_deserializer})
    run(_consume(target_of(given, settings=_settings(given, pattern)), given, pattern, printing))


def shell_parser() -> Flags:
    flags = Flags("kafka-simple-consumer-shell", "Print the records of one partition.", _SHELL_EXAMPLES)
    flags.addresses(config="consumer.config")
    flags.flags("print-offsets", "skip-message-on-error", "no-wait-at-logend")
    flags.values("topic", "formatter")
    flags.numbers(partition=0, offset=-2, max_messages=None, replica=-1, fetchsize=1_048_576, max_wait_ms=1000)
    flags.lists("property")
    flags.ignored("clientId")
    return flags


def shell_main(arguments: list[str]) -> None:
    flags = shell_parser()
    given = flags.parse_args(arguments)
    needed(flags, given.topic, "topic")
    printing = printer(given.formatter, pairs(given.property, "--property"), {})
    places = {-2: "beginning", -1: "end"}
    given.offset = places.get(given.offset, str(given.offset))
    given.timeout_ms, given.group, given.from_beginning = None, None, False
    run(_consume(target_of(given), given, None, printing))


def _settings(given: Namespace, pattern: str | None) -> dict[str, str]:
    settings = pairs([*given.consumer_property, *given.command_property], "--consumer-property")
    if given.isolation_level:
        settings["isolation.level"] = given.isolation_level
    if given.group:
        settings["group.id"] = given.group
    elif pattern is not None and "group.id" not in settings:
        import random

        # Only one of many: whoever shares the topics of a pattern needs a group of his own.
        settings["group.id"] = f"console-consumer-{random.randrange(100_000)}"  # noqa: S311
        settings["enable.auto.commit"] = "false"
    settings.setdefault("auto.offset.reset", "earliest" if given.from_beginning else "latest")
    return settings


async def _consume(target: Target, given: Namespace, pattern: str | None, printing: Printer) -> None:
    from tidelog.cli.consume import write_all

    bounds = Bounds(given.max_messages, given.timeout_ms, bool(getattr(given, "no_wait_at_logend", False)))
    seen = 0
    async with target.consumer() as consumer:
        if consumer.config.group_id is None:
            await _assign(consumer, given)
        elif pattern is not None:
            consumer.subscribe(pattern=pattern.replace(",", "|"))
        else:
            consumer.subscribe([given.topic])
        with until_signal() as stopped:
            async for records in read(consumer, bounds, stopped):
                seen += len(records)
                write_all(map(printing, records))
    print(f"Processed a total of {seen} messages", file=sys.stderr)


async def _assign(consumer: "Consumer", given: Namespace) -> None:
    from tidelog.client import TopicPartition

    numbers = [each.partition for each in await consumer.partitions_for(given.topic)]
    if given.partition is not None:
        if given.partition not in numbers:
            raise WrongUsageError(f"{given.topic} has no partition {given.partition}.")
        numbers = [given.partition]
    wanted = [TopicPartition(given.topic, number) for number in numbers]
    consumer.assign(wanted)
    await start_at(consumer, wanted, given.offset or ("beginning" if given.from_beginning else "end"))
