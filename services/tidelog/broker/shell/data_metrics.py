"""What the data path tells Prometheus, under the names that dashboards for Kafka know; counted when it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prometheus_client import Metric

    from tidelog.broker.core.fetch_session_cache import FetchSessionCache
    from tidelog.broker.shell.partition import Partition
    from tidelog.broker.shell.partitions import Partitions
    from tidelog.broker.shell.storage import Storage

_TOPIC_COUNTERS = {
    "messages_in": ("messagesin", "Records appended."),
    "bytes_in": ("bytesin", "Bytes produced by clients."),
    "bytes_out": ("bytesout", "Bytes fetched by consumers."),
    "replication_bytes_in": ("replicationbytesin", "Bytes copied from leaders."),
    "replication_bytes_out": ("replicationbytesout", "Bytes copied by followers."),
    "failed_produces": ("failedproducerequests", "Partitions of produce requests that were refused."),
    "failed_fetches": ("failedfetchrequests", "Partitions of fetch requests that were refused."),
}
_NO_TOPIC = ""


class DataMetrics(Collector):
    """Reads the plain numbers that the data path keeps."""

    def __init__(self, partitions: Partitions, storage: Storage, sessions: FetchSessionCache) -> None:
        self._partitions = partitions
        self._storage = storage
        self._sessions = sessions

    def describe(self) -> Iterable[Metric]:
        """Nothing: the names are not taken by anybody else, and asking for values at start-up would be in vain."""
        return ()

    def collect(self) -> Iterator[Metric]:
        yield from self._traffic()
        yield from self._replicas()
        yield from self._logs()
        yield from self._waiting()

    def _traffic(self) -> Iterator[Metric]:
        traffic = self._partitions.traffic
        for attribute, (name, text) in _TOPIC_COUNTERS.items():
            family = CounterMetricFamily(f"kafka_server_brokertopicmetrics_{name}", text, labels=["topic"])
            for topic, counts in traffic.topics.items():
                family.add_metric([topic], getattr(counts, attribute))
            family.add_metric([_NO_TOPIC], getattr(traffic.unknown, attribute))
            yield family

    def _replicas(self) -> Iterator[Metric]:
        hosted = list(self._partitions)
        led = [partition.leader for partition in hosted if partition.leader is not None]
        prefix = "kafka_server_replicamanager"
        yield _gauge(f"{prefix}_partitioncount", "Partitions that this broker hosts.", len(hosted))
        yield _gauge(f"{prefix}_leadercount", "Partitions that this broker leads.", len(led))
        yield _gauge(
            f"{prefix}_underreplicatedpartitions",
            "Partitions led here that lack a replica in sync.",
            sum(len(leader.isr) < len(leader.replicas) for leader in led),
        )
        yield _gauge(
            f"{prefix}_underminisrpartitioncount",
            "Partitions led here that take no writes with acks=all.",
            sum(leader.is_under_min_isr for leader in led),
        )
        yield _gauge(
            f"{prefix}_atminisrpartitioncount",
            "Partitions led here that cannot do with one replica less.",
            sum(leader.is_at_min_isr for leader in led),
        )
        yield _gauge(
            f"{prefix}_offlinereplicacount",
            "Partitions hosted here whose log directory failed.",
            sum(partition.log.is_offline for partition in hosted),
        )

    def _logs(self) -> Iterator[Metric]:
        offline = sum(directory.is_offline for directory in self._storage.store.dirs)
        yield _gauge("kafka_log_logmanager_offlinelogdirectorycount", "Log directories that failed.", offline)
        labels = ["topic", "partition"]
        size = GaugeMetricFamily("kafka_log_log_size", "Bytes of the log.", labels=labels)
        start = GaugeMetricFamily("kafka_log_log_logstartoffset", "The first offset of the log.", labels=labels)
        end = GaugeMetricFamily("kafka_log_log_logendoffset", "The offset after the last one.", labels=labels)
        segments = GaugeMetricFamily("kafka_log_log_numlogsegments", "Segments of the log.", labels=labels)
        for partition in self._partitions:
            values = _labels(partition)
            size.add_metric(values, partition.log.size)
            start.add_metric(values, partition.log.log_start_offset)
            end.add_metric(values, partition.log.log_end_offset)
            segments.add_metric(values, len(partition.log.segments))
        yield from (size, start, end, segments)

    def _waiting(self) -> Iterator[Metric]:
        waiting = self._partitions.waiting
        kinds = {"Produce": waiting.produce, "Fetch": waiting.fetch, "DeleteRecords": waiting.delete_records}
        prefix = "kafka_server_delayedoperationpurgatory"
        size = GaugeMetricFamily(f"{prefix}_purgatorysize", "Entries under keys.", labels=["delayedOperation"])
        pending = GaugeMetricFamily(
            f"{prefix}_numdelayedoperations", "Requests that wait.", labels=["delayedOperation"]
        )
        for kind, purgatory in kinds.items():
            size.add_metric([kind], purgatory.watched)
            pending.add_metric([kind], purgatory.pending)
        yield from (size, pending)
        prefix = "kafka_server_fetchsessioncache"
        yield _gauge(f"{prefix}_numincrementalfetchsessions", "Fetch sessions.", len(self._sessions))
        yield _gauge(
            f"{prefix}_numincrementalfetchpartitionscached", "Partitions in fetch sessions.", self._sessions.partitions
        )
        evictions = CounterMetricFamily(
            f"{prefix}_incrementalfetchsessionevictions", "Fetch sessions that gave way to others."
        )
        evictions.add_metric([], self._sessions.evictions)
        yield evictions


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=value)


def _labels(partition: Partition) -> list[str]:
    return [partition.name.topic, str(partition.name.partition)]
