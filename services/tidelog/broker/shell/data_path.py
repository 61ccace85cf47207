"""The data path of a broker put together: what lies between its listeners and its disks."""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tidelog.broker.core.fetch_session_cache import FetchSessionCache
from tidelog.broker.shell.cold_reads import ColdReads
from tidelog.broker.shell.controller_requests import ControllerRequests
from tidelog.broker.shell.data_metrics import DataMetrics
from tidelog.broker.shell.deleting import Deleting
from tidelog.broker.shell.departures import Departures
from tidelog.broker.shell.fetching import Fetching
from tidelog.broker.shell.isr_changes import IsrChanges
from tidelog.broker.shell.log_dir_events import announce_failed_dir
from tidelog.broker.shell.log_dir_moves import LogDirMoves
from tidelog.broker.shell.partitions import Partitions
from tidelog.broker.shell.producing import Producing
from tidelog.broker.shell.replication import Replication
from tidelog.broker.shell.replication_metrics import ReplicationMetrics
from tidelog.broker.shell.replication_quotas import ReplicationQuotas
from tidelog.broker.shell.storage import Storage
from tidelog.broker.shell.traffic import TrafficByTopic
from tidelog.broker.shell.transactional_producing import TransactionalProducing
from tidelog.broker.shell.verifying import Verifying
from tidelog.broker.shell.waiting import Waiting
from tidelog.broker.wire import (
    alter_replica_log_dirs,
    delete_records,
    describe_log_dirs,
    describe_producers,
    fetch,
    init_producer_id,
    list_offsets,
    offset_for_leader_epoch,
    produce,
    write_txn_markers,
)
from tidelog.runtime.producer_ids import ProducerIds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tidelog.broker.shell.client_throttling import ClientThrottling
    from tidelog.broker.shell.config_store import ConfigStore
    from tidelog.broker.shell.relay import Relay
    from tidelog.kafka.configs.broker import BrokerConfig
    from tidelog.net.served import Served
    from tidelog.runtime.background import Background
    from tidelog.runtime.cluster_mirror import ClusterMirror
    from tidelog.runtime.process import Process
    from tidelog.runtime.producer_ids import AllocateBlock
    from tidelog.zk.session import ZkSession

_SESSION_ID_MAX = 2**31 - 1


class DataPath:
    """Partitions, and the requests that concern them. It serves once `open` is done; before that there are none."""

    def __init__(
        self,
        config: BrokerConfig,
        process: Process,
        mirror: ClusterMirror,
        configs: ConfigStore,
        own_epoch: Callable[[], int | None],
        allocate_producer_ids: AllocateBlock,
        session: ZkSession,
    ) -> None:
        clock = process.clock
        self._config = config
        self._process = process
        self._live = configs.live
        self.storage = Storage(config, process, configs.live)
        self.isr_changes = IsrChanges(session, clock)
        quotas = ReplicationQuotas(config, configs)
        self.replication = Replication(
            config, process, mirror.view, self.storage.store, self.isr_changes, quotas, own_epoch
        )
        self.waiting = Waiting(process.timers, clock, asyncio.get_running_loop().call_soon)
        self.partitions = Partitions(
            config,
            mirror.view,
            clock,
            self.storage,
            configs.live,
            TrafficByTopic(),
            self.waiting,
            self.replication,
        )
        self.moves = LogDirMoves(config, configs, self.storage, self.partitions, clock, process.spawn)
        self.sessions = FetchSessionCache(config.max_incremental_fetch_session_cache_slots, _session_id)
        self.producing = Producing(self.partitions, clock)
        self._cold_reads = ColdReads()
        self.fetching = Fetching(
            self.partitions, self.sessions, clock, config.fetch_max_bytes, quotas.leader, self._cold_reads
        )
        self.deleting = Deleting(self.partitions)
        self.producer_ids = ProducerIds(allocate_producer_ids, process.spawn)
        self.departures = Departures(mirror.view, self.replication.lost_leaders, process.timers)
        self.controller_requests = ControllerRequests(
            self.partitions, mirror, own_epoch, configs.load_topic, lambda: self.storage.is_open, self.departures
        )
        self._session = session
        self.storage.on_dir_failed = self._on_dir_failed
        configs.on_topic_changed(self.partitions.on_config_changed)
        process.registry.register(DataMetrics(self.partitions, self.storage, self.sessions))
        process.registry.register(ReplicationMetrics(self.replication, self.isr_changes, self.controller_requests))

    def served(self, throttling: ClientThrottling, relay: Relay) -> list[Served]:
        """The APIs of the Kafka wire that are answered from here."""
        partitions, view = self.partitions, self.partitions.view
        verifying = Verifying(relay, self._live, self._process.spawn, asyncio.get_running_loop().call_soon)
        transactional = TransactionalProducing(self.producing, verifying)
        return [
            produce.served(self.producing, transactional, view, throttling),
            fetch.served(self.fetching, view, self._config, throttling),
            list_offsets.served(partitions),
            offset_for_leader_epoch.served(partitions),
            init_producer_id.served(self.producer_ids, relay),
            write_txn_markers.served(self.producing, self._config.request_timeout_ms),
            delete_records.served(self.deleting),
            alter_replica_log_dirs.served(self.moves),
            describe_log_dirs.served(self.storage.store),
            describe_producers.served(partitions),
        ]

    def _on_dir_failed(self) -> None:
        self.moves.on_dir_failed()
        self.waiting.on_all_changed()
        announcement = announce_failed_dir(self._session, self.partitions.broker_id)
        self._process.spawn(announcement, "log directory event")

    @asynccontextmanager
    async def closed_in_the_end(self) -> AsyncIterator[None]:
        """Whatever is served is served within: afterwards the logs are closed in good order."""
        try:
            yield
        finally:
            self._cold_reads.close()
            await self.storage.close()

    @asynccontextmanager
    async def opened(self, cluster_id: str, tasks: Background) -> AsyncIterator[None]:
        """Partitions are hosted within. In the end those who wait are told to ask elsewhere."""
        await self.storage.open(cluster_id)
        self.storage.look_after(tasks, self.partitions.flush_due)
        lag_check = self._process.timers.every(
            max(self._config.replica_lag_time_max_ms / 2, 1), self.partitions.check_lag
        )
        tasks.spawn(self.isr_changes.write_proposals(), "isr changes")
        tasks.spawn(self.isr_changes.announce(), "isr announcements")
        try:
            yield
        finally:
            lag_check.cancel()
            await self.moves.close()
            self.partitions.end_all()
            await self.replication.close()


def _session_id() -> int:
    return random.randint(1, _SESSION_ID_MAX)  # noqa: S311  a number that two readers do not share by mistake
