"""Partitions that take no part in the fetches from their leader for a while, and what brings them back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

from tidelog.broker.core.partition_follower import Verdict
from tidelog.broker.shell.leader_offsets import ask_until_settled
from tidelog.kafka.errors import KafkaCode
from tidelog.runtime import logs

if TYPE_CHECKING:
    from tidelog.broker.shell.copying import Copy
    from tidelog.broker.shell.fetcher_settings import FetcherSettings
    from tidelog.kafka.types import BrokerId
    from tidelog.net.connection import Connection

# How often it is looked whether a throttled partition may go on.
_THROTTLED_MS = 100

_logger = logs.get("replication")


class Fetches(Protocol):
    """The fetches that they are left out of."""

    leader_id: BrokerId

    @property
    def connection(self) -> Connection | None: ...

    def is_current(self, copy: Copy) -> bool:
        """Whether it is still this copy that is wanted."""
        ...

    def takes_part(self, copy: Copy) -> bool: ...
    def leave(self, copy: Copy) -> None: ...
    def join(self, copy: Copy) -> None: ...


class LeftOut:
    def __init__(self, fetches: Fetches, settings: FetcherSettings) -> None:
        self._fetches = fetches
        self._settings = settings

    def leave_out(self, copy: Copy, verdict: Verdict) -> None:
        """It takes part no more; the verdict says until when."""
        self._fetches.leave(copy)
        match verdict:
            case Verdict.DELAYED:
                delay_ms = copy.follower.retry_at_ms - self._settings.clock.monotonic_ms()
                self._settings.timers.after(delay_ms, partial(self._join_again, copy))
            case Verdict.ASK_LATEST:
                self._settings.spawn(self._ask(copy), f"offsets of {copy.partition.name}")
            case Verdict.FAILED:
                self._tell_failed(copy)

    def throttle(self, copy: Copy) -> None:
        """It takes part again when throttled replicas are not copied too fast any more."""
        self._fetches.leave(copy)
        self._settings.timers.after(_THROTTLED_MS, partial(self._join_unless_throttled, copy))

    def is_throttled(self, copy: Copy, size: int = 0) -> bool:
        """Whether it must wait, after so many bytes more, because throttled replicas are copied too fast."""
        quota, name, now_ms = self._settings.quota, copy.partition.name, self._settings.clock.monotonic_ms()
        if size and quota.is_throttled(name.topic, name.partition):
            quota.record(size, now_ms)
        return quota.must_wait(name.topic, name.partition, now_ms, is_in_sync=copy.follower.is_in_sync)

    def _is_waiting(self, copy: Copy) -> bool:
        return self._fetches.is_current(copy) and not self._fetches.takes_part(copy)

    def _join_again(self, copy: Copy) -> None:
        is_ready = copy.follower.is_ready(self._settings.clock.monotonic_ms() + 1)
        if is_ready and self._is_waiting(copy):
            self._fetches.join(copy)

    def _join_unless_throttled(self, copy: Copy) -> None:
        if not self._is_waiting(copy):
            return
        if self.is_throttled(copy):
            self.throttle(copy)
        else:
            self._fetches.join(copy)

    async def _ask(self, copy: Copy) -> None:
        fetches = self._fetches
        verdict = await ask_until_settled(
            copy,
            fetches.connection,
            self._settings.identity.broker_id,
            partial(fetches.is_current, copy),
            self._settings.clock,
        )
        if not fetches.is_current(copy):
            return
        if verdict is Verdict.IGNORE:
            fetches.join(copy)
        else:
            self.leave_out(copy, verdict)

    def _tell_failed(self, copy: Copy) -> None:
        # If the leader is in a newer epoch, the controller's word about it is on its way here, too.
        tell = _logger.debug if copy.last_refusal is KafkaCode.FENCED_LEADER_EPOCH else _logger.error
        tell(
            "not copied any more",
            partition=str(copy.partition.name),
            leader=self._fetches.leader_id,
            epoch=copy.follower.leader_epoch,
            why=copy.last_refusal.name,
        )
