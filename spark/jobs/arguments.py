"""Arguments that all jobs have, and what they mean for readers and writers."""

from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser, Namespace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

_QUERY_ID = "sql.streaming.queryId"


def parser(name: str, text: str, *, source: str) -> ArgumentParser:
    """A parser with the arguments of every streaming job."""
    found = ArgumentParser(
        prog=f"python -m jobs.{name}", description=text, formatter_class=ArgumentDefaultsHelpFormatter
    )
    found.add_argument("--bootstrap", default="127.0.0.1:9092", help="brokers, host:port,host:port")
    found.add_argument("--topic", default=source, help="the topic to read")
    found.add_argument("--from", dest="starting", default="earliest", help="where a new query begins: earliest, latest")
    found.add_argument("--checkpoint", default=f"/tmp/tidelog-{name}", help="the folder that remembers how far it is")  # noqa: S108
    found.add_argument("--trigger", default="5 seconds", help="how often a batch is made")
    found.add_argument("--most", type=int, default=0, help="records of a batch at most; 0 is no limit")
    found.add_argument("--available-now", action="store_true", help="read what there is, then end")
    found.add_argument("--seconds", type=float, default=0, help="end after so long; 0 is never")
    found.add_argument(
        "--metrics-port", type=int, default=0, help="serve metrics of the queries on this port; 0 is not"
    )
    return found


def read_topic(spark: SparkSession, arguments: Namespace, name: str) -> DataFrame:
    """The stream of the topic that was named, for the query of this name; a group of that name shows how far it is."""
    reader = (
        spark.readStream.format("tidelog")
        .option("kafka.bootstrap.servers", arguments.bootstrap)
        .option("subscribe", arguments.topic)
        .option("startingOffsets", arguments.starting)
        .option("kafka.group.id", f"tidelog-{name}")
        .option("kafka.isolation.level", "read_committed")
        .option("includeHeaders", "true")
    )
    if arguments.most:
        reader = reader.option("maxOffsetsPerTrigger", str(arguments.most))
    return reader.load()


def to_topic(rows: DataFrame, arguments: Namespace, topic: str, name: str) -> DataStreamWriter:
    """A query that writes to a topic, exactly once."""
    writer = (
        rows.writeStream.format("tidelog").option("kafka.bootstrap.servers", arguments.bootstrap).option("topic", topic)
    )
    return triggered(writer, arguments, name)


def updates_to_topic(rows: DataFrame, arguments: Namespace, topic: str, name: str) -> DataStreamWriter:
    """A query in update mode, which Spark does not let Python sinks have: each batch is a write that is named after it."""

    def write(batch: DataFrame, number: int) -> None:
        query = batch.sparkSession.sparkContext.getLocalProperty(_QUERY_ID)
        assert query is not None, "called by a streaming query"
        writer = batch.write.format("tidelog").option("kafka.bootstrap.servers", arguments.bootstrap)
        writer.options(topic=topic, txnAppId=query, txnVersion=str(number)).mode("append").save()

    return triggered(rows.writeStream.foreachBatch(write).outputMode("update"), arguments, name)


def triggered(writer: DataStreamWriter, arguments: Namespace, name: str) -> DataStreamWriter:
    """With its name, its checkpoint and its trigger."""
    trigger: dict[str, Any] = (
        {"availableNow": True} if arguments.available_now else {"processingTime": arguments.trigger}
    )
    return writer.queryName(name).option("checkpointLocation", f"{arguments.checkpoint}/{name}").trigger(**trigger)
