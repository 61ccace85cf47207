"""The jobs around Spark: arguments, traffic, samples, progress."""

import importlib
import json
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import REGISTRY

from jobs.progress import Reporter, lag_of, read_progress
from jobs.scrape import samples


@pytest.mark.parametrize("job", ["activity", "copy", "export", "logs", "operations", "scrape"])
def test_every_job_helps(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        importlib.import_module(f"jobs.{job}").main(["--help"])
    assert ended.value.code == 0
    assert "--bootstrap" in capsys.readouterr().out


def test_samples_of_counters_and_lags() -> None:
    text = '# TYPE a counter\na_total{x="1"} 5\n# TYPE b gauge\nb 1\n# TYPE g_lag gauge\ng_lag 3\n'
    found = [json.loads(value) for _, value in samples(text, "h:1", datetime(2026, 1, 1, tzinfo=UTC))]
    assert [(each["name"], each["labels"], each["value"]) for each in found] == [
        ("a_total", {"x": "1"}, 5.0),
        ("g_lag", {}, 3.0),
    ]


def test_progress_tells_rate_time_and_lag() -> None:
    source = {"endOffset": {"t": {"0": 5, "1": 7}, "$ids": {"t": "i"}}, "latestOffset": {"t": {"0": 9, "1": 7}}}
    told = {
        "id": "i",
        "name": "copy",
        "batchId": 3,
        "numInputRows": 10,
        "processedRowsPerSecond": 5.0,
        "durationMs": {"triggerExecution": 2000},
        "sources": [source],
    }
    assert str(read_progress(told)) == "copy: batch 3, 10 rows in 2.0 s (5/s), lag 4"


def test_lag_of_sources_that_tell_nothing_is_none() -> None:
    assert lag_of(None, None) == 0
    assert lag_of('{"t": {"0": 1}}', '{"t": {"0": 3}}') == 2


class _Query:
    """A query whose batches have ended since it was looked at."""

    def __init__(self, *batches: tuple[int, int]) -> None:
        self.recentProgress = [self._told(number, rows) for number, rows in batches]

    @property
    def lastProgress(self) -> Any:  # noqa: N802  Spark's name
        return self.recentProgress[-1]

    @staticmethod
    def _told(number: int, rows: int) -> Any:
        return SimpleNamespace(json=json.dumps({"id": "i", "name": "q", "batchId": number, "numInputRows": rows}))


def test_every_batch_is_told_of_once(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = Reporter()
    reporter.look(_Query((0, 5)))  # type: ignore[arg-type]
    reporter.look(_Query((0, 5), (1, 0)))  # type: ignore[arg-type]
    reporter.look(_Query((0, 5), (1, 0), (1, 7), (2, 9), (3, 2)))  # type: ignore[arg-type]
    assert [line.split(" in ")[0] for line in capsys.readouterr().out.splitlines()] == [
        "q: batch 0, 5 rows",
        "q: batch 1, 7 rows",
        "q: batch 2, 9 rows",
        "q: batch 3, 2 rows",
    ]
    assert REGISTRY.get_sample_value("tidelog_pipeline_rows_total", {"query": "q"}) == 23
