"""The pytest plugin for other projects: a test session of its own gets a cluster, and takes it down."""

import os
import subprocess
import sys
from pathlib import Path

from tests.process.client.test_docs import TESTS as PAGE_TESTS
from tests.support.zookeeper import EmbeddedZookeeper

TESTS = """
from tidelog.client.sync import Consumer, Producer

def test_round_trip(tidelog_cluster):
    with Producer(bootstrap_servers=tidelog_cluster.bootstrap_servers) as producer:
        producer.send("greetings", b"hello").result()
    settings = {"bootstrap.servers": tidelog_cluster.bootstrap_servers, "auto.offset.reset": "earliest"}
    with Consumer(settings, group_id="g") as consumer:
        consumer.subscribe(["greetings"])
        assert next(iter(consumer)).value == b"hello"

def test_the_same_cluster_survives_a_kill(tidelog_cluster):
    assert tidelog_cluster.zookeeper.startswith("ZOOKEEPER/tidelog-test-")
    tidelog_cluster.kill("broker", 0)
    tidelog_cluster.start("broker", 0)
    with Consumer(bootstrap_servers=tidelog_cluster.bootstrap_servers) as consumer:
        assert "greetings" in consumer.list_topics()
    assert all(each["ready"] for each in tidelog_cluster.status()["processes"])
"""


def test_other_projects_get_a_cluster(zookeeper: EmbeddedZookeeper, tmp_path: Path) -> None:
    (tmp_path / "test_theirs.py").write_text(TESTS.replace("ZOOKEEPER", zookeeper.connect))
    (tmp_path / "test_of_the_page.py").write_text(PAGE_TESTS[0])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tidelog-zookeeper", zookeeper.connect]
    done = subprocess.run(
        [*command, "--rootdir", str(tmp_path), "-c", os.devnull, *_plugin(), str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert "3 passed" in done.stdout, done.stdout + done.stderr
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert str(tmp_path) not in left


def _plugin() -> list[str]:
    """The installation names the plugin to pytest; where it is older than the plugin, the command line does."""
    from importlib.metadata import entry_points

    installed = {each.value for each in entry_points(group="pytest11")}
    return [] if "tidelog.testing.plugin" in installed else ["-p", "tidelog.testing.plugin"]
