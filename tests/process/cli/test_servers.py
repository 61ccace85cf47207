"""The first lines of Kafka's quick start: a ZooKeeper, a server, a topic, and all of it stopped again."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.support.command_line import LocalCluster
from tests.support.ports import free_ports
from tests.support.waiting import eventually


def test_a_zookeeper_and_a_server(tmp_path: Path) -> None:
    zookeeper = free_ports(2)
    kafka = zookeeper + 1
    (tmp_path / "zookeeper.properties").write_text(
        f"dataDir={tmp_path}/zookeeper\nclientPort={zookeeper}\nadmin.enableServer=false\n"
    )
    (tmp_path / "server.properties").write_text(
        f"broker.id=4\nlisteners=PLAINTEXT://127.0.0.1:{kafka}\nlog.dirs={tmp_path}/logs\n"
        f"zookeeper.connect=127.0.0.1:{zookeeper}\noffsets.topic.replication.factor=1\noffsets.topic.num.partitions=3\n"
    )
    # Its environment and its helpers, without its processes.
    cluster = LocalCluster(tmp_path)
    assert cluster.shell("kafka-server-stop").code == 1
    environment = {**os.environ, **cluster.environment}
    program = [sys.executable, "-m", "tidelog"]
    with (tmp_path / "out.txt").open("wb") as out:
        started = [
            subprocess.Popen(
                [*program, tool, str(tmp_path / file)], env=environment, stdout=out, stderr=out, start_new_session=True
            )
            for tool, file in (
                ("zookeeper-server-start", "zookeeper.properties"),
                ("kafka-server-start", "server.properties"),
            )
        ]
    at = f"127.0.0.1:{kafka}"
    try:
        create = ("kafka-topics", "--create", "--zookeeper", f"localhost:{zookeeper}", "--topic", "test")
        numbers = ("--replication-factor", "1", "--partitions", "1")
        eventually(lambda: cluster.shell(*create, *numbers).code == 0, seconds=100)
        assert cluster.shell("kafka-topics", "--list", "--bootstrap-server", at).lines == ["test"]
        assert cluster.shell("produce", "test", "-v", "hello", "-b", at).code == 0
        read = ("kafka-console-consumer", "--bootstrap-server", at, "--topic", "test", "--from-beginning")
        assert cluster.shell(*read, "--group", "g", "--max-messages", "1").out == "hello\n"
        assert cluster.shell("kafka-server-stop").code == 0
        assert started[1].wait(60) == 0
    finally:
        for process in reversed(started):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(60)
    assert started[0].returncode == 0
