"""What a coordinator shows of its groups and transactions, and how long its shards take to load."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tidelog.group_coordinator.core.groups.effects import RebalancePhase
from tidelog.group_coordinator.core.groups.states import GroupState
from tidelog.group_coordinator.core.transactions.states import TransactionState
from tidelog.runtime import logs
from tidelog.runtime.metric_families import CountedWhenAsked, gauge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.core import Metric

    from tidelog.group_coordinator.core.groups.effects import Effects
    from tidelog.group_coordinator.shell.lag_watch import LagWatch
    from tidelog.group_coordinator.shell.shard import Shard
    from tidelog.group_coordinator.shell.shards import Shards
    from tidelog.runtime.metrics import Metrics

# A rebalance waits for members: from a round trip to the five minutes that clients give themselves between two polls.
_REBALANCE_BUCKETS_S = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
_LOAD_BUCKETS_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

_GROUPS = gauge("kafka_coordinator_group_groups", "Groups of the shards of this process, by state.", ("state",))
_TRANSACTIONS = gauge(
    "kafka_coordinator_transaction_ids", "Transactional ids of the shards of this process, by state.", ("state",)
)
_SHARDS = gauge(
    "tidelog_shards", "Shards that this process owns, by what they hold and their phase.", ("holds", "phase")
)
_LOAD = gauge(
    "tidelog_shard_last_load_seconds", "How long the last load of a shard took, with its fence.", ("topic", "partition")
)
_MEMBERS = gauge("kafka_consumergroup_members", "Members of the group.", ("consumergroup",))
_OFFSETS = gauge("kafka_consumergroup_current_offset", "Committed offset.", ("consumergroup", "topic", "partition"))
_LAG = gauge("kafka_consumergroup_lag", "Messages behind the high watermark.", ("consumergroup", "topic", "partition"))
_LAG_SECONDS = gauge(
    "kafka_consumergroup_lag_seconds",
    "Time since what comes next was written, estimated.",
    ("consumergroup", "topic", "partition"),
)
_LAG_SUM = gauge(
    "kafka_consumergroup_lag_sum", "Messages behind, of all partitions of a topic.", ("consumergroup", "topic")
)

_logger = logs.get("groups")


class CoordinatorMetrics:
    def __init__(self, metrics: Metrics, shards: Shards, lag_watch: LagWatch) -> None:
        self._rebalances = metrics.counter(
            "tidelog_group_rebalances_total", "Rebalances that began, by their cause.", ["cause"]
        )
        rebalance_time = metrics.histogram(
            "tidelog_group_rebalance_seconds",
            "How long phases of rebalances took: until all members had joined, then until the assignment was stored.",
            ["phase"],
            buckets=_REBALANCE_BUCKETS_S,
        )
        self._rebalance_time = {phase: rebalance_time.labels(phase=phase.value) for phase in RebalancePhase}
        self._commits = metrics.counter("tidelog_group_offset_commits_total", "Offsets that groups have committed.")
        self._loads = metrics.histogram(
            "tidelog_shard_load_seconds",
            "How long it took to fence and load a shard, by what it holds.",
            ["holds"],
            buckets=_LOAD_BUCKETS_S,
        )
        metrics.registry.register(_ShardCollector(shards))
        metrics.registry.register(_LagCollector(lag_watch))

    def note(self, effects: Effects) -> None:
        for rebalance in effects.rebalances:
            self._rebalances.labels(cause=rebalance.cause.value).inc()
            _logger.info("rebalance", group=rebalance.group_id, cause=rebalance.cause.value)
        for over in effects.phases:
            self._rebalance_time[over.phase].observe(over.took_ms / 1000)
        if effects.offsets_committed:
            self._commits.inc(effects.offsets_committed)

    def on_loaded(self, holds: str, took_ms: float) -> None:
        self._loads.labels(holds=holds).observe(took_ms / 1000)


class _ShardCollector(CountedWhenAsked):
    """Counts when it is asked: groups and transactions change all the time, scrapes come every few seconds."""

    def __init__(self, shards: Shards) -> None:
        self._shards = shards

    def collect(self) -> Iterator[Metric]:
        yield self._groups()
        yield self._transactions()
        yield self._by_phase()
        yield self._load_times()
        yield self._members()

    def _groups(self) -> Metric:
        counts: Counter[GroupState] = Counter()
        for shard in self._shards.groups.values():
            if shard.content is not None:
                counts.update(shard.content.core.count_by_state())
        return _GROUPS.by(((state.value,), counts[state]) for state in GroupState)

    def _transactions(self) -> Metric:
        counts: Counter[TransactionState] = Counter()
        for shard in self._shards.transactions.values():
            if shard.content is not None:
                counts.update(shard.content.core.counts())
        return _TRANSACTIONS.by(((state.text,), counts[state]) for state in TransactionState)

    def _by_phase(self) -> Metric:
        held = [("groups", shard.phase) for shard in self._shards.groups.values()]
        held += [("transactions", shard.phase) for shard in self._shards.transactions.values()]
        return _SHARDS.by(((holds, phase.value), count) for (holds, phase), count in sorted(Counter(held).items()))

    def _load_times(self) -> Metric:
        held: list[Shard[Any]] = [*self._shards.groups.values(), *self._shards.transactions.values()]
        return _LOAD.by(
            ((shard.name.topic, str(shard.name.partition)), shard.load_took_ms / 1000)
            for shard in held
            if shard.load_took_ms is not None
        )

    def _members(self) -> Metric:
        contents = (shard.content for shard in self._shards.groups.values())
        cores = [content.core for content in contents if content is not None]
        return _MEMBERS.by(((group.id,), len(group.members)) for core in cores for group in core.groups())


class _LagCollector(CountedWhenAsked):
    """Under the names that Kafka's usual exporters have made familiar."""

    def __init__(self, watch: LagWatch) -> None:
        self._watch = watch

    def collect(self) -> Iterator[Metric]:
        found = [
            ((group_id, topic, str(index)), offset, lag) for group_id, (topic, index), offset, lag in self._watch.lags()
        ]
        known = [(names, lag) for names, _, lag in found if lag is not None]
        sums: Counter[tuple[str, str]] = Counter()
        for (group_id, topic, _), lag in known:
            sums[group_id, topic] += lag.messages
        yield _OFFSETS.by((names, offset) for names, offset, _ in found)
        yield _LAG.by((names, lag.messages) for names, lag in known)
        yield _LAG_SECONDS.by((names, lag.seconds) for names, lag in known)
        yield _LAG_SUM.by(sums.items())
