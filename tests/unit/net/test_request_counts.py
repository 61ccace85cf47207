"""What is counted of requests, and how Prometheus is told."""

from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from tidelog.net.request_counts import ApiCounts, RequestCounts
from tidelog.net.request_metrics import RequestMetrics, quantile
from tidelog.net.served import RequestContext
from tidelog.runtime.clock import ManualClock
from tidelog.runtime.metrics import Metrics

MS = 1_000_000


def answer(
    counts: ApiCounts,
    *,
    queue: int = 0,
    local: int = 1,
    remote: int = 0,
    answer_queue: int = 0,
    send: int = 1,
    throttle_ms: int = 0,
    version: int = 9,
) -> None:
    """One request whose phases took so many milliseconds."""
    nobody: Any = None
    request = RequestContext(nobody, 0, version, 1, None, counts, size=100, received_ns=50, answer_size=30)
    request.started_ns = request.received_ns + queue * MS
    parked_ns = request.started_ns + local * MS
    request.deferred_ns = parked_ns if remote else 0
    request.ready_ns = parked_ns + remote * MS
    request.passed_on_ns = request.ready_ns + answer_queue * MS
    request.throttle_ms = throttle_ms
    counts.on_answered(request, request.passed_on_ns + send * MS)


class Scraped:
    """What Prometheus reads."""

    def __init__(self) -> None:
        self.counts = RequestCounts()
        self.clock = ManualClock()
        self._metrics = Metrics("test")
        self._metrics.registry.register(RequestMetrics(self.counts, self.clock))

    def value(self, name: str, **labels: str) -> float | None:
        for family in text_string_to_metric_families(self._metrics.render().decode()):
            for sample in family.samples:
                if sample.name == name and sample.labels == labels:
                    return float(sample.value)
        return None


@pytest.fixture
def scraped() -> Scraped:
    return Scraped()


def test_a_request_is_told_by_phase(scraped: Scraped) -> None:
    counts = scraped.counts.of("Produce")
    answer(counts, queue=1, local=2, remote=40, answer_queue=3, send=4, throttle_ms=500)
    names = {
        "totaltimems": 50,
        "requestqueuetimems": 1,
        "localtimems": 2,
        "remotetimems": 40,
        "responsequeuetimems": 3,
        "responsesendtimems": 4,
        "throttletimems": 500,
    }
    for name, took_ms in names.items():
        prefix = f"kafka_network_requestmetrics_{name}"
        assert scraped.value(f"{prefix}_sum", request="Produce") == pytest.approx(took_ms), name
        assert scraped.value(f"{prefix}_count", request="Produce") == 1
        median = scraped.value(prefix, request="Produce", quantile="0.5")
        assert median is not None
        assert took_ms / 2 <= median <= took_ms * 2, name
    assert scraped.value("tidelog_request_seconds_sum", request="Produce", phase="remote") == pytest.approx(0.04)


def test_what_took_no_time_counts_as_nothing_and_has_no_histogram(scraped: Scraped) -> None:
    counts = scraped.counts.of("Metadata")
    answer(counts)
    name = "kafka_network_requestmetrics_remotetimems"
    assert scraped.value(f"{name}_count", request="Metadata") == 1
    assert scraped.value(f"{name}_sum", request="Metadata") == 0
    assert scraped.value(name, request="Metadata", quantile="0.999") is None
    assert scraped.value("tidelog_request_seconds_count", request="Metadata", phase="remote") is None
    assert scraped.value("tidelog_request_seconds_count", request="Metadata", phase="total") == 1


def test_the_buckets_of_a_histogram_add_up(scraped: Scraped) -> None:
    counts = scraped.counts.of("Fetch")
    for send in (0, 1, 10, 100, 1000, 100_000):
        answer(counts, local=0, send=send)
    labels = {"request": "Fetch", "phase": "total"}
    bounds = [2**bits / 1e9 for bits in range(14, 35, 2)]
    found = [scraped.value("tidelog_request_seconds_bucket", **labels, le=repr(bound)) for bound in bounds]
    expected = [sum(took_ms / 1000 < bound for took_ms in (0, 1, 10, 100, 1000, 100_000)) for bound in bounds]
    assert found == expected
    assert scraped.value("tidelog_request_seconds_bucket", **labels, le="+Inf") == 6


def test_requests_errors_and_bytes(scraped: Scraped) -> None:
    counts = scraped.counts.of("Produce")
    answer(counts, version=9)
    answer(counts, version=9)
    answer(counts, version=3)
    counts.errors[0] += 2
    counts.errors[6] += 1
    counts.errors[-7] += 1
    requests = "kafka_network_requestmetrics_requests_total"
    assert scraped.value(requests, request="Produce", version="9") == 2
    assert scraped.value(requests, request="Produce", version="3") == 1
    errors = "kafka_network_requestmetrics_errors_total"
    assert scraped.value(errors, request="Produce", error="NONE") == 2
    assert scraped.value(errors, request="Produce", error="NOT_LEADER_OR_FOLLOWER") == 1
    assert scraped.value(errors, request="Produce", error="-7") == 1, "a code that nobody knows keeps its number"
    assert scraped.value("kafka_network_requestmetrics_requestbytes_sum", request="Produce") == 300
    assert scraped.value("tidelog_response_bytes_sum", request="Produce") == 90


def test_kinds_are_told_apart_and_together(scraped: Scraped) -> None:
    fetch = scraped.counts.of("Fetch")
    answer(fetch.kind("FetchConsumer"), remote=10)
    answer(fetch.kind("FetchFollower"), remote=30)
    answer(fetch.kind("FetchFollower"), remote=30)
    fetch.kind("FetchFollower").errors[0] += 2
    count, sum_ms = (f"kafka_network_requestmetrics_remotetimems_{what}" for what in ("count", "sum"))
    assert [scraped.value(count, request=f"Fetch{kind}") for kind in ("Consumer", "Follower", "")] == [1, 2, 3]
    assert [scraped.value(sum_ms, request=f"Fetch{kind}") for kind in ("Consumer", "Follower", "")] == [10, 60, 70]
    assert scraped.value("kafka_network_requestmetrics_errors_total", request="Fetch", error="NONE") == 2


def test_quantiles_are_those_of_the_last_minute_or_two(scraped: Scraped) -> None:
    counts = scraped.counts.of("Produce")

    def median() -> float | None:
        return scraped.value("kafka_network_requestmetrics_totaltimems", request="Produce", quantile="0.5")

    for _ in range(100):
        answer(counts, send=1000)
    assert (median() or 0) > 400
    for _ in range(20):
        scraped.clock.advance(10_000)
        answer(counts, send=1)
        median()
    assert (median() or 1000) < 10, "what was slow is long ago"
    scraped.clock.advance(300_000)
    median()
    scraped.clock.advance(60_000)
    assert median() is None, "nobody has asked for a minute"


def test_apis_that_nobody_asked_have_no_series(scraped: Scraped) -> None:
    scraped.counts.of("DeleteGroups")
    assert b"DeleteGroups" not in Metrics("x").render()
    assert scraped.value("kafka_network_requestmetrics_totaltimems_count", request="DeleteGroups") is None


@pytest.mark.parametrize(
    ("values", "part", "low", "high"),
    [
        ([5], 0.5, 4, 8),
        ([0, 0, 0, 100], 0.5, 0, 0),
        ([0, 0, 0, 100], 0.999, 64, 128),
        ([*range(1, 1001)], 0.5, 450, 550),
        ([*range(1, 1001)], 0.99, 900, 1024),
        ([], 0.5, 0, 0),
    ],
)
def test_quantiles_by_bits(values: list[int], part: float, low: float, high: float) -> None:
    counts = [0] * 64
    for value in values:
        counts[value.bit_length()] += 1
    assert low <= quantile(counts, part) <= high


def test_the_registry_takes_it_beside_others() -> None:
    registry = CollectorRegistry(auto_describe=True)
    registry.register(RequestMetrics(RequestCounts(), ManualClock()))
