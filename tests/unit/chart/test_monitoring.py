"""Alert rules and dashboards ask only for metrics that exist, and every alert is explained."""

import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.chart import CHART, RELEASE, ROOT, render
from tools.gen_docs import metrics_page

RULES = CHART / "alerts" / "rules.yaml"
DASHBOARDS = sorted((CHART / "dashboards").glob("*.json"))
# Of the kubelet, not of ours.
FOREIGN = {"kubelet_volume_stats_available_bytes", "kubelet_volume_stats_capacity_bytes"}
_NAME = re.compile(r"\b((?:kafka|tidelog|process|python|kubelet)_[a-z0-9_]+)\b")
_SUFFIXES = re.compile(r"_(bucket|sum|count)$")


def _promtool() -> str | None:
    fetched = ROOT / "build" / "images" / "e2e" / "prometheus" / "promtool"
    return str(fetched) if fetched.exists() else shutil.which("promtool")


def _alerts() -> list[dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


@cache
def _known() -> frozenset[str]:
    """Those of the generated page, and those that collectors put together by hand name in the code."""
    sources = "".join(file.read_text() for file in (ROOT / "services" / "tidelog").rglob("*.py"))
    in_code = re.findall(r'"((?:kafka|tidelog)_[a-z0-9_]+)"', sources)
    return frozenset({*_NAME.findall(metrics_page()), *in_code, *FOREIGN})


def _unknown(expression: str) -> set[str]:
    known = _known()
    return {name for name in _NAME.findall(expression) if name not in known and _SUFFIXES.sub("", name) not in known}


@pytest.mark.parametrize("alert", _alerts(), ids=lambda alert: str(alert["alert"]))
def test_an_alert_asks_for_metrics_that_exist(alert: dict[str, Any]) -> None:
    assert _unknown(alert["expr"]) == set()
    assert alert["labels"]["severity"] in ("critical", "warning")


@pytest.mark.parametrize("file", DASHBOARDS, ids=lambda file: str(file.stem))
def test_a_dashboard_asks_for_metrics_that_exist(file: Path) -> None:
    dashboard = json.loads(file.read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(queries) > 8
    assert {name for query in queries for name in _unknown(query)} == set()


def test_a_metric_that_nobody_has_is_found() -> None:
    assert _unknown("sum(kafka_server_nosuchthing_total) > 0") == {"kafka_server_nosuchthing_total"}


def test_every_alert_is_explained() -> None:
    text = (ROOT / "docs" / "operations.md").read_text()
    assert [alert["alert"] for alert in _alerts() if f"`{alert['alert']}`" not in text] == []


def test_every_alert_has_a_test_in_which_it_fires() -> None:
    tests = yaml.safe_load(RULES.with_name("rules.test.yaml").read_text())["tests"]
    tested = {case["alertname"] for test in tests for case in test["alert_rule_test"] if case["exp_alerts"]}
    assert tested == {alert["alert"] for alert in _alerts()}


@pytest.mark.skipif(_promtool() is None, reason="there is no promtool (Debian's package prometheus has it)")
@pytest.mark.parametrize("command", [("check", "rules", "rules.yaml"), ("test", "rules", "rules.test.yaml")])
def test_promtool_is_content(command: tuple[str, ...]) -> None:
    done = subprocess.run([str(_promtool()), *command], cwd=RULES.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rules_and_dashboards_are_shipped_when_asked_for() -> None:
    rendered = render({"metrics": {"prometheusRule": {"enabled": True}, "dashboards": {"enabled": True}}})
    assert rendered.one("PrometheusRule", "")["spec"] == yaml.safe_load(RULES.read_text())
    for file in DASHBOARDS:
        shipped = rendered.one("ConfigMap", f"dashboard-{file.stem}")
        assert shipped["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert json.loads(shipped["data"][file.name]) == json.loads(file.read_text())


def test_a_service_monitor_finds_every_process() -> None:
    rendered = render({"metrics": {"serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}}}})
    monitor = rendered.one("ServiceMonitor", "")
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    assert monitor["spec"]["endpoints"][0]["port"] == "metrics"
    # Rules tell releases of one namespace apart by it.
    assert {"targetLabel": "release", "replacement": RELEASE} in monitor["spec"]["endpoints"][0]["relabelings"]
    scraped = [
        service["metadata"]["labels"]["app.kubernetes.io/component"]
        for service in rendered.all("Service")
        if any(port["name"] == "metrics" for port in service["spec"]["ports"])
    ]
    assert sorted(scraped) == ["broker", "controller", "group-coordinator", "metadata"]


def test_pods_say_where_their_metrics_are() -> None:
    for kind, name, port in (("StatefulSet", "broker", "9290"), ("Deployment", "metadata", "8080")):
        annotations = render().one(kind, name)["spec"]["template"]["metadata"]["annotations"]
        assert annotations["prometheus.io/scrape"] == "true"
        assert annotations["prometheus.io/port"] == port
