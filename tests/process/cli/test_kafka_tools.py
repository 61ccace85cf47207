"""Kafka's own command lines, with the flags that users have in their fingers and the output that their scripts read."""

import json
import re
import time
from itertools import count

from tests.process.cli.conftest import Run
from tests.support.command_line import SETTINGS, LocalCluster
from tidelog.kafka.types import java_hash


def test_topics(tidelog: Run, local: LocalCluster, name: str) -> None:
    at = f"--bootstrap-server {local.bootstrap}"
    create = f"kafka-topics --create --zookeeper {local.zookeeper} --replication-factor 1 --partitions 1 --topic {name}"
    assert tidelog(create).lines == [f"Created topic {name}."]
    again = tidelog(create)
    assert (again.code, "TOPIC_ALREADY_EXISTS (36)" in again.err) == (1, True)
    assert tidelog(f"{create} --if-not-exists").code == 0
    for where in (f"--zookeeper {local.zookeeper}", at):
        assert name in tidelog(f"kafka-topics --list {where}").lines
        head, line = tidelog(f"kafka-topics --describe {where} --topic {name}").lines
        fields = {part.partition(": ")[0]: part.partition(": ")[2] for part in head.split("\t")}
        assert (fields["Topic"], fields["PartitionCount"], fields["ReplicationFactor"]) == (name, "1", "1")
        assert line.startswith(f"\tTopic: {name}\tPartition: 0\tLeader: ")
        assert "\tReplicas: " in line
        assert "\tIsr: " in line
    assert tidelog(f"kafka-topics --alter {at} --topic {name} --partitions 3").code == 0
    assert len(tidelog(f"kafka-topics --describe {at} --topic {name}").lines) == 4
    assert tidelog(f"kafka-topics --describe {at} --under-replicated-partitions").lines == []
    assert tidelog(f"kafka-topics --delete {at} --topic {name}").code == 0
    missing = tidelog(f"kafka-topics --describe {at} --topic {name}")
    assert missing.code == 1
    assert f"Topic '{name}' does not exist as expected" in missing.err
    assert tidelog(f"kafka-topics --delete {at} --topic {name} --if-exists").code == 0
    assert tidelog("kafka-topics --list --zookeeper 127.0.0.1:1").code == 3


def test_console_producer_and_consumer(tidelog: Run, local: LocalCluster, name: str) -> None:
    at = f"--bootstrap-server {local.bootstrap} --topic {name}"
    tidelog(f"topics create {name} -p 1")
    assert tidelog(f"kafka-console-producer --broker-list {local.bootstrap} --topic {name}", "one\ntwo\n").code == 0
    keyed = f"kafka-console-producer {at} --property parse.key=true --property key.separator=: --compression-codec lz4"
    assert tidelog(keyed, "k:three\n").code == 0
    assert tidelog(keyed, "no separator\n").code == 2
    read = tidelog(f"kafka-console-consumer {at} --from-beginning --max-messages 3 --property print.key=true")
    assert read.out == "null\tone\nnull\ttwo\nk\tthree\n"
    assert read.err == "Processed a total of 3 messages\n"
    old = f"kafka-console-consumer --zookeeper {local.zookeeper} --topic {name} --from-beginning --timeout-ms 2000"
    assert tidelog(old).out == "one\ntwo\nthree\n"
    assert tidelog(f"kafka-console-consumer {at} --partition 0 --offset 1 --max-messages 1").out == "two\n"
    pattern = f"kafka-console-consumer --bootstrap-server {local.bootstrap} --include '{name}|none' --from-beginning"
    assert tidelog(f"{pattern} --max-messages 3 --isolation-level read_committed").out == "one\ntwo\nthree\n"


def test_a_console_consumer_prints_what_it_is_told_to(tidelog: Run, local: LocalCluster, name: str) -> None:
    at = f"--bootstrap-server {local.bootstrap} --topic {name}"
    tidelog(f"topics create {name} -p 1")
    parsed = "--property parse.key=true --reader-property parse.headers=true --command-property acks=1"
    assert tidelog(f"kafka-console-producer {at} {parsed}", "a:1,b:2\tkey\tvalue\n").code == 0
    everything = " ".join(f"--property print.{what}=true" for what in ("key", "headers", "offset", "partition"))
    read = f"kafka-console-consumer {at} --from-beginning --max-messages 1 --isolation-level read_committed"
    assert tidelog(f"{read} {everything}").out == "Partition:0\tOffset:0\ta:1,b:2\tkey\tvalue\n"
    stamped = tidelog(f"{read} --formatter-property print.timestamp=true --formatter-property print.value=false").out
    assert re.fullmatch(r"CreateTime:\d{13}\n", stamped)


def test_consumer_groups(tidelog: Run, local: LocalCluster, topic: str, name: str) -> None:
    tool = f"kafka-consumer-groups --bootstrap-server {local.bootstrap}"
    consumer = f"kafka-console-consumer --bootstrap-server {local.bootstrap} --topic {topic} --group {name}"
    assert len(tidelog(f"{consumer} --from-beginning --max-messages 4").lines) == 4
    assert name in tidelog(f"{tool} --list").lines
    described = tidelog(f"{tool} --describe --group {name}")
    heads = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID"
    assert described.lines[0] == ""
    assert described.lines[1].split() == heads.split()
    assert described.lines[2].split() == [name, topic, "0", "4", "10", "6", "-", "-", "-"]
    assert f"Consumer group '{name}' has no active members." in described.err
    state = tidelog(f"{tool} --describe --group {name} --state").lines
    assert state[1].split() == ["GROUP", "COORDINATOR", "(ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"]
    assert state[2].split()[1] in local.bootstrap.split(",")
    assert state[2].split()[-2:] == ["Empty", "0"]
    assert [name, "Empty"] in [line.split() for line in tidelog(f"{tool} --list --state").lines]
    assert [name, "Classic", "Empty"] in [line.split() for line in tidelog(f"{tool} --list --state --type").lines]
    assert name in tidelog(f"{tool} --list --type classic").out
    assert name not in tidelog(f"{tool} --list --type consumer").out
    assert name not in tidelog(f"{tool} --list --state stable").out
    reset = f"{tool} --reset-offsets --group {name} --topic {topic}:0"
    assert tidelog(f"{reset} --to-earliest --dry-run").lines[2].split() == [name, topic, "0", "0"]
    assert tidelog(f"{reset} --shift-by -1 --execute").lines[2].split() == [name, topic, "0", "3"]
    assert tidelog(f"{reset} --to-current --export").lines == [f"{topic},0,3"]
    (local.root / f"{name}.csv").write_text(f"{topic},0,8\n")
    assert tidelog(f"{tool} --reset-offsets --group {name} --from-file {name}.csv --execute").code == 0
    assert tidelog(f"{tool} --describe --group {name}").lines[2].split()[3] == "8"
    assert tidelog(f"{tool} --delete-offsets --group {name} --topic {topic}").code == 0
    assert "successful" in tidelog(f"{tool} --delete --group {name}").out
    missing = tidelog(f"{tool} --describe --group {name}")
    assert (missing.code, "GROUP_ID_NOT_FOUND (69)" in missing.err) == (1, True)


def test_configs(tidelog: Run, local: LocalCluster, topic: str, name: str) -> None:
    tool = f"kafka-configs --bootstrap-server {local.bootstrap}"
    entity = f"--entity-type topics --entity-name {topic}"
    altered = tidelog(f"{tool} --alter {entity} --add-config retention.ms=1000,cleanup.policy=[compact,delete]")
    assert altered.lines == [f"Completed updating config for topic {topic}."]
    described = tidelog(f"{tool} --describe {entity}").lines
    assert described[0] == f"Dynamic configs for topic {topic} are:"
    assert described[1].startswith("  cleanup.policy=compact,delete sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:")
    assert tidelog(f"{tool} --alter --topic {topic} --delete-config retention.ms,cleanup.policy").code == 0
    assert len(tidelog(f"{tool} --describe {entity}").lines) == 1
    assert len(tidelog(f"{tool} --describe --entity-type brokers --entity-name 0 --all").lines) > 50
    client = f"--entity-type clients --entity-name {name}"
    assert tidelog(f"{tool} --alter {client} --add-config producer_byte_rate=2048").code == 0
    quotas = tidelog(f"{tool} --describe {client}").lines
    assert quotas == [f"Quota configs for client-id '{name}' are producer_byte_rate=2048.0"]
    assert tidelog(f"{tool} --describe --entity-type topics --entity-name nope").code == 1


def settings_of(tidelog: Run, whose: str) -> dict[str, str]:
    """The limits of replication that were set."""
    found = tidelog(f"configs describe {whose} --json").document
    return {each["name"]: each["value"] for each in found if "throttled" in each["name"]}


def test_reassignment_and_elections(tidelog: Run, local: LocalCluster, name: str) -> None:
    at = f"--bootstrap-server {local.bootstrap}"
    tool = f"kafka-reassign-partitions {at}"
    tidelog(f"topics create {name} --assignment 0")
    (local.root / "move.json").write_text(json.dumps({"topics": [{"topic": name}], "version": 1}))
    generated = tidelog(f"{tool} --generate --topics-to-move-json-file move.json --broker-list 2").lines
    assert generated[0] == "Current partition replica assignment"
    assert generated[3] == "Proposed partition reassignment configuration"
    assert json.loads(generated[4])["partitions"][0]["replicas"] == [2]
    (local.root / "plan2.json").write_text(generated[4])
    executed = tidelog(f"{tool} --execute --reassignment-json-file plan2.json --throttle 40000000")
    assert executed.lines[-1] == f"Successfully started partition reassignment for {name}-0"
    assert "The inter-broker throttle limit was set to 40000000 B/s" in executed.lines
    done = f"Reassignment of partition {name}-0 is completed."
    verify = f"{tool} --verify --reassignment-json-file plan2.json"
    deadline = time.monotonic() + 60
    while tidelog(f"{verify} --preserve-throttles").lines[1] != done:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    rates = ["leader.replication.throttled.rate", "follower.replication.throttled.rate"]
    assert settings_of(tidelog, "broker 2") == dict.fromkeys(rates, "40000000")
    assert settings_of(tidelog, f"topic {name}") == {
        "leader.replication.throttled.replicas": "0:0",
        "follower.replication.throttled.replicas": "0:2",
    }
    assert tidelog(verify).lines[-1] == f"Clearing topic-level throttles on topic {name}"
    assert settings_of(tidelog, "broker 2") == settings_of(tidelog, f"topic {name}") == {}
    cancelled = tidelog(f"{tool} --cancel --reassignment-json-file plan2.json")
    assert cancelled.lines[-1] == "None of the specified partition moves are active."
    assert tidelog(f"{tool} --list").lines == ["No partition reassignments found."]
    elected = tidelog(f"kafka-leader-election {at} --election-type preferred --topic {name} --partition 0")
    assert elected.lines == [f"Valid replica already elected for partitions {name}-0"]
    assert tidelog(f"kafka-leader-election {at} --election-type PREFERRED --all-topic-partitions").code == 0


def test_offsets_and_files(tidelog: Run, local: LocalCluster, topic: str) -> None:
    tool = f"kafka-get-offsets --bootstrap-server {local.bootstrap}"
    assert tidelog(f"{tool} --topic {topic}").lines == [f"{topic}:0:10", f"{topic}:1:0", f"{topic}:2:0"]
    assert tidelog(f"{tool} --topic {topic} --partitions 0 --time -2").lines == [f"{topic}:0:0"]
    assert tidelog(f"{tool} --topic-partitions {topic}:0 --time earliest").lines == [f"{topic}:0:0"]
    assert tidelog(f"{tool} --topic nope").code == 1
    file = next(local.data_dir.glob(f"broker-0/data/{topic}-0/*.log"))
    for dump in ("kafka-dump-log", "kafka-run-class kafka.tools.DumpLogSegments", "log dump"):
        files = "" if dump == "log dump" else "--files "
        printed = tidelog(f"{dump} {files}{file} --print-data-log").out
        assert "Log starting offset: 0" in printed
        assert "payload: 9" in printed


def test_performance_tools(tidelog: Run, local: LocalCluster, name: str) -> None:
    tidelog(f"topics create {name} -p 1")
    tool = f"kafka-producer-perf-test --topic {name} --num-records 200 --record-size 100 --throughput -1"
    sent = tidelog(f"{tool} --producer-props bootstrap.servers={local.bootstrap} acks=1 linger.ms=5")
    assert sent.lines[-1].startswith("200 records sent, ")
    assert "ms 99.9th." in sent.lines[-1]
    (local.root / "payloads.txt").write_text("one\ntwo\n")
    tool = f"kafka-producer-perf-test --topic {name} --num-records 20 --payload-file payloads.txt --throughput 1000"
    more = f"--transactional-id {name} --print-metrics --command-property bootstrap.servers={local.bootstrap}"
    lines = tidelog(f"{tool} {more}").lines
    assert lines[0].startswith("20 records sent, ")
    assert [line.split()[-1] for line in lines if ":record-send-total:" in line] == ["20.000"]
    read = tidelog(f"kafka-consumer-perf-test --bootstrap-server {local.bootstrap} --topic {name} --messages 200")
    assert read.lines[0].startswith("start.time, end.time, data.consumed.in.MB")
    assert read.lines[1].split(", ")[4] == "200"
    assert tidelog(f"consume {name} -o 200 -c 2 --read-committed").out == "one\ntwo\n"


def test_the_shell_that_looks_into_committed_offsets(tidelog: Run, local: LocalCluster, topic: str) -> None:
    partitions = int(SETTINGS["offsets.topic.num.partitions"])
    group = next(f"g{n}" for n in count() if (java_hash(f"g{n}") & 0x7FFFFFFF) % partitions == 35)
    assert tidelog(f"groups reset-offsets {group} -t {topic}:0 --to-offset 7 --execute").code == 0
    for formatter in (
        "'kafka.coordinator.GroupMetadataManager$OffsetsMessageFormatter'",
        "'kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter'",
    ):
        printed = tidelog(
            f"kafka-simple-consumer-shell --topic __consumer_offsets --partition 35 --broker-list {local.bootstrap} "
            f"--formatter {formatter} --no-wait-at-logend"
        )
        assert f"[{group},{topic},0]::OffsetAndMetadata(offset=7, " in printed.out
