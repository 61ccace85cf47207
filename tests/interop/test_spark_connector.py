"""Spark's own format("kafka") on our brokers: batch, source and sink, in a Spark of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.java import java_fault
from tests.support.services import Services
from tests.support.spark_connector import NoConnectorError, connector_jars
from tests.support.spark_topics import committed_values, fill, numbered
from tests.support.zookeeper import EmbeddedZookeeper
from tidelog.client import NewTopic
from tidelog.client.sync import Admin

pytestmark = pytest.mark.timeout(400)
_PROGRAM = """
import sys
from pyspark.sql import SparkSession
bootstrap, source, target, folder, jars = sys.argv[1:]
spark = (SparkSession.builder.master("local[2]").config("spark.jars", jars).config("spark.ui.enabled", "false")
         .config("spark.sql.shuffle.partitions", "2").getOrCreate())
servers = {"kafka.bootstrap.servers": bootstrap}
table = spark.read.format("kafka").options(subscribe=source, includeHeaders="true", minPartitions="4", **servers).load()
assert table.count() == 200, table.count()
assert table.select("value").distinct().count() == 200
assert table.first().headers[0].key == "h"
stream = (spark.readStream.format("kafka").options(subscribe=source, startingOffsets="earliest", **servers)
          .option("maxOffsetsPerTrigger", "70").load())
query = (stream.select("key", "value").writeStream.format("kafka").options(topic=target, **servers)
         .option("checkpointLocation", folder).trigger(availableNow=True).start())
query.awaitTermination()
table.limit(10).select("value").write.format("kafka").options(topic=target, **servers).mode("append").save()
"""


@pytest.fixture
def jars() -> str:
    fault = java_fault()
    if fault:
        pytest.skip(fault)
    try:
        return ",".join(map(str, connector_jars()))
    except NoConnectorError as error:
        pytest.skip(str(error))


@pytest.fixture
def bootstrap(tmp_path: Path) -> Iterator[str]:
    zookeeper = EmbeddedZookeeper(tmp_path / "zookeeper").start_ready()
    services = Services(f"{zookeeper.connect}/connector", tmp_path)
    services.start("controller", 0)
    brokers = [services.start("broker", id) for id in (1, 2)]
    for service in services.all:
        service.wait_ready()
    yield ",".join(broker.kafka for broker in brokers)
    services.end()
    zookeeper.stop()


def test_batch_source_and_sink(jars: str, bootstrap: str, tmp_path: Path) -> None:
    with Admin(bootstrap_servers=bootstrap) as admin:
        admin.create_topics([NewTopic(name, 2, 2, {}) for name in ("source", "target")])
    fill(bootstrap, "source", numbered(200), headers=[("h", b"x")])
    (tmp_path / "program.py").write_text(_PROGRAM)
    done = subprocess.run(
        [sys.executable, tmp_path / "program.py", bootstrap, "source", "target", tmp_path / "checkpoint", jars],
        capture_output=True,
        text=True,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_SUBMIT_ARGS": "--driver-memory 1g pyspark-shell"},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    written = committed_values(bootstrap, "target")
    assert sorted(set(written)) == numbered(200)
    assert len(written) == 210
