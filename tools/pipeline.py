"""`make pipeline`: a cluster, traffic, and the activity job for a minute; then the table that it made, and the lag."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from jobs.java import java_fault
from tidelog.client import NewTopic
from tidelog.client.records import TopicPartition
from tidelog.client.sync import Admin, Consumer

_SPARK = Path(__file__).resolve().parent.parent / "spark"
_TIDELOG = str(Path(sys.executable).parent / "tidelog")
_SECONDS = 60
_LOG_CHARACTERS = 3000
_GROUP = "tidelog-activity"
_TOPICS = {"pageviews": {}, "service-logs": {}, "pageviews-per-minute": {"cleanup.policy": "compact"}}


def main() -> None:
    fault = java_fault()
    if fault:
        sys.exit(fault)
    folder = Path(tempfile.mkdtemp(prefix="tidelog-pipeline-"))
    port_base = sys.argv[1] if len(sys.argv) > 1 else "19092"
    print("[1/4] starting a cluster")
    command = [_TIDELOG, "up", "--detach", "--json", "--data-dir", str(folder / "cluster"), "--port-base", port_base]
    up = subprocess.run(command, check=True, capture_output=True, text=True)
    try:
        run(json.loads(up.stdout)["bootstrap"], folder)
    finally:
        subprocess.run([_TIDELOG, "down", "--data-dir", folder / "cluster"], check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


def run(bootstrap: str, folder: Path) -> None:
    """Feed the cluster, run the job beside it, and show what came of it."""
    with Admin(bootstrap_servers=bootstrap) as admin:
        admin.create_topics([NewTopic(name, 3, 3, configs) for name, configs in _TOPICS.items()])
    print("[2/4] feeding it with page views and logs, 200 messages a second")
    feeding = subprocess.Popen(
        [_TIDELOG, "demo", "traffic", "--bootstrap-server", bootstrap, "--seconds", str(_SECONDS + 30)],
        stdout=subprocess.DEVNULL,
    )
    print(f"[3/4] counting page views with Spark for {_SECONDS} seconds")
    options = ["--seconds", str(_SECONDS), "--checkpoint", str(folder / "checkpoint")]
    options += ["--parquet", str(folder / "parquet")]
    windows = ["--window", "10 seconds", "--lateness", "10 seconds"]
    log = folder / "spark.log"
    try:
        job = [sys.executable, "-m", "jobs.activity", "--bootstrap", bootstrap, *options, *windows]
        with log.open("wb") as errors:
            ended = subprocess.run(job, cwd=_SPARK, check=False, stderr=errors).returncode
    finally:
        feeding.terminate()
        feeding.wait()
    if ended:
        sys.exit(f"the job failed; the end of what Spark wrote:\n{log.read_text(errors='replace')[-_LOG_CHARACTERS:]}")
    print("[4/4] what it has written")
    Console().print(result_table(newest_counts(bootstrap)))
    print(f"lag of group {_GROUP}: {lag(bootstrap)} records")


def newest_counts(bootstrap: str) -> dict[str, dict[str, Any]]:
    """The newest value of each key of the compacted topic."""
    found: dict[str, dict[str, Any]] = {}
    with Consumer(bootstrap_servers=bootstrap, isolation_level="read_committed") as consumer:
        partitions = [
            TopicPartition(each.topic, each.partition) for each in consumer.partitions_for("pageviews-per-minute")
        ]
        consumer.assign(partitions)
        consumer.seek_to_beginning()
        ends = consumer.end_offsets(partitions)
        while any(consumer.position(each) < ends[each] for each in partitions):
            for records in consumer.poll(500).values():
                found.update({record.key.decode(): json.loads(record.value) for record in records})
    return found


def result_table(counts: dict[str, dict[str, Any]]) -> Table:
    table = Table(title="The busiest pages of the last windows")
    for column in ("window", "page", "kind", "events", "users"):
        table.add_column(column, justify="right" if column in ("events", "users") else "left")
    newest = sorted(counts.values(), key=lambda each: (each["window_start"], each["events"]), reverse=True)
    for each in newest[:15]:
        table.add_row(each["window_start"], each["page"], each["kind"], str(each["events"]), str(each["users"]))
    return table


def lag(bootstrap: str) -> int:
    """Records of the source that the query has not finished."""
    with Admin(bootstrap_servers=bootstrap) as admin:
        committed = admin.list_group_offsets(_GROUP)
        ends = admin.list_offsets(dict.fromkeys(committed, "latest"))
    return sum(ends[each].offset - committed[each].offset for each in committed)


if __name__ == "__main__":
    main()
