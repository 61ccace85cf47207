"""Flags: those of Kafka's tools that users have in their fingers are taken, and what is no flag is told in a sentence."""

from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from tidelog.cli import app
from tidelog.cli.kafka_tools import (
    configs,
    console_consumer,
    console_producer,
    consumer_groups,
    dump_log,
    get_offsets,
    leader_election,
    perf,
    reassign_partitions,
    servers,
    topics,
)
from tidelog.cli.kafka_tools.table import TOOLS

_RESETS = (
    "--to-earliest --to-latest --to-current --to-offset=1 --to-datetime=T --by-duration=D --shift-by=-1 --from-file=F"
)
_FLAGS = {
    topics.parser: (
        "--bootstrap-server=B --command-config=F --create --list --describe --alter --delete --topic=T --partitions=1 "
        "--replication-factor=1 --config=a=b --delete-config=a --replica-assignment=0:1,1:2 --if-exists "
        "--if-not-exists "
        "--under-replicated-partitions --under-min-isr-partitions --at-min-isr-partitions --unavailable-partitions "
        "--exclude-internal --zookeeper=Z"
    ),
    consumer_groups.parser: (
        "--bootstrap-server=B --command-config=F --list --describe --members --verbose --offsets --state --type "
        "--all-groups "
        f"--delete --delete-offsets --reset-offsets {_RESETS} --dry-run --execute --export --timeout=5000 --group=G "
        "--topic=T:0,1 "
        "--all-topics"
    ),
    console_producer.parser: (
        "--bootstrap-server=B --broker-list=B --topic=T --property=parse.key=true --property=key.separator=: --sync "
        "--property=parse.headers=true --reader-property=parse.key=true --producer-property=acks=1 "
        "--command-property=acks=1 "
        "--producer.config=F --command-config=F --compression-codec=lz4 --request-required-acks=1 --batch-size=1 "
        "--timeout=5"
    ),
    console_consumer.parser: (
        "--bootstrap-server=B --topic=T --include=T --from-beginning --max-messages=1 --group=G --partition=0 "
        "--offset=earliest "
        "--property=print.key=true --formatter-property=print.timestamp=true --isolation-level=read_committed "
        "--timeout-ms=1 "
        "--consumer-property=a=b --command-property=a=b --consumer.config=F --command-config=F --formatter=C "
        "--whitelist=T "
        "--zookeeper=Z --key-deserializer=C --value-deserializer=C"
    ),
    console_consumer.shell_parser: (
        "--topic=__consumer_offsets --partition=35 --broker-list=B --formatter=C --offset=-2 --max-messages=1 "
        "--print-offsets "
        "--skip-message-on-error --no-wait-at-logend --property=a=b --replica=-1 --clientId=c --fetchsize=1 "
        "--max-wait-ms=1"
    ),
    configs.parser: (
        "--bootstrap-server=B --command-config=F --describe --alter --entity-type=topics --entity-name=T "
        "--add-config=a=b "
        "--delete-config=a --entity-default --all --add-config-file=F --topic=T --broker=1 --client=c --user=u"
    ),
    reassign_partitions.parser: (
        "--bootstrap-server=B --command-config=F --generate --execute --verify --cancel --list --broker-list=0,1 "
        "--topics-to-move-json-file=F --reassignment-json-file=F --throttle=1000 --additional --preserve-throttles "
        "--disable-rack-aware --timeout=1 --replica-alter-log-dirs-throttle=1 --zookeeper=Z"
    ),
    leader_election.parser: (
        "--bootstrap-server=B --admin.config=F --election-type=PREFERRED --topic=T --partition=0 "
        "--all-topic-partitions "
        "--path-to-json-file=F"
    ),
    get_offsets.parser: (
        "--bootstrap-server=B --broker-list=B --command-config=F --topic=T --partitions=0,1 --time=-1 "
        "--topic-partitions=T:0 "
        "--exclude-internal-topics --offsets=1"
    ),
    dump_log.parser: (
        "--files=F --print-data-log --deep-iteration --verify-index-only --index-sanity-check --offsets-decoder "
        "--transaction-log-decoder --max-message-size=1 --skip-record-metadata --key-decoder-class=C "
        "--value-decoder-class=C"
    ),
    perf.producer_parser: (
        "--topic=T --num-records=1 --record-size=1 --throughput=-1 --payload-file=F --payload-delimiter=, "
        "--producer.config=F "
        "--command-config=F --command-property=a=b --transactional-id=t --transaction-duration-ms=1 --print-metrics "
        "--bootstrap-server=B --producer-props a=b c=d"
    ),
    perf.consumer_parser: (
        "--bootstrap-server=B --broker-list=B --topic=T --messages=1 --group=G --timeout=1 --fetch-size=1 "
        "--from-latest "
        "--show-detailed-stats --print-metrics --hide-header --consumer.config=F --reporting-interval=1 --threads=1"
    ),
}


@pytest.mark.parametrize("make", _FLAGS, ids=lambda make: f"{make.__module__.rpartition('.')[2]}.{make.__name__}")
def test_flags_of_kafkas_tools_are_taken(make: Any) -> None:
    make().parse_args(_FLAGS[make].split())


def test_servers_take_a_file_and_what_overrides_it() -> None:
    flags = servers._parser("kafka-server-start", "", ())
    given = flags.parse_args(["-daemon", "server.properties", "--override", "broker.id=1", "--override", "a=b"])
    assert (str(given.file), given.override, given.daemon) == ("server.properties", ["broker.id=1", "a=b"], True)


def _paths(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if not hasattr(command, "list_commands"):
        yield path
        return
    context = command.make_context("tidelog", [], resilient_parsing=True)
    for name in command.list_commands(context):
        yield from _paths(command.get_command(context, name), (*path, name))


_SERVICES = {"broker", "controller", "group-coordinator", "metadata"}
PATHS = [path for path in _paths(get_command(app.app)) if path[0] not in _SERVICES]


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_what_is_no_flag_is_told_in_one_sentence(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run([*path, "--no-such-flag"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("tidelog: ")
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_every_command_explains_itself(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run([*path, "--help"]) == 0
    printed = capsys.readouterr()
    assert "sage: tidelog" in printed.out
    assert printed.err == ""


@pytest.mark.parametrize(
    "line",
    [
        "kafka-topics --bootstrap-server h:1",
        "kafka-topics --bootstrap-server h:1 --list --create --topic t",
        "kafka-topics --bootstrap-server h:1 --create",
        "kafka-topics --bootstrap-server h:1 --create --topic t --partitions many",
        "kafka-console-producer --bootstrap-server h:1",
        "kafka-console-consumer --bootstrap-server h:1 --topic t --offset 3",
        "kafka-consumer-groups --bootstrap-server h:1 --describe",
        "kafka-consumer-groups --bootstrap-server h:1 --describe --group g --members --offsets",
        "kafka-consumer-groups --bootstrap-server h:1 --reset-offsets --group g --to-latest",
        "kafka-consumer-groups --bootstrap-server h:1 --reset-offsets --group g --topic t --to-latest --shift-by 1",
        "kafka-configs --bootstrap-server h:1 --alter --entity-type topics --entity-name t",
        "kafka-configs --bootstrap-server h:1 --describe --entity-type moons",
        "kafka-reassign-partitions --bootstrap-server h:1 --execute",
        "kafka-leader-election --bootstrap-server h:1 --election-type PREFERRED",
        "kafka-producer-perf-test --topic t --num-records 1",
        "kafka-simple-consumer-shell --broker-list h:1",
        "kafka-run-class kafka.tools.NoSuchTool",
        "kafka-dump-log",
        "topics list --bootstrap-server nonsense",
        "topics list -b h:1 --timeout soon",
        "topics list -b h:1 -X no.such.setting=1",
        "topics list -b h:1 -X request.timeout.ms=soon",
        "topics create",
        "topics create t -b h:1 --config novalue",
        "groups reset-offsets g -b h:1 --to-earliest --to-latest",
        "groups reset-offsets g -b h:1 --topic t --to-datetime tomorrow",
        "produce t -b h:1 -v x --acks 7",
        "produce t -b h:1 -v x --compression rar",
        "consume",
        "may-stop controller 1",
        "bench produce t --records 0",
        "demo exactly-once 3 2",
        "chaos kill --every never",
        "reassign generate t --brokers x -b h:1",
    ],
)
def test_wrong_use_is_told_in_one_sentence(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(line.split()) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("tidelog: ")
    assert printed.err.count("\n") == 1


def test_every_tool_is_listed() -> None:
    assert {path[0] for path in PATHS if path[0] in TOOLS} == set(TOOLS)
