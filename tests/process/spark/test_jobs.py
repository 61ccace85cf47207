"""Each job on a real cluster, with what `tidelog demo traffic` makes and what the processes say of themselves."""

import json
import random
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs import activity, export, logs, operations, scrape
from tests.support.client_cluster import Cluster
from tests.support.services import get_text
from tests.support.spark_topics import committed_values, fill, numbered
from tests.support.waiting import eventually
from tidelog.cli.demos.visits import message
from tidelog.client.records import OffsetAndMetadata, TopicPartition
from tidelog.client.sync import Consumer

pytestmark = pytest.mark.timeout(400)
Make = Callable[..., str]
_NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
# Windows are final when something much younger has come.
_LATER = (_NOON + timedelta(hours=2)).isoformat()


def arguments(bootstrap: str, topic: str, folder: Path, *more: str) -> list[str]:
    checkpoint = str(folder / "checkpoint")
    return ["--bootstrap", bootstrap, "--topic", topic, "--checkpoint", checkpoint, "--available-now", *more]


def made(kind: str, count: int) -> list[dict[str, Any]]:
    """Messages of one topic, all of the same minute or the half before."""
    chance = random.Random(1)
    found = (message(chance, _NOON.timestamp() + 45) for _ in range(count))
    return [json.loads(each.value) for each in found if each.topic == kind]


def documents(bootstrap: str, topic: str) -> list[dict[str, Any]]:
    return [json.loads(value) for value in committed_values(bootstrap, topic)]


def test_logs(spark: SparkSession, bootstrap: str, make_topic: Make, tmp_path: Path) -> None:
    source, rates, messages = make_topic(), make_topic(1), make_topic(1)
    lines = made("service-logs", 3000)
    late = {"service": "end", "level": "INFO", "message": "-", "at": _LATER}
    fill(bootstrap, source, map(json.dumps, [*lines, late]))
    logs.main(arguments(bootstrap, source, tmp_path, "--rates-to", rates, "--messages-to", messages))
    counted = {each["service"]: (each["lines"], each["errors"]) for each in documents(bootstrap, rates)}
    errors = Counter(each["service"] for each in lines if each["level"] == "ERROR")
    assert counted == {name: (n, errors[name]) for name, n in Counter(each["service"] for each in lines).items()}
    complaints = {
        each["service"]: sum(some["count"] for some in each["top"]) for each in documents(bootstrap, messages)
    }
    assert complaints == errors


def test_activity(
    spark: SparkSession, bootstrap: str, make_topic: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, counts = make_topic(), make_topic(1, cleanup_policy="compact")
    events = made("pageviews", 2000)
    fill(bootstrap, source, map(json.dumps, [*events, {"kind": "view", "page": "/end", "user": "u", "at": _LATER}]))
    parquet = str(tmp_path / "parquet")
    activity.main(arguments(bootstrap, source, tmp_path, "--to", counts, "--parquet", parquet))
    wanted = Counter((each["kind"], each["page"]) for each in events)
    newest = {(each["kind"], each["page"]): each["events"] for each in documents(bootstrap, counts)}
    assert newest == {**wanted, ("view", "/end"): 1}
    rows = spark.read.parquet(parquet).where("day = '2026-01-02'").collect()
    assert {(row.kind, row.page): row.events for row in rows} == wanted
    assert "activity: batch 0, " in capsys.readouterr().out


def test_operations_on_what_processes_say(
    spark: SparkSession, cluster: Cluster, bootstrap: str, make_topic: Make, tmp_path: Path
) -> None:
    source, metrics, lags, rates = make_topic(1), make_topic(1), make_topic(1), make_topic(1)
    group = f"behind-{source}"
    fill(bootstrap, source, numbered(100))
    commit(bootstrap, source, group, 30)
    instances = [service.http for service in cluster.services.all]
    coordinator = cluster.of("group-coordinator")[0]
    # The lag is looked up now and then, later than the commit is known.
    told = f'kafka_consumergroup_lag{{consumergroup="{group}"'
    eventually(lambda: told in get_text(f"http://{coordinator.http}/metrics"))
    scrape.main([*instances, "--bootstrap", bootstrap, "--topic", metrics, "--rounds", "2", "--every", "1.5"])
    fill(bootstrap, metrics, [json.dumps(each) for each in samples_of_later()])
    operations.main(arguments(bootstrap, metrics, tmp_path, "--lags-to", lags, "--rates-to", rates))
    found = [each for each in documents(bootstrap, lags) if each["group"] == group]
    assert {(each["topic"], each["lag"]) for each in found} == {(source, 70)}
    grown = documents(bootstrap, rates)
    assert {each["instance"] for each in grown} >= set(instances)
    assert any(each.get("per_second", 0) > 0 for each in grown)


def samples_of_later() -> list[dict[str, Any]]:
    """With these the windows of what was sampled before are final."""
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    labels = {"consumergroup": "-", "topic": "-", "partition": "0"}
    return [
        {"name": name, "labels": labels, "value": 1, "instance": "-", "at": later}
        for name in ("end_total", "kafka_consumergroup_lag")
    ]


def test_metrics_are_scraped_beside_a_job(cluster: Cluster, bootstrap: str, make_topic: Make) -> None:
    metrics = f"{make_topic(1)}-metrics"
    port = cluster.of("broker")[0].http.rpartition(":")[2]
    with scrape.scraping(bootstrap, metrics, [f"localhost:{port}", "no.such.host.invalid:1"], 60):
        found = eventually(lambda: documents(bootstrap, metrics))
    assert f"127.0.0.1:{port}" in {each["instance"] for each in found}


def commit(bootstrap: str, topic: str, group: str, offset: int) -> None:
    with Consumer(bootstrap_servers=bootstrap, group_id=group) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        consumer.commit({TopicPartition(topic, 0): OffsetAndMetadata(offset)})


def test_an_export_goes_on_where_it_stopped(
    spark: SparkSession, bootstrap: str, make_topic: Make, tmp_path: Path
) -> None:
    source, folder = make_topic(), str(tmp_path / "exported")
    for first in (0, 50):
        fill(bootstrap, source, numbered(50, first), timestamp=int(_NOON.timestamp() * 1000), headers=[("h", b"x")])
        export.main(arguments(bootstrap, source, tmp_path, "--path", folder))
        rows = spark.read.parquet(folder).selectExpr("topic", "day", "CAST(value AS STRING) AS value").collect()
        assert sorted(row.value for row in rows) == numbered(first + 50)
    assert {(row.topic, row.day.isoformat()) for row in rows} == {(source, "2026-01-02")}
