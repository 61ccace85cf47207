"""Batch reads and writes on a real cluster, each option once."""

import logging
import time
from collections.abc import Callable

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from pyspark_tidelog.columns import table_schema
from pyspark_tidelog.options import read_reader_options
from pyspark_tidelog.reader import TidelogReader
from tests.support.spark_topics import committed_values, fill, numbered, table, texts
from tidelog.client.records import TopicPartition
from tidelog.client.sync import Admin, Producer

pytestmark = pytest.mark.timeout(300)
Make = Callable[..., str]


def test_a_topic_is_a_table(spark: SparkSession, bootstrap: str, make_topic: Make) -> None:
    topic = make_topic(1)
    fill(bootstrap, topic, ["a"], headers=[("h", b"x")], timestamp=1_000)
    row = table(spark, bootstrap, topic, includeHeaders="true").collect()[0]
    assert (bytes(row.key), bytes(row.value), row.topic, row.partition, row.offset) == (b"k-a", b"a", topic, 0, 0)
    assert row.timestamp.timestamp() == 1
    assert [(header.key, bytes(header.value)) for header in row.headers] == [("h", b"x")]


def test_from_where_to_where(spark: SparkSession, bootstrap: str, make_topic: Make) -> None:
    topic = make_topic(1)
    for number, value in enumerate(numbered(10)):
        fill(bootstrap, topic, [value], timestamp=1000 + number)
    offsets = {"startingOffsets": f'{{"{topic}": {{"0": 2}}}}', "endingOffsets": f'{{"{topic}": {{"0": 5}}}}'}
    assert texts(table(spark, bootstrap, topic, **offsets)) == numbered(3, 2)
    assert texts(table(spark, bootstrap, topic, startingTimestamp="1008")) == numbered(2, 8)
    times = {
        "startingOffsetsByTimestamp": f'{{"{topic}": {{"0": 1003}}}}',
        "endingOffsetsByTimestamp": f'{{"{topic}": {{"0": 1005}}}}',
    }
    assert texts(table(spark, bootstrap, topic, **times)) == numbered(2, 3)
    late = {"startingTimestamp": "9999", "startingOffsetsByTimestampStrategy": "latest"}
    assert texts(table(spark, bootstrap, topic, **late)) == []
    with pytest.raises(AnalysisException, match="is that young"):
        table(spark, bootstrap, topic, startingTimestamp="9999").collect()


def test_which_topics(spark: SparkSession, bootstrap: str, make_topic: Make) -> None:
    one, two = make_topic(), make_topic()
    fill(bootstrap, one, ["a"], 0)
    fill(bootstrap, two, ["b"], 1)
    assert texts(table(spark, bootstrap, f"{one},{two}")) == ["a", "b"]
    assert texts(table(spark, bootstrap, "", subscribePattern=f"{one}|{two}")) == ["a", "b"]
    assert texts(table(spark, bootstrap, "", assign=f'{{"{two}": [1]}}')) == ["b"]


def test_big_partitions_are_split(spark: SparkSession, bootstrap: str, make_topic: Make) -> None:
    topic = make_topic(1)
    fill(bootstrap, topic, numbered(100))
    split = table(spark, bootstrap, topic, minPartitions="4")
    assert split.rdd.getNumPartitions() == 4
    assert texts(split) == numbered(100)
    assert table(spark, bootstrap, topic, maxRecordsPerPartition="10").rdd.getNumPartitions() == 10


def test_only_wanted_columns_are_read(spark: SparkSession, bootstrap: str, make_topic: Make) -> None:
    topic = make_topic(1)
    fill(bootstrap, topic, ["a"])
    reader = spark.read.format("tidelog").schema("offset LONG, value BINARY").option("subscribe", topic)
    assert reader.option("kafka.bootstrap.servers", bootstrap).load().columns == ["offset", "value"]
    assert reader.load().count() == 1


def test_aborted_records_are_not_read_as_committed(spark: SparkSession, bootstrap: str, make_topic: Make) -> None:
    topic = make_topic(1)
    with Producer(bootstrap_servers=bootstrap, transactional_id=topic) as producer:
        producer.begin_transaction()
        producer.send(topic, b"gone").result(20)
        producer.abort_transaction()
        with producer.transaction():
            producer.send(topic, b"stays")
    assert texts(table(spark, bootstrap, topic, **{"kafka.isolation.level": "read_committed"})) == ["stays"]
    assert texts(table(spark, bootstrap, topic)) == ["gone", "stays"]


def test_what_retention_took_is_a_loss(
    spark: SparkSession, bootstrap: str, make_topic: Make, caplog: pytest.LogCaptureFixture
) -> None:
    topic = make_topic(1)
    fill(bootstrap, topic, numbered(10))
    with Admin(bootstrap_servers=bootstrap) as admin:
        admin.delete_records({TopicPartition(topic, 0): 6})
    starting = {"startingOffsets": f'{{"{topic}": {{"0": 2}}}}'}
    with pytest.raises(AnalysisException, match=f"{topic}-0 lost offsets 2 to 5"):
        table(spark, bootstrap, topic, **starting).collect()
    assert texts(table(spark, bootstrap, topic, **starting, failOnDataLoss="false")) == numbered(4, 6)
    given = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, **starting, "failOnDataLoss": "false"}
    options = read_reader_options(given, is_stream=False)
    with caplog.at_level(logging.WARNING):
        TidelogReader(options, table_schema(include_headers=False)).partitions()
    assert f"{topic}-0 lost offsets 2 to 5" in caplog.text


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"subscribe": "no-such-topic"}, "subscribe: there is no no-such-topic."),
        ({"startingOffset": "earliest"}, "did you mean startingOffsets?"),
        ({"kafka.bootstrap.servers": "127.0.0.1:1", "kafka.default.api.timeout.ms": "500"}, "127.0.0.1:1"),
    ],
)
def test_wrong_options_stop_before_any_job(
    spark: SparkSession, bootstrap: str, make_topic: Make, options: dict[str, str], sentence: str
) -> None:
    given = {"subscribe": make_topic(1), "kafka.request.timeout.ms": "2000", **options}
    begun = time.monotonic()
    with pytest.raises(AnalysisException) as refused:
        table(spark, bootstrap, "", **given).collect()
    assert sentence in str(refused.value)
    assert time.monotonic() - begun < 60


@pytest.mark.parametrize("guarantee", ["exactly-once", "at-least-once"])
def test_a_table_is_written(spark: SparkSession, bootstrap: str, make_topic: Make, guarantee: str) -> None:
    topic = make_topic()
    rows = spark.createDataFrame(
        [(topic, "k", value) for value in numbered(50)], "topic STRING, key STRING, value STRING"
    )
    writer = rows.write.format("tidelog").option("kafka.bootstrap.servers", bootstrap)
    writer.option("deliveryGuarantee", guarantee).mode("append").save()
    assert sorted(committed_values(bootstrap, topic)) == numbered(50)
    with Admin(bootstrap_servers=bootstrap) as admin:
        assert not [each for each in admin.list_groups() if each.group_id.startswith("spark-tidelog-sink")]


def test_a_named_write_takes_place_once(spark: SparkSession, bootstrap: str, make_topic: Make) -> None:
    topic = make_topic()
    rows = spark.createDataFrame([(value,) for value in numbered(10)], "value STRING")
    for version in ("1", "1", "2"):
        writer = rows.write.format("tidelog").option("kafka.bootstrap.servers", bootstrap).option("topic", topic)
        writer.option("txnAppId", topic).option("txnVersion", version).mode("append").save()
    assert sorted(committed_values(bootstrap, topic)) == sorted([*numbered(10), *numbered(10)])
