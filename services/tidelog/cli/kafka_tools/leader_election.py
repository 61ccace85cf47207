"""`tidelog kafka-leader-election`."""

from argparse import Namespace
from pathlib import Path

from tidelog.cli.kafka_tools.dialect import Flags, needed, run, target_of
from tidelog.cli.reassigning import read_partitions
from tidelog.cli.target import Target

_AT = "--bootstrap-server localhost:9092"
_EXAMPLES = (
    f"{_AT} --election-type preferred --topic test --partition 0",
    f"{_AT} --election-type preferred --all-topic-partitions",
)


def parser() -> Flags:
    flags = Flags("kafka-leader-election", "Elect leaders of partitions.", _EXAMPLES)
    flags.values("bootstrap-server", "topic", "path-to-json-file")
    flags.add_argument("--admin.config", dest="client_config", metavar="FILE")
    flags.add_argument("--election-type", type=str.lower, choices=["preferred", "unclean"], metavar="TYPE")
    flags.flags("all-topic-partitions")
    flags.numbers(partition=None)
    return flags


def main(arguments: list[str]) -> None:
    flags = parser()
    given = flags.parse_args(arguments)
    needed(flags, given.election_type, "election-type")
    ways = [given.topic is not None, given.all_topic_partitions, given.path_to_json_file is not None]
    if sum(ways) != 1:
        flags.error("exactly one of --topic, --all-topic-partitions and --path-to-json-file is wanted")
    if given.topic is not None:
        needed(flags, given.partition, "partition")
    run(_elect(target_of(given), given))


async def _elect(target: Target, given: Namespace) -> None:
    from tidelog.client import ElectionType, TopicPartition

    wanted = None
    if given.topic is not None:
        wanted = [TopicPartition(given.topic, given.partition)]
    elif given.path_to_json_file is not None:
        wanted = read_partitions(Path(given.path_to_json_file))
    async with target.admin() as admin:
        elected = await admin.elect_leaders(wanted, election=ElectionType[given.election_type.upper()])
    words = given.election_type.upper()
    if elected:
        print(f"Successfully completed leader election ({words}) for partitions {', '.join(map(str, elected))}")
    others = sorted(set(wanted or ()) - set(elected))
    if others:
        print(f"Valid replica already elected for partitions {', '.join(map(str, others))}")
