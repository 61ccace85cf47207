"""May this broker stop? It had better not while a partition that it is in sync for lacks another replica already.

Whoever restarts brokers one after the other goes by the one he restarted last. A broker that was away before he began, or
fell behind since, is not seen by him, and the next one to go may take the last but one replica along. So a broker that is
told to stop waits until all others have what it has, as long as it is given time for that, and serves meanwhile. It does
not wait for those that nobody will bring back: without a controller no replica comes into sync.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tidelog.kafka.types import GRPC_LISTENER
from tidelog.runtime import logs
from tidelog.runtime.presence import Verdict, examine

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tidelog.kafka.cluster import ClusterView
    from tidelog.kafka.configs.broker import BrokerConfig
    from tidelog.runtime.cluster_mirror import ClusterMirror

# How long there may be no controller before it is taken for granted that none comes back: the whole cluster is going.
_NO_CONTROLLER_S = 10.0
_LOOK_AGAIN_S = 1.0
_EXAMINE_TIMEOUT_MS = 1_000

_logger = logs.get("shutdown")


async def wait_for_the_others(
    config: BrokerConfig, mirror: ClusterMirror, is_controlled: Callable[[ClusterView], Awaitable[bool]] | None = None
) -> None:
    """Returns when every partition that this broker is in sync for has all of its replicas, or when the time is up."""
    left = lacking_others(mirror.view, config.broker_id)
    if not left or config.controlled_shutdown_replicas_wait_ms == 0:
        return
    _logger.warning("waiting for replicas of others", partitions=len(left), such_as=left[:5])
    waits = (
        asyncio.create_task(_until_whole(mirror, config.broker_id)),
        asyncio.create_task(_until_nobody_controls(mirror, is_controlled or _has_controller)),
    )
    bound_s = config.controlled_shutdown_replicas_wait_ms / 1000
    try:
        await asyncio.wait(waits, timeout=bound_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
    left = lacking_others(mirror.view, config.broker_id)
    if left:
        _logger.warning("stopping although replicas of others are missing", partitions=len(left), such_as=left[:5])


def lacking_others(view: ClusterView, broker_id: int) -> list[str]:
    """Partitions that this broker is in sync for and some other replica is not; one that is being added does not count."""
    return [
        f"{topic.name}-{partition.index}"
        for topic in view.topics.values()
        for partition in topic.partitions.values()
        if broker_id in partition.isr
        and not set(partition.replicas) - set(partition.adding_replicas) <= set(partition.isr)
    ]


async def _until_whole(mirror: ClusterMirror, broker_id: int) -> None:
    while lacking_others(mirror.view, broker_id):
        await mirror.next_change.wait()


async def _until_nobody_controls(
    mirror: ClusterMirror, is_controlled: Callable[[ClusterView], Awaitable[bool]]
) -> None:
    now = asyncio.get_running_loop().time
    seen_at = now()
    while now() - seen_at < _NO_CONTROLLER_S:
        await asyncio.sleep(_LOOK_AGAIN_S)
        if await is_controlled(mirror.view):
            seen_at = now()
    _logger.warning("there is no controller any more")


async def _has_controller(view: ClusterView) -> bool:
    member = view.active_controller
    endpoint = member.endpoint(GRPC_LISTENER) if member else None
    if member is None or endpoint is None:
        return False
    return await examine(endpoint, member.epoch, _EXAMINE_TIMEOUT_MS) is Verdict.ALIVE
