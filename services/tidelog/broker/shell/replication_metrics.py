"""What replication tells Prometheus, under the names that dashboards for Kafka know; counted when it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.runtime.metric_families import CountedWhenAsked, counter, gauge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client import Metric

    from tidelog.broker.shell.controller_requests import ControllerRequests
    from tidelog.broker.shell.isr_changes import IsrChanges
    from tidelog.broker.shell.replication import Replication

_EXPANSIONS = counter("kafka_server_replicamanager_isrexpands_total", "Replicas that came into in-sync sets.")
_SHRINKS = counter("kafka_server_replicamanager_isrshrinks_total", "Replicas that were taken out of in-sync sets.")
_FAILURES = counter("kafka_server_replicamanager_failedisrupdates_total", "Changes of in-sync sets that were not made.")
_FETCHERS = gauge("kafka_server_replicafetchermanager_fetchers", "Connections that copy.")
_FAILED_PARTITIONS = gauge(
    "kafka_server_replicafetchermanager_failedpartitionscount",
    "Partitions that are not copied until the controller speaks.",
)
_REFUSALS = counter(
    "tidelog_controller_requests_refused_total",
    "What a controller asked and this broker refused, by code: its epoch, or the partition's, was outdated.",
    ("code",),
)


class ReplicationMetrics(CountedWhenAsked):
    """Reads the plain numbers that replication keeps."""

    def __init__(self, replication: Replication, isr_changes: IsrChanges, requests: ControllerRequests) -> None:
        self._replication = replication
        self._isr_changes = isr_changes
        self._requests = requests

    def collect(self) -> Iterator[Metric]:
        changes = self._isr_changes
        yield _EXPANSIONS.of(changes.expansions)
        yield _SHRINKS.of(changes.shrinks)
        yield _FAILURES.of(changes.failures)
        yield _FETCHERS.of(self._replication.fetchers)
        yield _FAILED_PARTITIONS.of(self._replication.failed_partitions)
        yield _REFUSALS.by(((code.name,), count) for code, count in self._requests.refusals.items())
