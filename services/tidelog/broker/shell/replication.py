"""Replication: which fetcher copies which partition, and what the leaders here write about who is in sync."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tidelog.broker.core.partition_follower import FollowerState, fetcher_id
from tidelog.broker.shell.copying import Copy
from tidelog.broker.shell.fetcher_settings import FetcherSettings
from tidelog.broker.shell.leader_fetcher import LeaderFetcher
from tidelog.broker.wire.follower_fetch import FollowerIdentity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tidelog.broker.log.log_store import LogStore
    from tidelog.broker.shell.isr_changes import IsrChanges
    from tidelog.broker.shell.partition import Partition
    from tidelog.broker.shell.replication_quotas import ReplicationQuotas
    from tidelog.kafka.cluster import ClusterView
    from tidelog.kafka.configs.broker import BrokerConfig
    from tidelog.kafka.types import BrokerId, Endpoint
    from tidelog.runtime.process import Process

# Longer than any order of events within one word of the controller: fetchers that no partition needs are ended.
_IDLE_CHECK_MS = 5_000


class Replication:
    """Fetchers by leader and number, each with its share of the partitions that are followed."""

    def __init__(
        self,
        config: BrokerConfig,
        process: Process,
        view: ClusterView,
        store: LogStore,
        isr_changes: IsrChanges,
        quotas: ReplicationQuotas,
        own_epoch: Callable[[], int | None],
    ) -> None:
        self.isr_changes = isr_changes
        self._config = config
        self._quotas = quotas
        self._is_stopping = False
        self._clock = process.clock
        self._store = store
        self._view = view
        self._fetchers: dict[tuple[BrokerId, int], LeaderFetcher] = {}
        self._fetcher_of: dict[Partition, LeaderFetcher] = {}
        identity = FollowerIdentity(
            f"broker-{config.broker_id}-fetcher".encode(),
            config.broker_id,
            config.replica_fetch_wait_max_ms,
            config.replica_fetch_min_bytes,
            config.replica_fetch_response_max_bytes,
        )
        self._settings = FetcherSettings(
            identity,
            config.replica_socket_timeout_ms,
            config.replica_fetch_backoff_ms,
            lambda: own_epoch() or -1,
            self._endpoint_of,
            quotas.follower,
            process.clock,
            process.timers,
            process.spawn,
        )
        self._idle_check = process.timers.every(_IDLE_CHECK_MS, self._end_idle)

    def follow_nothing_new(self) -> None:
        """The broker stops. Were it to copy what it leads no more, it would come into in-sync sets that it is to leave."""
        self._is_stopping = True

    # ---- what partitions tell

    def on_follows(self, partition: Partition) -> None:
        follower = partition.follower
        assert follower is not None, "a partition that follows has a follower"
        if self._is_stopping:
            return
        name = partition.name
        key = (follower.leader_id, fetcher_id(name.topic, name.partition, self._config.num_replica_fetchers))
        fetcher = self._fetchers.get(key)
        if fetcher is None:
            fetcher = self._fetchers[key] = LeaderFetcher(follower.leader_id, self._settings)
        self._fetcher_of[partition] = fetcher
        fetcher.add(Copy(partition, follower, self._config.replica_fetch_max_bytes, self._store, self._clock))

    def on_hosted(self, topic: str) -> None:
        self._quotas.on_hosted(topic)

    def on_stops(self, partition: Partition) -> None:
        fetcher = self._fetcher_of.pop(partition, None)
        if fetcher is not None:
            fetcher.remove((partition.topic_id.bytes, partition.name.partition))

    def on_flushed(self, partition: Partition) -> None:
        fetcher = self._fetcher_of.get(partition)
        if fetcher is not None:
            fetcher.on_flushed((partition.topic_id.bytes, partition.name.partition))

    def on_isr_proposed(self, partition: Partition) -> None:
        self.isr_changes.on_isr_proposed(partition)

    def lost_leaders(self) -> frozenset[int]:
        """Leaders that closed their connections and refuse new ones; the controller is about to name others."""
        return frozenset(fetcher.leader_id for fetcher in self._fetchers.values() if fetcher.has_lost_leader)

    # ---- for metrics

    @property
    def fetchers(self) -> int:
        return len(self._fetchers)

    @property
    def failed_partitions(self) -> int:
        return sum(copy.follower.state is FollowerState.FAILED for copy in self._copies())

    def _copies(self) -> Iterator[Copy]:
        for fetcher in self._fetchers.values():
            yield from fetcher.copies

    # ---- inside

    async def close(self) -> None:
        self._idle_check.cancel()
        fetchers, self._fetchers = list(self._fetchers.values()), {}
        await asyncio.gather(*(fetcher.close() for fetcher in fetchers))

    def _endpoint_of(self, broker_id: BrokerId) -> Endpoint | None:
        member = self._view.brokers.get(broker_id)
        return None if member is None else member.endpoint(self._config.inter_broker_listener)

    def _end_idle(self) -> None:
        for key, fetcher in list(self._fetchers.items()):
            if not len(fetcher):
                del self._fetchers[key]
                fetcher.end()
