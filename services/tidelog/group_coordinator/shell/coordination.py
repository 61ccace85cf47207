"""The parts of a coordinator put together: what lies between its listener and the logs of its shards."""

from __future__ import annotations

import asyncio
import uuid
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from tidelog.group_coordinator.core.groups.limits import GroupLimits
from tidelog.group_coordinator.core.groups.shard import GroupShard
from tidelog.group_coordinator.core.transactions.shard import TransactionLimits, TransactionShard
from tidelog.group_coordinator.shell import verify_partitions, write_txn_markers
from tidelog.group_coordinator.shell.envelopes import Envelopes
from tidelog.group_coordinator.shell.group_content import GroupContent
from tidelog.group_coordinator.shell.group_desk import GroupDesk
from tidelog.group_coordinator.shell.lag_watch import LagWatch
from tidelog.group_coordinator.shell.marker_sender import MarkerSender
from tidelog.group_coordinator.shell.metrics import CoordinatorMetrics
from tidelog.group_coordinator.shell.peers import Peers
from tidelog.group_coordinator.shell.shard import Shard
from tidelog.group_coordinator.shell.shard_log import ShardLog
from tidelog.group_coordinator.shell.shards import Shards
from tidelog.group_coordinator.shell.transaction_content import TransactionContent
from tidelog.group_coordinator.shell.transaction_desk import TransactionDesk
from tidelog.group_coordinator.shell.verification import Verification
from tidelog.kafka.records.compression import Codec
from tidelog.kafka.types import ProducerId
from tidelog.runtime.clock import SteadyClock
from tidelog.runtime.producer_ids import ProducerIds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tidelog.kafka.configs.group_coordinator import GroupCoordinatorConfig
    from tidelog.kafka.types import TopicPartition
    from tidelog.net.served import Served
    from tidelog.runtime.background import Background
    from tidelog.runtime.cluster_mirror import ClusterMirror
    from tidelog.runtime.process import Process
    from tidelog.runtime.producer_ids import AllocateBlock


class Coordination:
    def __init__(
        self,
        config: GroupCoordinatorConfig,
        process: Process,
        mirror: ClusterMirror,
        allocate_producer_ids: AllocateBlock,
        is_in_doubt: Callable[[], bool],
    ) -> None:
        self._config = config
        self._process = process
        self._mirror = mirror
        self._clock = SteadyClock(process.clock)
        client_id = f"coordinator-{config.coordinator_id}"
        # Appends and markers each have connections of their own: one that is given up must not take the other along.
        self._log_peers = Peers(mirror.view, client_id, config.inter_broker_listener_name)
        self._marker_peers = Peers(mirror.view, f"{client_id}-markers", config.inter_broker_listener_name)
        self._markers = MarkerSender(self._marker_peers, process.spawn, timeout_ms=config.request_timeout_ms)
        self._producer_ids = ProducerIds(allocate_producer_ids, process.spawn)
        self.shards = Shards(config.coordinator_id, mirror, self._open_groups, self._open_transactions)
        self.lag_watch = LagWatch(
            self.shards,
            mirror.view,
            self._marker_peers,
            self._clock,
            interval_ms=config.group_lag_check_interval_ms,
            timeout_ms=config.request_timeout_ms,
        )
        self._metrics = CoordinatorMetrics(process.metrics, self.shards, self.lag_watch)
        self._desk = TransactionDesk(
            self.shards,
            mirror.view,
            self._clock,
            is_in_doubt,
            state_partitions=config.transaction_state_log_num_partitions,
        )
        verification = Verification(
            config.coordinator_id,
            self._desk,
            mirror.view,
            self._marker_peers,
            process.spawn,
            timeout_ms=config.request_timeout_ms,
        )
        self._groups = GroupDesk(
            self.shards,
            mirror,
            verification,
            is_in_doubt,
            process.spawn,
            offsets_partitions=config.offsets_topic_num_partitions,
        )

    def served(self) -> list[Served]:
        """What brokers and other coordinators ask over the Kafka wire."""
        return [
            Envelopes(self._groups, self._desk).served(),
            write_txn_markers.served(self.shards),
            verify_partitions.served(self._desk),
        ]

    @asynccontextmanager
    async def at_work(self, tasks: Background) -> AsyncIterator[None]:
        """Shards are held within. In the end those who wait are sent elsewhere."""
        following = tasks.spawn(self.shards.follow(self._on_view_changed), "shards")
        tasks.spawn(self.lag_watch.run(), "lag")
        try:
            yield
        finally:
            following.cancel()
            self.shards.close()
            # The answers that this gave to those who waited go out before the listener closes.
            await asyncio.sleep(0)
            self._log_peers.close()
            self._marker_peers.close()

    def _on_view_changed(self) -> None:
        self._log_peers.on_view_changed()
        self._marker_peers.on_view_changed()

    def _open_groups(self, name: TopicPartition, epoch: int) -> Shard[GroupContent]:
        def new_content() -> GroupContent:
            limits = GroupLimits.of(self._config)
            core = GroupShard(limits, self._groups.partition_exists, lambda: str(uuid.uuid4()))
            return GroupContent(core, self._clock, self._process.timers, self._metrics.note)

        return Shard(
            self._log(name),
            epoch,
            new_content,
            self._clock,
            self._process.spawn,
            partial(self._metrics.on_loaded, "groups"),
            fetch_bytes=self._config.offsets_load_buffer_size,
            codec=Codec(self._config.offsets_topic_compression_codec),
        )

    def _open_transactions(self, name: TopicPartition, epoch: int) -> Shard[TransactionContent]:
        limits = TransactionLimits(
            self._config.transaction_max_timeout_ms,
            self._config.transactional_id_expiration_ms,
            self._config.offsets_topic_num_partitions,
        )

        def new_content() -> TransactionContent:
            core = TransactionShard(epoch, limits, lambda: ProducerId(self._producer_ids.next()))
            return TransactionContent(
                core,
                self._mirror.view,
                self._config,
                self._clock,
                self._process.timers,
                self._markers,
                shard.start_over,
            )

        shard: Shard[TransactionContent] = Shard(
            self._log(name),
            epoch,
            new_content,
            self._clock,
            self._process.spawn,
            partial(self._metrics.on_loaded, "transactions"),
            fetch_bytes=self._config.transaction_state_log_load_buffer_size,
            codec=Codec.NONE,
        )
        return shard

    def _log(self, name: TopicPartition) -> ShardLog:
        return ShardLog(name, self._mirror, self._log_peers, timeout_ms=self._config.offsets_commit_timeout_ms)
