"""format("tidelog") beside format("kafka") on the same cluster in one run: batch reads, and the latency of micro-batches."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from jobs.java import java_fault
from tests.support.spark_connector import NoConnectorError, connector_jars
from tidelog.client import NewTopic
from tidelog.client.sync import Admin, Producer

_RECORDS = 2_000_000
_SIZE = 1024
_PARTITIONS = 4
_ROUNDS = 3
_TOPIC = "bench-spark"
_BATCHES = 20


def main() -> None:
    fault = java_fault()
    if fault:
        sys.exit(fault)
    given = [int(each) for each in sys.argv[1:]]
    records, rounds = given[0] if given else _RECORDS, given[1] if len(given) > 1 else _ROUNDS
    tidelog = str(Path(sys.executable).parent / "tidelog")
    with tempfile.TemporaryDirectory(prefix="tidelog-bench-spark-") as folder:
        where = ["--data-dir", f"{folder}/cluster"]
        command = [tidelog, "up", "--detach", "--json", "--port-base", "21092", *where]
        up = subprocess.run(command, check=True, capture_output=True, text=True)
        try:
            bench(json.loads(up.stdout)["bootstrap"], records, rounds, Path(folder))
        finally:
            subprocess.run([tidelog, "down", *where], check=False, capture_output=True)


def bench(bootstrap: str, records: int, rounds: int, folder: Path) -> None:
    """Everything with each format in turn, round by round, so that both see the same machine."""
    formats = ["tidelog"]
    spark = _session(formats)
    _fill(bootstrap, records)
    print(f"{records} records of {_SIZE} bytes in {_PARTITIONS} partitions; medians of {rounds} rounds", flush=True)
    measures: dict[str, Callable[[str], float]] = {
        "count, seconds": lambda name: _timed(lambda: _table(spark, name, bootstrap).count()),
        "all columns to Parquet, seconds": lambda name: _timed(
            lambda: _table(spark, name, bootstrap).write.mode("overwrite").parquet(str(folder / "parquet"))
        ),
        "micro-batch, milliseconds": lambda name: _micro_batch_ms(spark, name, bootstrap),
    }
    for measure, run in measures.items():
        taken: dict[str, list[float]] = {name: [] for name in formats}
        for _ in range(rounds):
            for name in formats:
                taken[name].append(run(name))
        print(f"  {measure:34}", "  ".join(_told(name, taken[name]) for name in formats), flush=True)


def _told(name: str, taken: list[float]) -> str:
    return f"{name} {statistics.median(taken):.1f} ({min(taken):.1f} to {max(taken):.1f})"


def _session(formats: list[str]) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "2g")
    builder = builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2")
    try:
        builder = builder.config("spark.jars", ",".join(map(str, connector_jars())))
        formats.append("kafka")
    except NoConnectorError as error:
        print(f'without format("kafka"): {error}')
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _fill(bootstrap: str, records: int) -> None:
    with Admin(bootstrap_servers=bootstrap) as admin:
        admin.create_topics([NewTopic(_TOPIC, _PARTITIONS, 1, {})])
    value = os.urandom(_SIZE)
    with Producer(bootstrap_servers=bootstrap, batch_size=262_144, linger_ms=20) as producer:
        for number in range(records):
            producer.send(_TOPIC, value, partition=number % _PARTITIONS)


def _table(spark: SparkSession, name: str, bootstrap: str) -> DataFrame:
    return spark.read.format(name).options(subscribe=_TOPIC, **{"kafka.bootstrap.servers": bootstrap}).load()


def _timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _micro_batch_ms(spark: SparkSession, name: str, bootstrap: str) -> float:
    """The median time of a small batch to nowhere, after the first ones."""
    options = {"subscribe": _TOPIC, "startingOffsets": "earliest", "maxOffsetsPerTrigger": "1000"}
    stream = spark.readStream.format(name).options(**options, **{"kafka.bootstrap.servers": bootstrap}).load()
    with tempfile.TemporaryDirectory() as checkpoint:
        query = stream.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
        while query.isActive and len(query.recentProgress) < _BATCHES:
            time.sleep(0.1)
        query.stop()
        times = [each.durationMs["triggerExecution"] for each in query.recentProgress[5:]]
    return statistics.median(times)


if __name__ == "__main__":
    main()
