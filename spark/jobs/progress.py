"""What a query says of itself after each batch: a line for people, metrics for Prometheus."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prometheus_client import Counter, Gauge, start_http_server
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

_LABELS = ("query",)
_ROWS = Counter("tidelog_pipeline_rows", "Rows that the query has read.", _LABELS)
_RATE = Gauge("tidelog_pipeline_rows_per_second", "Rows that the last batch processed in a second.", _LABELS)
_BATCH_S = Gauge("tidelog_pipeline_batch_seconds", "How long the last batch took.", _LABELS)
_LAG = Gauge("tidelog_pipeline_lag", "Offsets between the end of the last batch and the end of the topics.", _LABELS)
_AGE_S = Gauge("tidelog_pipeline_checkpoint_age_seconds", "Time since the query finished a batch.", _LABELS)


@dataclass(frozen=True, slots=True)
class Progress:
    """One finished batch."""

    query: str
    batch: int
    rows: int
    rows_per_second: float
    duration_ms: int
    lag: int

    def __str__(self) -> str:
        return (
            f"{self.query}: batch {self.batch}, {self.rows} rows in {self.duration_ms / 1000:.1f} s "
            f"({self.rows_per_second:.0f}/s), lag {self.lag}"
        )


def read_progress(told: Mapping[str, Any]) -> Progress:
    """Out of the JSON of Spark's own progress."""
    return Progress(
        query=told.get("name") or told["id"],
        batch=told["batchId"],
        rows=told["numInputRows"],
        rows_per_second=told.get("processedRowsPerSecond") or 0.0,
        duration_ms=told.get("durationMs", {}).get("triggerExecution", 0),
        lag=sum(lag_of(each.get("endOffset"), each.get("latestOffset")) for each in told.get("sources", ())),
    )


def lag_of(end: Any, latest: Any) -> int:
    """Offsets between two points of all partitions; each is {"topic": {"0": offset}}, parsed or as text."""
    read, newest = _offsets(end), _offsets(latest)
    return sum(max(0, offset - read.get(where, offset)) for where, offset in newest.items())


def _offsets(told: Any) -> dict[tuple[str, str], int]:
    parsed = json.loads(told) if isinstance(told, str) else told or {}
    return {
        (topic, number): offset
        for topic, numbers in parsed.items()
        if not topic.startswith("$")
        for number, offset in numbers.items()
    }


class Reporter:
    """Prints and measures what queries did since it was asked last."""

    def __init__(self, metrics_port: int = 0) -> None:
        self._seen: dict[str, int] = {}
        self._finished_at: dict[str, float] = {}
        if metrics_port:
            start_http_server(metrics_port)

    def look(self, query: StreamingQuery) -> None:
        told = query.lastProgress
        if told is None:
            return
        newest = read_progress(json.loads(told.json))
        seen = self._seen.get(newest.query, -1)
        # Several batches may have ended since the last look; asking for all of them takes longer than for one.
        batches = (
            [newest] if newest.batch <= seen + 1 else [read_progress(json.loads(it.json)) for it in _recent(query)]
        )
        for progress in batches:
            self._take(progress)
        _RATE.labels(newest.query).set(newest.rows_per_second)
        _BATCH_S.labels(newest.query).set(newest.duration_ms / 1000)
        _LAG.labels(newest.query).set(newest.lag)
        if newest.query in self._finished_at:
            _AGE_S.labels(newest.query).set(time.monotonic() - self._finished_at[newest.query])

    def _take(self, progress: Progress) -> None:
        """A batch without rows is told of again and again under the number of the one that comes next."""
        if progress.batch <= self._seen.get(progress.query, -1) or not progress.rows:
            return
        self._seen[progress.query] = progress.batch
        self._finished_at[progress.query] = time.monotonic()
        print(progress, flush=True)
        _ROWS.labels(progress.query).inc(progress.rows)


def _recent(query: StreamingQuery) -> list[StreamingQueryProgress]:
    found: list[StreamingQueryProgress] = query.recentProgress
    return found
