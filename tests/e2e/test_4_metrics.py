"""Prometheus scrapes every process, and alerts come and go with what they are made for."""

import json
import re
from collections.abc import Callable

import pytest

from tests.e2e.kube import CHART, FULLNAME, CommandFailedError, Kube, until
from tests.e2e.prometheus import Prometheus

pytestmark = pytest.mark.timeout(900)

PROCESSES = 12


@pytest.fixture(scope="module")
def prometheus(kube: Kube) -> Prometheus:
    kube.wait_until_settled()
    prometheus = Prometheus(kube)
    prometheus.start()
    until(lambda: _answers(prometheus), 60)
    return prometheus


def _answers(prometheus: Prometheus) -> bool:
    try:
        return len(prometheus.query("up")) >= PROCESSES
    except CommandFailedError:
        return False


def test_every_process_is_scraped(prometheus: Prometheus, tell: Callable[[str], None]) -> None:
    until(lambda: prometheus.query("up") == [1.0] * PROCESSES, 60, lambda: f"up: {prometheus.query('up')}")
    assert prometheus.query("sum(kafka_controller_kafkacontroller_activecontrollercount)") == [1.0]
    tell(f"Prometheus: up == 1 for all {PROCESSES} processes, sum of active controllers == 1")


def test_dashboards_find_what_they_ask_for(prometheus: Prometheus, tell: Callable[[str], None]) -> None:
    texts = [json.loads(file.read_text()) for file in sorted((CHART / "dashboards").glob("*.json"))]
    queries = [target["expr"] for each in texts for panel in each["panels"] for target in panel["targets"]]
    asked = {name for query in queries for name in re.findall(r"\b(?:kafka|tidelog|process)_[a-z0-9_]+", query)}
    missing = asked - prometheus.names()
    # A group that never was has no lag.
    assert {name for name in missing if not name.startswith("kafka_consumergroup_")} == set()
    tell(f"dashboards: {len(asked) - len(missing)} of {len(asked)} metrics have series")


def test_an_alert_tells_that_no_controller_is_active(
    kube: Kube, prometheus: Prometheus, tell: Callable[[str], None]
) -> None:
    fired_s, gone_s = _alerts_while_scaled(kube, prometheus, "controller", 0, "TidelogNoActiveController")
    tell(f"TidelogNoActiveController fires {fired_s:.0f} s after the controllers went, is gone {gone_s:.0f} s after")


def test_an_alert_tells_of_missing_replicas(kube: Kube, prometheus: Prometheus, tell: Callable[[str], None]) -> None:
    fired_s, gone_s = _alerts_while_scaled(kube, prometheus, "broker", 2, "TidelogUnderReplicatedPartitions")
    tell(f"TidelogUnderReplicatedPartitions fires {fired_s:.0f} s after a broker went, is gone {gone_s:.0f} s after")


def _alerts_while_scaled(
    kube: Kube, prometheus: Prometheus, component: str, replicas: int, alert: str
) -> tuple[float, float]:
    """How long the alert took to fire with so few pods, and to be gone once all three are wanted again."""
    assert alert not in prometheus.firing()
    workload = f"statefulset/{FULLNAME}-{component}"
    kube.kubectl("scale", workload, f"--replicas={replicas}")
    try:
        fired_s = until(lambda: alert in prometheus.firing(), 240)
    finally:
        kube.kubectl("scale", workload, "--replicas=3")
    gone_s = until(lambda: alert not in prometheus.firing(), 240)
    kube.wait_until_settled()
    return fired_s, gone_s
