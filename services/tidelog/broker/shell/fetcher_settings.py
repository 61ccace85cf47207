"""What all fetchers of a broker have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine
    from typing import Any

    from tidelog.broker.core.replication_quota import ReplicationQuota
    from tidelog.broker.wire.follower_fetch import FollowerIdentity
    from tidelog.kafka.types import BrokerId, Endpoint
    from tidelog.runtime.clock import Clock
    from tidelog.runtime.timers import Timers


class FetcherSettings(NamedTuple):
    identity: FollowerIdentity
    socket_timeout_ms: float
    backoff_ms: float
    own_epoch: Callable[[], int]
    endpoint_of: Callable[[BrokerId], Endpoint | None]
    quota: ReplicationQuota
    clock: Clock
    timers: Timers
    spawn: Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]]
