"""The process's metrics: one Prometheus registry, the usual process figures, and how late the event loop runs."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from tidelog.runtime.exposition import exposition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidelog.runtime.clock import Clock
    from tidelog.runtime.timers import TimerHandle, Timers

# Every Prometheus since 1.0 reads this version of the text format.
CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4

# From a fifth of a millisecond, which a busy but healthy loop shows, to the seconds of a stalled one.
LATENCY_BUCKETS_SECONDS = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

LOOP_PROBE_INTERVAL_MS = 250.0

# A `_created` series beside every counter and histogram would double the exposition, and nothing here reads it.
prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics:
    """Creates and renders the metrics of one process; every name is declared once, by the code that counts."""

    def __init__(self, role: str, release: str | None = None) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        prometheus_client.ProcessCollector(registry=self.registry)
        prometheus_client.PlatformCollector(registry=self.registry)
        prometheus_client.GCCollector(registry=self.registry)
        build = self.gauge("tidelog_build_info", "What is running: always 1.", ("role", "version"))
        build.labels(role, release or installed_version()).set(1)

    def counter(self, name: str, doc: str, labels: Sequence[str] = ()) -> Counter:
        return Counter(name, doc, labels, registry=self.registry)

    def gauge(self, name: str, doc: str, labels: Sequence[str] = ()) -> Gauge:
        return Gauge(name, doc, labels, registry=self.registry)

    def histogram(
        self, name: str, doc: str, labels: Sequence[str] = (), buckets: Sequence[float] = LATENCY_BUCKETS_SECONDS
    ) -> Histogram:
        return Histogram(name, doc, labels, registry=self.registry, buckets=buckets)

    def render(self) -> bytes:
        """The text exposition, of type CONTENT_TYPE."""
        return exposition(self.registry.collect())


class LoopLag:
    """Measures how late a periodic callback runs: the delay that everything else on the loop suffers too."""

    def __init__(self, metrics: Metrics, clock: Clock, timers: Timers) -> None:
        self._clock = clock
        self._timers = timers
        self._lag = metrics.histogram("tidelog_event_loop_lag_seconds", "How late the event loop runs its callbacks.")
        self._beat_ms = clock.monotonic_ms()
        self._handle: TimerHandle | None = None

    def start(self) -> None:
        self._beat_ms = self._clock.monotonic_ms()
        self._handle = self._timers.after(LOOP_PROBE_INTERVAL_MS, self._beat)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()

    def heartbeat_age_ms(self) -> float:
        """How long ago the loop last ran the periodic callback."""
        return self._clock.monotonic_ms() - self._beat_ms

    def _beat(self) -> None:
        self._lag.observe(max(0.0, self.heartbeat_age_ms() - LOOP_PROBE_INTERVAL_MS) / 1000.0)
        self.start()


def installed_version() -> str:
    """The version of the installed package, or "unknown" when the code runs from a bare source tree."""
    try:
        return version("tidelog")
    except PackageNotFoundError:
        return "unknown"
