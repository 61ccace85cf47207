"""What replication tells Prometheus, under the names that dashboards for Kafka know; counted when it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prometheus_client import Metric

    from tidelog.broker.shell.isr_changes import IsrChanges
    from tidelog.broker.shell.replication import Replication


class ReplicationMetrics(Collector):
    """Reads the plain numbers that replication keeps."""

    def __init__(self, replication: Replication, isr_changes: IsrChanges) -> None:
        self._replication = replication
        self._isr_changes = isr_changes

    def describe(self) -> Iterable[Metric]:
        """Nothing: the names are not taken by anybody else."""
        return ()

    def collect(self) -> Iterator[Metric]:
        changes = self._isr_changes
        yield _counter("replicamanager_isrexpands", "Replicas that came into in-sync sets.", changes.expansions)
        yield _counter("replicamanager_isrshrinks", "Replicas that were taken out of in-sync sets.", changes.shrinks)
        yield _counter(
            "replicamanager_failedisrupdates", "Changes of in-sync sets that were not made.", changes.failures
        )
        yield _gauge("replicafetchermanager_fetchers", "Connections that copy.", self._replication.fetchers)
        yield _gauge(
            "replicafetchermanager_failedpartitionscount",
            "Partitions that are not copied until the controller speaks.",
            self._replication.failed_partitions,
        )


def _counter(name: str, text: str, value: int) -> CounterMetricFamily:
    family = CounterMetricFamily(f"kafka_server_{name}", text)
    family.add_metric([], value)
    return family


def _gauge(name: str, text: str, value: int) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"kafka_server_{name}", text, value=value)
