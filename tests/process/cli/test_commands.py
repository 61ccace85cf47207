"""The commands of our own against a real cluster: tables for people, JSON for programs."""

import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import time

import pytest

from tests.process.cli.conftest import Run
from tests.support.command_line import LocalCluster
from tidelog.client.sync import Producer


def test_the_life_of_a_topic(tidelog: Run, name: str) -> None:
    assert tidelog(f"topics create {name} -p 2 -r 3 -c retention.ms=60000").lines == [f"Created topic {name}."]
    again = tidelog(f"topics create {name}")
    assert again.code == 1
    assert again.err.startswith("tidelog: TOPIC_ALREADY_EXISTS (36): ")
    assert tidelog(f"topics create {name} --if-not-exists").code == 0
    listed = {each["name"]: each for each in tidelog("topics list --json").document}
    assert listed[name] == {"name": name, "partitions": 2, "replication_factor": 3, "internal": False}
    assert tidelog(f"topics alter {name} -p 4").code == 0
    described = tidelog(f"topics describe {name} --json").document[0]
    assert described["configs"] == {"retention.ms": "60000"}
    assert [each["partition"] for each in described["partitions"]] == [0, 1, 2, 3]
    assert sorted(described["partitions"][0]["isr"]) == [0, 1, 2]
    assert tidelog(f"topics describe {name}").lines[1].split() == [
        "PARTITION",
        "LEADER",
        "REPLICAS",
        "IN-SYNC",
        "OFFLINE",
    ]
    assert tidelog(f"topics delete {name}").code == 0
    gone = tidelog(f"topics describe {name}")
    assert gone.code == 1
    assert "UNKNOWN_TOPIC_OR_PARTITION (3)" in gone.err
    assert tidelog(f"topics delete {name} --if-exists").code == 0


def test_records_go_in_and_out(tidelog: Run, name: str) -> None:
    tidelog(f"topics create {name} -p 1")
    sent = tidelog(f"produce {name} --key-separator : --json", "a:1\nb:2\nc:3\n").document
    assert [each["offset"] for each in sent["records"]] == [0, 1, 2]
    one = tidelog(f"produce {name} -k d -v 4 -H source=web")
    assert one.lines == [f"Sent to {name}-0 at offset 3."]
    assert tidelog(f"consume {name} -o beginning -e -f '%o:%k=%s;'").out == "0:a=1;1:b=2;2:c=3;3:d=4;"
    assert tidelog(f"consume {name} -o -1 -c 1").out == "4\n"
    assert tidelog(f"consume {name} -o 1 -p 0 -c 2").out == "2\n3\n"
    assert tidelog(f"consume {name} -o @-1h -e").out == "1\n2\n3\n4\n"
    documents = tidelog(f"consume {name} -o 3 -e --json").document
    assert documents[0]["value"] == "4"
    assert documents[0]["headers"] == [{"name": "source", "value": "web"}]
    lines = tidelog(f"consume {name} -o beginning -e --json-lines").lines
    assert [json.loads(line)["key"] for line in lines] == ["a", "b", "c", "d"]


def test_what_cannot_be_read_is_refused(tidelog: Run, topic: str) -> None:
    assert "UNKNOWN_TOPIC_OR_PARTITION (3)" in tidelog("consume no-such-topic -e").err
    refused = tidelog(f"consume {topic} -p 9 -e")
    assert (refused.code, "has no partition 9" in refused.err) == (1, True)
    assert tidelog(f"consume {topic} -o nowhere -e").code == 2
    bad = tidelog("topics create 'not a name'")
    assert (bad.code, "INVALID_TOPIC_EXCEPTION (17)" in bad.err) == (1, True)


def test_an_unreachable_cluster_is_told_in_time(tidelog: Run) -> None:
    begun = time.monotonic()
    done = tidelog("topics list -b 127.0.0.1:1 --timeout 1")
    assert done.code == 3
    assert "127.0.0.1:1" in done.err
    assert time.monotonic() - begun < 20
    assert tidelog("produce t -v x -b 127.0.0.1:1 --timeout 1").code == 3
    assert tidelog("consume t -b 127.0.0.1:1 --timeout 1").code == 3


def test_a_group_and_its_lag(tidelog: Run, topic: str, name: str) -> None:
    assert len(tidelog(f"consume {topic} -g {name} -o beginning -c 4 --json").document) == 4
    assert {each["group"] for each in tidelog("groups list --json").document} >= {name}
    lag = tidelog(f"groups lag {name} --json").document[0]
    assert (lag["partition"], lag["current_offset"], lag["log_end_offset"], lag["lag"]) == (0, 4, 10, 6)
    assert tidelog(f"groups lag {name}").lines[-1] == "Lag in all: 6"
    assert tidelog(f"groups members {name} --json").document["state"] == "Empty"
    missing = tidelog("groups lag no-such-group")
    assert (missing.code, "GROUP_ID_NOT_FOUND (69)" in missing.err) == (1, True)
    assert tidelog(f"groups delete-offsets {name} --topic {topic}").code == 0
    assert tidelog(f"groups delete {name}").code == 0
    assert name not in {each["group"] for each in tidelog("groups list --json").document}


@pytest.mark.parametrize(
    ("form", "offset"),
    [
        ("--to-earliest", 0),
        ("--to-latest", 10),
        ("--to-current", 4),
        ("--to-offset 7", 7),
        ("--to-offset 999", 10),
        ("--to-datetime 1999-01-01T00:00:00.000", 0),
        ("--by-duration 1h", 0),
        ("--by-duration PT0.001S", 10),
        ("--shift-by 3", 7),
        ("--shift-by -2", 2),
    ],
)
def test_every_form_of_a_reset(tidelog: Run, topic: str, name: str, form: str, offset: int) -> None:
    tidelog(f"groups reset-offsets {name} -t {topic}:0 --to-offset 4 --execute")
    dry = tidelog(f"groups reset-offsets {name} -t {topic}:0 {form} --json").document
    assert dry == {"group": name, "executed": False, "offsets": [{"topic": topic, "partition": 0, "offset": offset}]}
    assert tidelog(f"groups lag {name} --json").document[0]["current_offset"] == 4, "a dry run changes nothing"
    assert tidelog(f"groups reset-offsets {name} -t {topic}:0 {form} --execute").code == 0
    assert tidelog(f"groups lag {name} --json").document[0]["current_offset"] == offset


def test_settings_are_changed_and_given_back(tidelog: Run, topic: str) -> None:
    assert tidelog(f"configs alter topic {topic} -c retention.ms=1000").code == 0
    own = tidelog(f"configs describe topic {topic} --json").document
    assert [(each["name"], each["value"]) for each in own] == [("retention.ms", "1000")]
    assert tidelog(f"configs alter topic {topic} -d retention.ms").code == 0
    assert tidelog(f"configs describe topic {topic} --json").document == []
    wrong = tidelog(f"configs alter topic {topic} -c retention.ms=soon")
    assert (wrong.code, "INVALID_CONFIG (40)" in wrong.err) == (1, True)
    names = {each["name"] for each in tidelog("configs describe broker 0 --all --json").document}
    assert "log.segment.bytes" in names


def test_health_and_who_may_stop(tidelog: Run, name: str) -> None:
    healthy = tidelog("health --wait --brokers 3 --timeout 60 --json").document
    assert (healthy["healthy"], healthy["brokers"]) == (True, [0, 1, 2])
    tidelog(f"topics create {name} --assignment 1")
    refused = tidelog("may-stop broker 1 --json")
    assert refused.code == 1
    document = json.loads(refused.out)
    assert {"topic": name, "partition": 0, "reason": "would have no leader"} in document["partitions"]
    assert f"{name}-0 would have no leader" in tidelog("may-stop broker 1").out
    tidelog(f"topics delete {name}")
    assert tidelog("may-stop broker 9").code == 2
    assert tidelog("health --brokers 4").code == 1


def test_replicas_move(tidelog: Run, name: str) -> None:
    tidelog(f"topics create {name} --assignment 0,0")
    assert tidelog(f"reassign generate {name} --brokers 1,2 -o {name}.json").code == 0
    current = tidelog(f"reassign generate {name} --brokers 1,2 --current").document
    assert [each["replicas"] for each in current["partitions"]] == [[0], [0]]
    assert tidelog(f"reassign execute {name}.json").code == 0
    deadline = time.monotonic() + 60
    while {each["state"] for each in tidelog(f"reassign verify {name}.json --json").document} != {"done"}:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    moved = tidelog(f"topics describe {name} --json").document[0]["partitions"]
    assert sorted(each["replicas"][0] for each in moved) == [1, 2]
    assert tidelog(f"reassign cancel {name}.json").lines == ["Called off 0 moves."]
    assert tidelog("reassign list --json").document == []
    assert tidelog("reassign execute nothing.json").code == 1


def test_leaders_offsets_and_transactions(tidelog: Run, topic: str, name: str, local: LocalCluster) -> None:
    assert tidelog(f"elect-leaders {topic} --json").document == {"elected": []}
    assert tidelog("elect-leaders no-such-topic").code == 1
    offsets = tidelog(f"offsets {topic}:0 --at 1999-01-01T00:00:00 --json").document
    expected = {"topic": topic, "partition": 0, "start": 0, "end": 10, "records": 10, "at": 0}
    assert offsets == [expected]
    with Producer(bootstrap_servers=local.bootstrap, transactional_id=name) as producer:
        producer.begin_transaction()
        producer.send(topic, b"x", partition=0).result(60)
        ongoing = tidelog("txn list --state Ongoing --json").document
        assert name in {each["transactional_id"] for each in ongoing}
        assert tidelog(f"txn describe {name} --json").document["partitions"] == [f"{topic}-0"]
        open_ones = [each for each in tidelog(f"txn producers {topic} --json").document if each["start_offset"]]
        assert open_ones[0]["start_offset"] == 10
        producer.commit_transaction()
    assert tidelog(f"txn abort {topic}:0 --start-offset 10").code == 1


def test_benchmarks_tell_figures(tidelog: Run, name: str) -> None:
    tidelog(f"topics create {name} -p 2")
    produced = tidelog(f"bench produce {name} -n 300 -s 50 --json").document
    assert (produced["records"], produced["bytes"]) == (300, 15_000)
    assert produced["latency_ms"]["p50"] <= produced["latency_ms"]["p99.9"] <= produced["latency_ms"]["max"]
    assert tidelog(f"bench consume {name} -n 300 --json").document["records"] == 300
    assert tidelog(f"bench latency {name} -n 3 --json").document["records"] == 3
    assert "latency_ms p99" in tidelog(f"bench produce {name} -n 20 --acks 1 --throughput 100").out


def test_a_bundle_has_what_is_needed(tidelog: Run, local: LocalCluster) -> None:
    assert tidelog("debug bundle -o all.tar.gz --json").document["file"] == "all.tar.gz"
    with tarfile.open(local.root / "all.tar.gz") as archive:
        names = {member.name.removeprefix("all/") for member in archive.getmembers()}
    assert {"cluster/topics.json", "cluster/health.json", "processes/broker-0/log.txt"} <= names
    assert "processes/controller-0/metrics.txt" in names


def test_demonstrations(tidelog: Run) -> None:
    assert "Sent 5, received 5." in tidelog("demo producer-consumer --sync --records 5").lines
    verdict = tidelog("demo exactly-once 3 2 200 --json").document
    assert (verdict["exactly_once"], verdict["copied"]) == (True, 200)
    assert "Sent 100 messages." in tidelog("demo traffic --rate 200 --seconds 0.5 --partitions 1").lines


def test_a_demonstration_tells_its_verdict(tidelog: Run) -> None:
    done = tidelog("demo exactly-once 3 2 100")
    assert done.lines[0].startswith("100 records copied (instance 0: ")
    assert done.lines[1] == "0 missing, 0 there twice, in order within partitions."
    assert done.lines[2] == "Exactly once: yes"
    for step in ("Pre-populating demo-input-", "Running 2 instances.", "Verifying."):
        assert step in done.err


@pytest.mark.parametrize("options", [(), ("--sync",)])
def test_a_demonstration_goes_on_until_it_is_stopped(local: LocalCluster, options: tuple[str, ...]) -> None:
    command = [sys.executable, "-u", "-m", "tidelog", "demo", "producer-consumer", *options]
    environment = {**os.environ, **local.environment}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(6)]
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read().splitlines()
        assert process.wait(60) == 0
    assert any(
        re.match(r"Sent message \(1, Message_1\) to partition\(\d\), offset\(\d+\) in \d+ ms", line) for line in lines
    )
    assert any(line.startswith("Received message: (1, Message_1) at offset ") for line in lines)
    counted = re.fullmatch(r"Sent (\d+), received (\d+)\.", rest[-1])
    assert counted is not None
    assert counted[1] == counted[2]


def test_a_saved_context_is_used(
    tidelog: Run, local: LocalCluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIDELOG_DATA_DIR")
    assert tidelog(f"context add mine -b {local.bootstrap}").code == 0
    assert topic in {each["name"] for each in tidelog("topics list --json").document}
    assert tidelog("context remove mine").code == 0
    assert tidelog("topics list").code == 3
