"""Metrics that are counted when somebody asks: declared once, with name, doc and labels, and filled at every scrape.

    _SIZE = gauge("kafka_log_log_size", "Bytes of the log.", ("topic", "partition"))

    yield _SIZE.by((labels(log), log.size) for log in logs)

The declarations are what docs/metrics.md is made from, so name, doc and labels are written out where they stand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prometheus_client import Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Labels = Sequence[str]


@dataclass(frozen=True, slots=True)
class Distribution:
    """Values as a histogram or summary tells them: how many there were, their sum, and where they lie."""

    count: int
    sum: float
    # Of a histogram: how many are at or below a bound. Of a summary: which value so large a part is at or below.
    places: Mapping[float, float]


@dataclass(frozen=True, slots=True)
class Family:
    """A counter or a gauge."""

    kind: str
    name: str
    doc: str
    labels: tuple[str, ...]

    def of(self, value: float) -> Metric:
        """The one value of a family without labels."""
        return self.by([((), value)])

    def by(self, values: Iterable[tuple[Labels, float]]) -> Metric:
        """A value for each of these labels."""
        metric = Metric(self.name.removesuffix("_total") if self.kind == "counter" else self.name, self.doc, self.kind)
        for labels, value in values:
            metric.add_sample(self.name, dict(zip(self.labels, labels, strict=True)), value)
        return metric


@dataclass(frozen=True, slots=True)
class DistributionFamily:
    """A histogram or a summary."""

    kind: str
    name: str
    doc: str
    labels: tuple[str, ...]

    def by(self, values: Iterable[tuple[Labels, Distribution]]) -> Metric:
        metric = Metric(self.name, self.doc, self.kind)
        place_name, place_label = (f"{self.name}_bucket", "le") if self.kind == "histogram" else (self.name, "quantile")
        for labels, found in values:
            named = dict(zip(self.labels, labels, strict=True))
            for place, value in found.places.items():
                metric.add_sample(place_name, {**named, place_label: _text(place)}, value)
            metric.add_sample(f"{self.name}_count", named, found.count)
            metric.add_sample(f"{self.name}_sum", named, found.sum)
        return metric


def _text(place: float) -> str:
    return "+Inf" if place == math.inf else repr(place)


def counter(name: str, doc: str, labels: Labels = ()) -> Family:
    assert name.endswith("_total"), "that is what a counter is called"
    return Family("counter", name, doc, tuple(labels))


def gauge(name: str, doc: str, labels: Labels = ()) -> Family:
    return Family("gauge", name, doc, tuple(labels))


def histogram(name: str, doc: str, labels: Labels = ()) -> DistributionFamily:
    return DistributionFamily("histogram", name, doc, tuple(labels))


def summary(name: str, doc: str, labels: Labels = ()) -> DistributionFamily:
    return DistributionFamily("summary", name, doc, tuple(labels))


class CountedWhenAsked(Collector):
    """A collector whose names nobody else takes, so that it need not be asked for its values when it is registered."""

    def describe(self) -> Iterable[Metric]:
        return ()
