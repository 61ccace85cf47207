"""Every example of every --help is run, and does what it says without a fault."""

import json
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from typer.main import get_command

from tests.process.cli.conftest import Run
from tests.support.command_line import LocalCluster, has_program
from tests.support.waiting import eventually
from tidelog.cli.app import app
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
    run_class,
)
from tidelog.cli.kafka_tools import topics as kafka_topics
from tidelog.client import KafkaError, NewTopic, TopicPartition
from tidelog.client.sync import Admin, Producer

_EXAMPLE = re.compile(r"^\s*- `(.*tidelog .*)`$", re.MULTILINE)
# They start and stop processes: what they do is tested in test_local_cluster, test_servers and tests/process/local.
_ELSEWHERE = {
    "up",
    "down",
    "kill",
    "start",
    "chaos",
    "kafka-server-start",
    "kafka-server-stop",
    "zookeeper-server-start",
}
_PARSERS = [
    kafka_topics.parser,
    console_producer.parser,
    console_consumer.parser,
    console_consumer.shell_parser,
    consumer_groups.parser,
    configs.parser,
    reassign_partitions.parser,
    leader_election.parser,
    get_offsets.parser,
    dump_log.parser,
    perf.producer_parser,
    perf.consumer_parser,
]
_TOPICS = {"orders": 6, "logs": 3, "placed": 2, "test": 1, "clicks": 3}


def _commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    if hasattr(command, "list_commands"):
        context = command.make_context(path, [], resilient_parsing=True)
        for name in command.list_commands(context):
            yield from _commands(command.get_command(context, name), f"{path} {name}")
    else:
        yield path, command


def _examples() -> list[str]:
    found = []
    for path, command in _commands(get_command(app), "tidelog"):
        if path.split()[1] not in _ELSEWHERE and path != "tidelog demo failover":
            found += _EXAMPLE.findall(command.help or "")
    for parser in _PARSERS:
        found += _EXAMPLE.findall(parser().epilog or "")
    return [*found, f"tidelog kafka-run-class {run_class.EXAMPLE}"]


EXAMPLES = _examples()


def test_every_command_has_examples() -> None:
    exempt = {
        "tidelog txn abort",
        "tidelog broker",
        "tidelog controller",
        "tidelog group-coordinator",
        "tidelog metadata",
    }
    for path, command in _commands(get_command(app), "tidelog"):
        is_kafkas = path.split()[1].startswith(("kafka-", "zookeeper-"))
        if path not in exempt and not is_kafkas:
            assert _EXAMPLE.search(command.help or ""), f"{path} has no example"
    assert len(EXAMPLES) > 80


@pytest.fixture(scope="module")
def desk(local: LocalCluster) -> LocalCluster:
    """The files that examples name, and a transaction."""
    (local.root / "lines.txt").write_text("one\ntwo\n")
    (local.root / "pairs.txt").write_text("a:1\nb:2\n")
    (local.root / "topics.json").write_text('{"topics":[{"topic":"test"}],"version":1}')
    (local.root / "data").symlink_to(local.data_dir / "broker-0" / "data")
    with Producer(bootstrap_servers=local.bootstrap, transactional_id="payments") as producer:
        _ensure(local, "orders")
        producer.begin_transaction()
        producer.send("orders", b"paid").result(60)
        producer.commit_transaction()
    with Admin(bootstrap_servers=local.bootstrap) as admin:
        # The first commit of all makes __consumer_offsets, whose files an example dumps.
        admin.alter_group_offsets("readers", {TopicPartition("orders", 0): 0})
    eventually(lambda: list((local.root / "data").glob("__consumer_offsets-3/*.log")))
    return local


def _ensure(local: LocalCluster, topic: str) -> None:
    """A topic with a few records in every partition; `test` has its replica on broker 0, whose files examples dump."""
    with Admin(bootstrap_servers=local.bootstrap) as admin:
        if topic in admin.list_topics():
            return
        placed = {number: [0, 1, 2] for number in range(_TOPICS[topic])}
        admin.create_topics([NewTopic(topic, replicas=placed)])
    with Producer(bootstrap_servers=local.bootstrap) as producer:
        for number in range(30):
            producer.send(topic, b"some", b"key", partition=number % _TOPICS[topic])
        producer.flush()


def _remove(local: LocalCluster, topic: str) -> None:
    with Admin(bootstrap_servers=local.bootstrap) as admin:
        if topic in admin.list_topics():
            admin.delete_topics([topic])
        eventually(lambda: topic not in admin.list_topics())


def _prepare(local: LocalCluster, line: str) -> None:
    """What an example takes for granted: its topics are there, or are not if it creates them; so are its groups."""
    words = line.split()
    creates = "create" in words or "--create" in words
    for topic in _TOPICS:
        if topic in words and creates:
            _remove(local, topic)
    if "data/test-0" in line:
        _remove(local, "test")
    wanted = [topic for topic in _TOPICS if not (creates and topic in words)]
    for topic in wanted:
        _ensure(local, topic)
    with Admin(bootstrap_servers=local.bootstrap) as admin:
        for group, topic in (("billing", "orders"), ("readers", "test")):
            if group in words and "consume" not in words:
                offsets = {TopicPartition(topic, number): 2 for number in range(_TOPICS[topic])}
                admin.alter_group_offsets(group, offsets)
            elif group in words:
                with suppress(KafkaError):
                    admin.delete_groups([group])
        current = admin.describe_topics(wanted)
    for name, topic in (("plan.json", "orders"), ("moves.json", "test")):
        partitions = [
            {"topic": topic, "partition": number, "replicas": list(info.replicas)}
            for number, info in (current[topic].partitions.items() if topic in current else ())
        ]
        (local.root / name).write_text(json.dumps({"version": 1, "partitions": partitions}))


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_does_what_it_says(example: str, desk: LocalCluster, tidelog: Run) -> None:
    if "jq" in example and not has_program("jq"):
        pytest.skip("jq is not installed")
    if example.startswith("tidelog context") and "add" not in example:
        tidelog("context add here --bootstrap-server 127.0.0.1:1")
    _prepare(desk, example)
    line = desk.with_addresses(example)
    needs_shell = re.search(r"[|<>*$]", re.sub(r"'[^']*'", "", line)) is not None
    done = desk.bash(line) if needs_shell else tidelog(line.removeprefix("tidelog "))
    # Whether a broker may stop depends on what other tests have left; both answers are right.
    assert done.code == 0 or "may not stop" in done.err, done.err
    if "--json" in shlex.split(line) and "jq" not in line:
        json.loads(done.out)
    tidelog("context remove here")
