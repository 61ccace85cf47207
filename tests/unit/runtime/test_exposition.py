"""The text that Prometheus reads, compared with what the client library writes of the same metrics."""

import math

import pytest
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from tidelog.runtime.exposition import exposition
from tidelog.runtime.metric_families import CountedWhenAsked, Distribution, counter, gauge, histogram, summary
from tidelog.runtime.metrics import Metrics

COUNTER = counter("a_total", 'Of "a" \\ and\nmore.', ("x", "y"))
GAUGE = gauge("b", "Of b.")
HISTOGRAM = histogram("c", "Of c.", ("x",))
SUMMARY = summary("d", "Of d.", ("x",))


class Some(CountedWhenAsked):
    def collect(self) -> list[Metric]:
        places = {0.5: 1, math.inf: 3}
        return [
            COUNTER.by([(('p"q\\r\ns', ""), 1), (("é", "2"), 2**60)]),
            GAUGE.of(-math.inf),
            HISTOGRAM.by([(("v",), Distribution(3, 4.5, places))]),
            SUMMARY.by([(("v",), Distribution(3, 4.5, {0.99: math.nan}))]),
        ]


def read(text: bytes) -> list[tuple[str, str, str, list[str]]]:
    """As Prometheus reads it; NaN is not equal to itself, so values are texts."""
    return [
        (
            found.name,
            found.type,
            found.documentation,
            [f"{s.name} {sorted(s.labels.items())} {s.value}" for s in found.samples],
        )
        for found in text_string_to_metric_families(text.decode())
    ]


@pytest.mark.parametrize("some", [True, False], ids=["declared families", "what every process has"])
def test_it_reads_as_what_the_library_writes(some: bool) -> None:
    registry = Metrics("test").registry
    if some:
        registry = CollectorRegistry()
        registry.register(Some())
    metrics = list(registry.collect())
    frozen = CollectorRegistry(auto_describe=False)
    frozen.collect = lambda: metrics  # type: ignore[method-assign]
    assert read(exposition(metrics)) == read(generate_latest(frozen))
