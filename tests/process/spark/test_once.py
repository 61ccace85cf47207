"""What makes the sink exactly-once, without Spark around it: markers in the transactions of tasks."""

from collections.abc import Callable

import pytest

from pyspark_tidelog.errors import ChangedBatchError
from pyspark_tidelog.markers import written_by
from pyspark_tidelog.rows import Row
from pyspark_tidelog.sending import TaskOfBatch, send_once
from pyspark_tidelog.session import Session
from tests.support.spark_topics import committed_values
from tidelog.client.sync import Producer


@pytest.fixture
def settings(bootstrap: str) -> dict[str, str]:
    return {"bootstrap.servers": bootstrap, "transaction.timeout.ms": "60000"}


def rows(topic: str, *values: bytes) -> list[Row]:
    return [Row(topic, None, value, [], None) for value in values]


def test_a_repeated_task_writes_nothing(
    make_topic: Callable[..., str], settings: dict[str, str], bootstrap: str
) -> None:
    topic = make_topic(1)
    for _ in range(2):
        assert send_once(iter(rows(topic, b"a", b"b")), TaskOfBatch(topic, 4), settings) == 2
    assert send_once(iter(rows(topic, b"c")), TaskOfBatch(topic, 5), settings) == 1
    assert committed_values(bootstrap, topic) == ["a", "b", "c"]
    assert written_by(Session({"bootstrap.servers": bootstrap}), topic) == (5, 1)


def test_an_attempt_that_hangs_is_fenced_by_the_next(
    make_topic: Callable[..., str], settings: dict[str, str], bootstrap: str
) -> None:
    topic = make_topic(1)
    with Producer({**settings, "transactional.id": topic}) as hanging:
        hanging.begin_transaction()
        hanging.send(topic, b"of the first attempt").result(20)
        assert send_once(iter(rows(topic, b"a")), TaskOfBatch(topic, 0), settings) == 1
        with pytest.raises(Exception, match="another producer uses"):
            hanging.commit_transaction()
    assert committed_values(bootstrap, topic) == ["a"]


def test_a_batch_that_comes_with_other_rows_is_refused(
    make_topic: Callable[..., str], settings: dict[str, str]
) -> None:
    topic = make_topic(1)
    send_once(iter(rows(topic, b"a", b"b")), TaskOfBatch(topic, 0), settings)
    with pytest.raises(ChangedBatchError, match="batch 0 was written with 2 rows and is repeated with 1"):
        send_once(iter(rows(topic, b"a")), TaskOfBatch(topic, 0), settings)
