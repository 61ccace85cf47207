"""Topics in the hands of tests of the Spark data source: filled and read by the SDK, which the data source is not."""

from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tidelog.client.records import TopicPartition
from tidelog.client.sync import Consumer, Producer


def fill(bootstrap: str, topic: str, values: Iterable[str], partition: int | None = None, **given: Any) -> None:
    with Producer(bootstrap_servers=bootstrap) as producer:
        for value in values:
            producer.send(topic, value.encode(), b"k-" + value.encode(), partition=partition, **given)


def committed_values(bootstrap: str, topic: str) -> list[str]:
    """Every value that a reader of committed records sees."""
    return [value for _, value in committed_pairs(bootstrap, topic)]


def committed_pairs(bootstrap: str, topic: str) -> list[tuple[str, str]]:
    """Every key and value that a reader of committed records sees, those of a partition in their order."""
    with Consumer(bootstrap_servers=bootstrap, isolation_level="read_committed") as consumer:
        partitions = [TopicPartition(topic, each.partition) for each in consumer.partitions_for(topic)]
        consumer.assign(partitions)
        consumer.seek_to_beginning()
        ends = consumer.end_offsets(partitions)
        found: list[tuple[str, str]] = []
        while any(consumer.position(each) < ends[each] for each in partitions):
            for records in consumer.poll(500).values():
                found.extend(((record.key or b"").decode(), record.value.decode()) for record in records)
        return found


def table(spark: SparkSession, bootstrap: str, topic: str, **options: str) -> DataFrame:
    """A batch read."""
    reader = spark.read.format("tidelog").option("kafka.bootstrap.servers", bootstrap)
    named = {} if {"assign", "subscribePattern"} & options.keys() else {"subscribe": topic}
    return reader.options(**{**named, **options}).load()


def texts(rows: DataFrame) -> list[str]:
    return sorted(row.value for row in rows.selectExpr("CAST(value AS STRING) AS value").collect())


def numbered(count: int, first: int = 0) -> Sequence[str]:
    return [f"{number:05}" for number in range(first, first + count)]
