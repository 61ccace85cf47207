"""Readiness of a broker that starts: it counts as ready once its replicas are in sync again.

A rolling restart goes on to the next broker when this one is ready. Were that so before it has caught up, partitions
would lose their in-sync replicas one by one. So a starting broker waits until every partition that it replicates, and
that has a live leader, has it in the in-sync set; but not for longer than replica.catch.up.timeout.ms, since a replica that
cannot catch up is no reason to serve nothing. Where something goes by readiness to restart the next broker, and serves
brokers that are not ready all the same, the wait is best without a bound. Once ready it stays so: lagging is for the
leader to judge.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tidelog.runtime import logs

if TYPE_CHECKING:
    from tidelog.kafka.cluster import ClusterView
    from tidelog.kafka.configs.broker import BrokerConfig
    from tidelog.runtime.cluster_mirror import ClusterMirror
    from tidelog.runtime.readiness import Readiness

CONDITION = "in sync"

_logger = logs.get("replication")


class CatchingUp:
    """Watches the cluster's metadata until this broker's replicas are in sync."""

    def __init__(self, config: BrokerConfig, mirror: ClusterMirror, readiness: Readiness) -> None:
        self._broker_id = config.broker_id
        bound_ms = config.replica_catch_up_timeout_ms
        self._wait_s_max = None if bound_ms < 0 else bound_ms / 1000
        self._mirror = mirror
        self._readiness = readiness
        readiness.expect(CONDITION, "the controller has not yet told which replicas are here")

    async def watch(self) -> None:
        """Ends when they are, or when the time is up."""
        try:
            async with asyncio.timeout(self._wait_s_max):
                while not self._is_in_sync():
                    await self._mirror.next_change.wait()
        except TimeoutError:
            left = lacking(self._mirror.view, self._broker_id)
            _logger.warning("serving before all replicas are in sync", replicas=len(left), such_as=left[:5])
        self._readiness.ok(CONDITION)

    def _is_in_sync(self) -> bool:
        view = self._mirror.view
        if self._broker_id not in view.brokers or not view.knows_topics:
            return False
        left = lacking(view, self._broker_id)
        if left:
            self._readiness.not_ready(CONDITION, f"{len(left)} replicas are not in sync yet, such as {left[0]}")
        return not left


def lacking(view: ClusterView, broker_id: int) -> list[str]:
    """Partitions with a live leader whose in-sync set lacks this broker, which is one of their replicas."""
    return [
        f"{topic.name}-{partition.index}"
        for topic in view.topics.values()
        for partition in topic.partitions.values()
        if broker_id in partition.replicas and broker_id not in partition.isr and partition.leader in view.brokers
    ]
