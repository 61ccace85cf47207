"""Prometheus scrapes every process, and dashboards find what they ask for."""

import json
import re
from collections.abc import Callable

import pytest

from tests.e2e.kube import CHART, RELEASE, CommandFailedError, Kube, until
from tests.e2e.prometheus import Prometheus

pytestmark = pytest.mark.timeout(900)

PROCESSES = 12
_UP = f'up{{release="{RELEASE}"}}'


@pytest.fixture(scope="module")
def prometheus(kube: Kube) -> Prometheus:
    kube.wait_until_settled()
    prometheus = Prometheus(kube)
    prometheus.start()
    until(lambda: _answers(prometheus), 60)
    return prometheus


def _answers(prometheus: Prometheus) -> bool:
    try:
        return len(prometheus.query(_UP)) >= PROCESSES
    except CommandFailedError:
        return False


def test_every_process_is_scraped(prometheus: Prometheus, tell: Callable[[str], None]) -> None:
    until(lambda: prometheus.query(_UP) == [1.0] * PROCESSES, 60, lambda: f"up: {prometheus.query(_UP)}")
    assert prometheus.query('sum(kafka_controller_kafkacontroller_activecontrollercount{release="e2e"})') == [1.0]
    tell(f"Prometheus: up == 1 for all {PROCESSES} processes, sum of active controllers == 1")


def test_dashboards_find_what_they_ask_for(prometheus: Prometheus, tell: Callable[[str], None]) -> None:
    texts = [json.loads(file.read_text()) for file in sorted((CHART / "dashboards").glob("*.json"))]
    queries = [target["expr"] for each in texts for panel in each["panels"] for target in panel["targets"]]
    asked = {name for query in queries for name in re.findall(r"\b(?:kafka|tidelog|process)_[a-z0-9_]+", query)}
    missing = asked - prometheus.names()
    # A group that never was has no lag.
    assert {name for name in missing if not name.startswith("kafka_consumergroup_")} == set()
    tell(f"dashboards: {len(asked) - len(missing)} of {len(asked)} metrics have series")
