"""Streaming reads and writes on a real cluster: limits, gaps, and a driver that is killed in the middle."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tests.support.spark_jobs import driver
from tests.support.spark_topics import committed_values, fill, numbered
from tests.support.waiting import eventually
from tidelog.client import KafkaCode, KafkaError, NewTopic
from tidelog.client.records import TopicPartition
from tidelog.client.sync import Admin

pytestmark = pytest.mark.timeout(400)
Make = Callable[..., str]


class Copying:
    """A query from one topic to another that reads what there is and ends."""

    def __init__(self, spark: SparkSession, bootstrap: str, topics: tuple[str, str], checkpoint: Path) -> None:
        self._spark = spark
        self._bootstrap = bootstrap
        self._source, self._target = topics
        self._checkpoint = checkpoint

    def run(self, **options: str) -> StreamingQuery:
        reader = self._spark.readStream.format("tidelog").option("kafka.bootstrap.servers", self._bootstrap)
        rows = reader.options(subscribe=self._source, startingOffsets="earliest", **options).load()
        writer = rows.select("key", "value").writeStream.format("tidelog").option("topic", self._target)
        writer = writer.option("kafka.bootstrap.servers", self._bootstrap)
        query = writer.option("checkpointLocation", str(self._checkpoint)).trigger(availableNow=True).start()
        query.awaitTermination()
        return query


@pytest.fixture
def topics(make_topic: Make) -> tuple[str, str]:
    return make_topic(), make_topic()


@pytest.fixture
def copying(spark: SparkSession, bootstrap: str, topics: tuple[str, str], tmp_path: Path) -> Copying:
    return Copying(spark, bootstrap, topics, tmp_path / "checkpoint")


def test_a_trigger_takes_no_more_than_it_may(copying: Copying, bootstrap: str, topics: tuple[str, str]) -> None:
    fill(bootstrap, topics[0], numbered(100))
    query = copying.run(maxOffsetsPerTrigger="40", **{"kafka.group.id": f"lag-{topics[0]}"})
    assert [progress.numInputRows <= 40 for progress in query.recentProgress] == [True] * len(query.recentProgress)
    assert sum(progress.numInputRows for progress in query.recentProgress) == 100
    assert sorted(committed_values(bootstrap, topics[1])) == numbered(100)
    with Admin(bootstrap_servers=bootstrap) as admin:
        known = admin.list_group_offsets(f"lag-{topics[0]}")
    assert sum(each.offset for each in known.values()) == 100


def test_a_query_goes_on_where_it_stopped(copying: Copying, bootstrap: str, topics: tuple[str, str]) -> None:
    fill(bootstrap, topics[0], numbered(10))
    copying.run()
    fill(bootstrap, topics[0], numbered(10, 10))
    copying.run()
    assert sorted(committed_values(bootstrap, topics[1])) == numbered(20)


def test_retention_overtakes_a_stopped_query(copying: Copying, bootstrap: str, topics: tuple[str, str]) -> None:
    fill(bootstrap, topics[0], numbered(10), 0)
    copying.run()
    fill(bootstrap, topics[0], numbered(10, 10), 0)
    with Admin(bootstrap_servers=bootstrap) as admin:
        admin.delete_records({TopicPartition(topics[0], 0): 15})
    with pytest.raises(StreamingQueryException, match=f"{topics[0]}-0 lost offsets 10 to 14"):
        copying.run()
    copying.run(failOnDataLoss="false")
    assert sorted(committed_values(bootstrap, topics[1])) == [*numbered(10), *numbered(5, 15)]


def is_made(admin: Admin, topic: str) -> bool:
    """The name of a topic that is being deleted is taken until the last replica is gone."""
    try:
        admin.create_topics([NewTopic(topic, 2, 2, {})])
    except KafkaError as error:
        if error.code is KafkaCode.TOPIC_ALREADY_EXISTS:
            return False
        raise
    return True


def test_a_topic_that_was_made_anew(copying: Copying, bootstrap: str, topics: tuple[str, str]) -> None:
    fill(bootstrap, topics[0], numbered(5), 0)
    copying.run()
    with Admin(bootstrap_servers=bootstrap) as admin:
        admin.delete_topics([topics[0]])
        eventually(lambda: is_made(admin, topics[0]))
    fill(bootstrap, topics[0], numbered(9, 100), 0)
    with pytest.raises(StreamingQueryException, match=f"{topics[0]}-0 belongs to a topic that was re-created"):
        copying.run()
    copying.run(failOnDataLoss="false")
    assert sorted(committed_values(bootstrap, topics[1])) == [*numbered(5), *numbered(9, 100)]


def test_a_killed_driver_loses_and_repeats_nothing(
    spark: SparkSession, bootstrap: str, topics: tuple[str, str], tmp_path: Path
) -> None:
    source, target = topics
    fill(bootstrap, source, numbered(3000))
    arguments = ["--bootstrap", bootstrap, "--topic", source, "--to", target, "--checkpoint", str(tmp_path / "state")]
    with driver("copy", [*arguments, "--most", "100", "--trigger", "0 seconds"], tmp_path / "log") as first:
        eventually(lambda: len(committed_values(bootstrap, target)) > 300, 180)
        first.kill()
    assert len(committed_values(bootstrap, target)) < 3000
    with driver("copy", [*arguments, "--most", "1000", "--available-now"], tmp_path / "log") as again:
        assert again.ends() == 0, again.told()
    assert sorted(committed_values(bootstrap, target)) == numbered(3000)
