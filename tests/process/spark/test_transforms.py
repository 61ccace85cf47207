"""The transforms on rows that are written down here."""

import json
from datetime import UTC, datetime

import pytest
from pyspark.sql import DataFrame, SparkSession

from transforms import activity, logs, operations

pytestmark = pytest.mark.timeout(300)


def records(spark: SparkSession, *events: object) -> DataFrame:
    values = [(event if isinstance(event, str) else json.dumps(event),) for event in events]
    return spark.createDataFrame(values, "value STRING").selectExpr("CAST(value AS BINARY) AS value")


def at(minute: int, second: int = 0) -> str:
    return datetime(2026, 1, 2, 3, minute, second, tzinfo=UTC).isoformat()


def test_activity_counts_by_page_kind_and_window(spark: SparkSession) -> None:
    found = activity.activity(
        activity.events(
            records(
                spark,
                {"kind": "view", "page": "/", "user": "a", "at": at(0, 1)},
                {"kind": "view", "page": "/", "user": "a", "at": at(0, 59)},
                {"kind": "view", "page": "/", "user": "b", "at": at(1)},
                {"kind": "search", "page": "/", "user": "b", "at": at(1)},
                {"kind": "click", "page": "/", "user": "b", "at": at(1)},
                {"kind": "view", "page": "/", "user": "b"},
                "no JSON",
            )
        )
    )
    rows = sorted((row.window_start.minute, row.kind, row.events, row.users) for row in found.collect())
    assert rows == [(0, "view", 2, 1), (1, "search", 1, 1), (1, "view", 1, 1)]
    written = json.loads(activity.as_records(found.where("kind = 'search'")).collect()[0].value)
    assert (written["page"], written["events"]) == ("/", 1)
    assert activity.by_day(found).select("day").distinct().collect()[0].day.isoformat() == "2026-01-02"


def test_error_rates_and_top_messages(spark: SparkSession) -> None:
    lines = logs.lines(
        records(
            spark,
            {"service": "cart", "level": "INFO", "message": "ok", "at": at(0)},
            {"service": "cart", "level": "ERROR", "message": "order 17 is lost", "at": at(0)},
            {"service": "cart", "level": "error", "message": "order 18 is lost", "at": at(0)},
            {"service": "cart", "level": "ERROR", "message": "disk full", "at": at(0)},
            {"service": "users", "level": "INFO", "message": "ok", "at": at(0)},
        )
    )
    rates = {row.service: (row.lines, row.errors, row.error_rate) for row in logs.error_rates(lines).collect()}
    assert rates == {"cart": (4, 3, 0.75), "users": (1, 0, 0.0)}
    top = logs.top_messages(lines, most=1).collect()
    assert [(row.service, [tuple(each) for each in row.top]) for row in top] == [("cart", [(2, "order # is lost")])]


def test_lags_and_rates_of_a_minute(spark: SparkSession) -> None:
    labels = {"consumergroup": "g", "topic": "t", "partition": "0"}

    def lag(second: int, value: float) -> dict[str, object]:
        return {"name": "kafka_consumergroup_lag", "labels": labels, "value": value, "at": at(0, second)}

    def counter(second: int, value: float) -> dict[str, object]:
        return {"name": "requests_total", "labels": {}, "instance": "b1", "value": value, "at": at(0, second)}

    samples = operations.samples(records(spark, lag(1, 9), lag(30, 4), counter(10, 100), counter(20, 150)))
    found = operations.lags(samples).collect()
    assert [(row.group, row.topic, row.partition, row.lag, row.lag_max) for row in found] == [("g", "t", 0, 4, 9)]
    assert [(row.instance, row.per_second) for row in operations.rates(samples).collect()] == [("b1", 5.0)]
