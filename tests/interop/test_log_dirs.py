"""Kafka's own tools move a replica between the log directories of a broker, and see where it is."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.kafka_jars import kafka_jars, run_java
from tests.support.services import Service, Services
from tests.support.stock_clients.interface import Message
from tests.support.stock_clients.librdkafka import Confluent
from tests.support.waiting import eventually
from tests.support.zookeeper import EmbeddedZookeeper

pytestmark = pytest.mark.timeout(600)

LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
COUNT = 200


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Service]:
    """A broker with two log directories."""
    kafka_jars()
    zookeeper = EmbeddedZookeeper(tmp_path / "zookeeper").start_ready()
    services = Services(f"{zookeeper.connect}/interop", tmp_path)
    try:
        services.start("controller", 0)
        yield services.start("broker", 1, log_dirs=f"{tmp_path / 'a'},{tmp_path / 'b'}").wait_ready()
    finally:
        services.end()
        zookeeper.stop()


def described(broker: Service, topic: str) -> dict[str, list[bool]]:
    """The directories that have the topic, each with whether it is a future one."""
    output = run_java(LOG_DIRS, "--bootstrap-server", broker.kafka, "--describe", "--topic-list", topic)
    found = json.loads(output.splitlines()[-1])
    return {
        one["logDir"]: [partition["isFuture"] for partition in one["partitions"]]
        for one in found["brokers"][0]["logDirs"]
        if one["partitions"]
    }


def test_the_reassignment_tool_moves_a_replica(broker: Service, topic: str, tmp_path: Path) -> None:
    # Of now: what is older than retention.ms would be deleted under the tool's hands.
    now_ms = round(time.time() * 1000)
    sent = [Message(None, b"%d" % number, now_ms, ()) for number in range(COUNT)]
    Confluent().produce(broker.kafka, topic, sent, "none", idempotent=True)
    ((former, _),) = described(broker, topic).items()
    (target,) = set(broker.settings["log.dirs"].split(",")) - {former}
    wanted = {"topic": topic, "partition": 0, "replicas": [1], "log_dirs": [target]}
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [wanted]}))
    tool = ("--bootstrap-server", broker.kafka, "--reassignment-json-file", str(plan))
    throttle = ("--replica-alter-log-dirs-throttle", "50000000")
    told = run_java(REASSIGN, *tool, "--execute", *throttle)
    assert f"Successfully started moving log directory to {target} for replica {topic}-0 with broker 1" in told
    eventually((Path(target) / f"{topic}-0").is_dir)
    verified = run_java(REASSIGN, *tool, "--verify")
    assert f"Reassignment of replica {topic}-0-1 completed successfully." in verified
    assert described(broker, topic) == {target: [False]}
    assert [one.value for one in Confluent().consume(broker.kafka, topic, 0, COUNT)] == [one.value for one in sent]
