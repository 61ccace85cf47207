"""`tidelog kafka-get-offsets`."""

from argparse import Namespace

from tidelog.cli.kafka_tools.dialect import Flags, matching, run, target_of
from tidelog.cli.parsing import number_list
from tidelog.cli.target import Target
from tidelog.local.faults import WrongUsageError

_AT = "--bootstrap-server localhost:9092"
_EXAMPLES = (f"{_AT} --topic test", f"{_AT} --topic test --time earliest", f"{_AT} --topic-partitions test:0 --time -1")
_NAMED = {"earliest": "earliest", "-2": "earliest", "latest": "latest", "-1": "latest"}


def parser() -> Flags:
    flags = Flags("kafka-get-offsets", "Print the offsets of partitions as topic:partition:offset.", _EXAMPLES)
    flags.addresses()
    flags.values("topic", "partitions", "topic-partitions")
    flags.add_argument("--time", default="latest", metavar="TIME", help="earliest, latest or milliseconds")
    flags.flags("exclude-internal-topics")
    flags.ignored("offsets", "max-wait-ms")
    return flags


def main(arguments: list[str]) -> None:
    flags = parser()
    given = flags.parse_args(_joined(arguments))
    if given.topic_partitions and (given.topic or given.partitions):
        flags.error("--topic-partitions goes with neither --topic nor --partitions")
    run(_print_offsets(target_of(given), given))


def _joined(arguments: list[str]) -> list[str]:
    """`--time -1`: a value that looks like an option is joined to its own."""
    joined: list[str] = []
    for argument in arguments:
        if joined and joined[-1] == "--time":
            joined[-1] = f"--time={argument}"
        else:
            joined.append(argument)
    return joined


async def _print_offsets(target: Target, given: Namespace) -> None:
    from tidelog.client import KafkaCode, KafkaError, TopicPartition

    if given.time not in _NAMED and not given.time.isdecimal():
        raise WrongUsageError(f"--time is earliest, latest or milliseconds since 1970, not {given.time!r}.")
    when: int | str = _NAMED[given.time] if given.time in _NAMED else int(given.time)
    async with target.admin() as admin:
        names = await admin.list_topics(include_internal=not given.exclude_internal_topics)
        known = admin.metadata.view.topics
        wanted = [
            TopicPartition(name, number)
            for name, numbers in _wanted(names, given)
            for number in sorted(known[name].partitions)
            if numbers is None or number in numbers
        ]
        if not wanted:
            raise KafkaError(KafkaCode.UNKNOWN_TOPIC_OR_PARTITION, "Could not match any topic-partitions")
        found = await admin.list_offsets(dict.fromkeys(wanted, when))
    for each in wanted:
        offset = found[each].offset
        print(f"{each.topic}:{each.partition}:{offset if offset >= 0 else ''}")


def _wanted(names: list[str], given: Namespace) -> list[tuple[str, list[int] | None]]:
    if not given.topic_partitions:
        numbers = number_list(given.partitions) if given.partitions else None
        return [(name, numbers) for name in matching(names, given.topic)]
    found: list[tuple[str, list[int] | None]] = []
    for part in given.topic_partitions.split(","):
        pattern, colon, number = part.partition(":")
        found += [
            (name, number_list(number) if colon and number else None) for name in matching(names, pattern or None)
        ]
    return found
