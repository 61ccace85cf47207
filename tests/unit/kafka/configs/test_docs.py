"""The page that is generated from the settings."""

from pathlib import Path

import pytest

from tidelog.kafka.configs.setting import settings_of
from tidelog.kafka.configs.topic import TopicConfig
from tidelog.kafka.configs.unknown import PROCESS_CONFIGS
from tools import gen_docs


def test_the_page_is_the_same_each_time_and_names_every_setting() -> None:
    page = gen_docs.config_page()
    assert page == gen_docs.config_page()
    for config_type in (*PROCESS_CONFIGS, TopicConfig):
        assert all(f"| `{name}` |" in page for name in settings_of(config_type))


def test_every_row_has_six_cells() -> None:
    rows = [line for line in gen_docs.config_page().splitlines() if line.startswith("|")]
    assert {row.replace("\\|", "").count("|") for row in rows} == {7}


def test_a_page_that_differs_from_the_code_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gen_docs, "DOCS", tmp_path)
    assert gen_docs.main(["--check"]) == 1
    assert gen_docs.main([]) == 0
    assert gen_docs.main(["--check"]) == 0
    (tmp_path / "config.md").write_text("old")
    assert gen_docs.main(["--check"]) == 1
    assert "docs/config.md is stale: run tools/gen_docs.py" in capsys.readouterr().err


def test_the_page_in_the_repository_is_fresh() -> None:
    assert gen_docs.stale_pages(gen_docs.DOCS) == []


def test_every_metric_is_listed_with_its_labels() -> None:
    page = gen_docs.metrics_page()
    assert "| `tidelog_event_loop_lag_seconds` | histogram |  | How late the event loop runs its callbacks. |" in page
    assert "| `kafka_log_log_size` | gauge | `topic`, `partition` | Bytes of the log. |" in page
    assert "| `process_open_fds` | gauge |  |" in page
    names = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    assert len(names) == len(set(names)), "a name is declared once"
