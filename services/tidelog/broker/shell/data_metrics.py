"""What the data path tells Prometheus, under the names that dashboards for Kafka know; counted when it is asked."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tidelog.runtime.metric_families import CountedWhenAsked, counter, gauge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client import Metric

    from tidelog.broker.core.fetch_session_cache import FetchSessionCache
    from tidelog.broker.shell.partition import Partition
    from tidelog.broker.shell.partitions import Partitions
    from tidelog.broker.shell.storage import Storage

# By the attribute of Traffic.
_TRAFFIC = {
    "messages_in": counter("kafka_server_brokertopicmetrics_messagesin_total", "Records appended.", ("topic",)),
    "bytes_in": counter("kafka_server_brokertopicmetrics_bytesin_total", "Bytes produced by clients.", ("topic",)),
    "bytes_out": counter("kafka_server_brokertopicmetrics_bytesout_total", "Bytes fetched by consumers.", ("topic",)),
    "replication_bytes_in": counter(
        "kafka_server_brokertopicmetrics_replicationbytesin_total", "Bytes copied from leaders.", ("topic",)
    ),
    "replication_bytes_out": counter(
        "kafka_server_brokertopicmetrics_replicationbytesout_total", "Bytes copied by followers.", ("topic",)
    ),
    "failed_produces": counter(
        "kafka_server_brokertopicmetrics_failedproducerequests_total",
        "Partitions of produce requests that were refused.",
        ("topic",),
    ),
    "failed_fetches": counter(
        "kafka_server_brokertopicmetrics_failedfetchrequests_total",
        "Partitions of fetch requests that were refused.",
        ("topic",),
    ),
}
_TRUNCATIONS = counter(
    "tidelog_replica_truncations_total",
    "Times that a follower cut its log back to agree with its leader's, by cause.",
    ("topic", "why"),
)
_NO_TOPIC = ""

_HOSTED = gauge("kafka_server_replicamanager_partitioncount", "Partitions that this broker hosts.")
_LED = gauge("kafka_server_replicamanager_leadercount", "Partitions that this broker leads.")
_UNDER_REPLICATED = gauge(
    "kafka_server_replicamanager_underreplicatedpartitions", "Partitions led here that lack a replica in sync."
)
_UNDER_MIN_ISR = gauge(
    "kafka_server_replicamanager_underminisrpartitioncount", "Partitions led here that take no writes with acks=all."
)
_AT_MIN_ISR = gauge(
    "kafka_server_replicamanager_atminisrpartitioncount", "Partitions led here that cannot do with one replica less."
)
_OFFLINE = gauge(
    "kafka_server_replicamanager_offlinereplicacount", "Partitions hosted here whose log directory failed."
)

_OFFLINE_DIRS = gauge("kafka_log_logmanager_offlinelogdirectorycount", "Log directories that failed.")
_DISK_FREE = gauge("tidelog_log_directory_free_bytes", "Bytes free on a log directory's disk.", ("directory",))
_DISK_SIZE = gauge("tidelog_log_directory_size_bytes", "Bytes that a log directory's disk can hold.", ("directory",))
_LOG_SIZE = gauge("kafka_log_log_size", "Bytes of the log.", ("topic", "partition"))
_LOG_START = gauge("kafka_log_log_logstartoffset", "The first offset of the log.", ("topic", "partition"))
_LOG_END = gauge("kafka_log_log_logendoffset", "The offset after the last one.", ("topic", "partition"))
_LOG_SEGMENTS = gauge("kafka_log_log_numlogsegments", "Segments of the log.", ("topic", "partition"))

_WATCHED = gauge("kafka_server_delayedoperationpurgatory_purgatorysize", "Entries under keys.", ("delayedOperation",))
_PENDING = gauge(
    "kafka_server_delayedoperationpurgatory_numdelayedoperations", "Requests that wait.", ("delayedOperation",)
)
_SESSIONS = gauge("kafka_server_fetchsessioncache_numincrementalfetchsessions", "Fetch sessions.")
_SESSION_PARTITIONS = gauge(
    "kafka_server_fetchsessioncache_numincrementalfetchpartitionscached", "Partitions in fetch sessions."
)
_EVICTIONS = counter(
    "kafka_server_fetchsessioncache_incrementalfetchsessionevictions_total", "Fetch sessions that gave way to others."
)


class DataMetrics(CountedWhenAsked):
    """Reads the plain numbers that the data path keeps."""

    def __init__(self, partitions: Partitions, storage: Storage, sessions: FetchSessionCache) -> None:
        self._partitions = partitions
        self._storage = storage
        self._sessions = sessions

    def collect(self) -> Iterator[Metric]:
        yield from self._traffic()
        yield from self._replicas()
        yield from self._disks()
        yield from self._logs()
        yield from self._waiting()

    def _traffic(self) -> Iterator[Metric]:
        traffic = self._partitions.traffic
        named = [*traffic.topics.items(), (_NO_TOPIC, traffic.unknown)]
        for attribute, family in _TRAFFIC.items():
            yield family.by(((topic,), getattr(counts, attribute)) for topic, counts in named)
        yield _TRUNCATIONS.by(
            ((topic, why), count) for topic, counts in named for why, count in counts.truncations.items()
        )

    def _replicas(self) -> Iterator[Metric]:
        hosted = list(self._partitions)
        led = [partition.leader for partition in hosted if partition.leader is not None]
        yield _HOSTED.of(len(hosted))
        yield _LED.of(len(led))
        yield _UNDER_REPLICATED.of(sum(len(leader.isr) < len(leader.replicas) for leader in led))
        yield _UNDER_MIN_ISR.of(sum(leader.is_under_min_isr for leader in led))
        yield _AT_MIN_ISR.of(sum(leader.is_at_min_isr for leader in led))
        yield _OFFLINE.of(sum(partition.log.is_offline for partition in hosted))

    def _disks(self) -> Iterator[Metric]:
        directories = self._storage.store.dirs
        yield _OFFLINE_DIRS.of(sum(directory.is_offline for directory in directories))
        usages = [((each.path,), usage) for each in directories if (usage := _disk_usage(each.path)) is not None]
        yield _DISK_FREE.by((labels, free) for labels, (free, _) in usages)
        yield _DISK_SIZE.by((labels, total) for labels, (_, total) in usages)

    def _logs(self) -> Iterator[Metric]:
        logs = [(_labels(partition), partition.log) for partition in self._partitions]
        yield _LOG_SIZE.by((labels, log.size) for labels, log in logs)
        yield _LOG_START.by((labels, log.log_start_offset) for labels, log in logs)
        yield _LOG_END.by((labels, log.log_end_offset) for labels, log in logs)
        yield _LOG_SEGMENTS.by((labels, len(log.segments)) for labels, log in logs)

    def _waiting(self) -> Iterator[Metric]:
        waiting = self._partitions.waiting
        kinds = {"Produce": waiting.produce, "Fetch": waiting.fetch, "DeleteRecords": waiting.delete_records}
        yield _WATCHED.by(((kind,), purgatory.watched) for kind, purgatory in kinds.items())
        yield _PENDING.by(((kind,), purgatory.pending) for kind, purgatory in kinds.items())
        yield _SESSIONS.of(len(self._sessions))
        yield _SESSION_PARTITIONS.of(self._sessions.partitions)
        yield _EVICTIONS.of(self._sessions.evictions)


def _disk_usage(path: str) -> tuple[int, int] | None:
    """Bytes free and bytes in all; None for a directory that is gone or unreadable: that has a metric of its own."""
    try:
        usage = shutil.disk_usage(path)
    except OSError:
        return None
    return usage.free, usage.total


def _labels(partition: Partition) -> tuple[str, str]:
    return partition.name.topic, str(partition.name.partition)
