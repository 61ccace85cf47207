"""Holds clients to their quotas: what they take is recorded, and who takes too much is told to wait and not read from.

Where nobody has a quota nothing is recorded. What a client did before it got one does not count.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tidelog.broker.core.quota_limits import CONSUMER_BYTE_RATE, PRODUCER_BYTE_RATE, REQUEST_PERCENTAGE
from tidelog.broker.core.quotas import IDLE_MS, INT32_MAX, ClientQuotas
from tidelog.kafka.errors import KafkaError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidelog.broker.core.quota_entries import QuotaOwner
    from tidelog.broker.core.quotas import MutationMeter, RateMeter
    from tidelog.broker.shell.config_store import ConfigStore
    from tidelog.net.served import RequestContext
    from tidelog.runtime.clock import Clock

# Whose requests come in on a listener that asks nobody for a name.
_USER = "ANONYMOUS"
# A second of one thread is 100 percent.
_PERCENT_PER_NS = 100 / 1e9


class FetchCharge:
    """What one fetch may take."""

    __slots__ = ("_context", "_meter", "_throttling")

    def __init__(self, throttling: ClientThrottling, context: RequestContext, meter: RateMeter | None) -> None:
        self._throttling = throttling
        self._context = context
        self._meter = meter

    def most_at_once(self) -> int:
        """More bytes than this in one answer would be throttled whatever came before."""
        return INT32_MAX if self._meter is None else self._meter.most_at_once()

    def throttle_ms(self, size: int) -> int:
        """Record an answer of so many bytes. If it is not 0, the answer has to be empty and is not counted."""
        request_ms = self._throttling.request_ms(self._context)
        if self._meter is None:
            return request_ms
        now_ms = self._throttling.clock.monotonic_ms()
        throttle_ms = max(request_ms, self._meter.record(size, now_ms))
        if throttle_ms:
            self._meter.take_back(size, now_ms)
        return throttle_ms


class MutationCharge:
    """What one request may change in topics: a strict one is refused, any other throttled afterwards."""

    def __init__(self, meter: MutationMeter, clock: Clock, *, strict: bool) -> None:
        self._meter = meter
        self._clock = clock
        self._strict = strict
        self.throttle_time_ms = 0

    def admit(self, partitions: int) -> None:
        """Count partitions that are about to be created or deleted. THROTTLING_QUOTA_EXCEEDED if that is too much."""
        now_ms = self._clock.monotonic_ms()
        if not self._strict:
            self.throttle_time_ms = self._meter.throttle(partitions, now_ms)
            return
        try:
            self._meter.refuse(partitions, now_ms)
        except KafkaError:
            self.throttle_time_ms = self._meter.throttle_ms(now_ms)
            raise


class ClientThrottling:
    """All client quotas of this broker. `is_on` and `times_requests` tell cheaply that there is nothing to do."""

    def __init__(self, configs: ConfigStore, clock: Clock) -> None:
        config = configs.live.broker
        self._quotas = ClientQuotas(
            config.quota_window_num,
            config.quota_window_size_seconds,
            config.controller_quota_window_num,
            config.controller_quota_window_size_seconds,
        )
        self.clock = clock
        self._forgets_at_ms = clock.monotonic_ms() + IDLE_MS
        # Whether anybody has a quota of bytes or of time.
        self.is_on = False
        # Whether anybody has a quota of time.
        self.times_requests = False
        configs.on_quota_changed(self._on_quota_changed)

    def produce_ms(self, context: RequestContext, size: int, *, is_answered: bool) -> int:
        """Record a produce request of so many bytes; for how long its client is throttled."""
        now_ms = self.now_ms()
        meter = self._quotas.produce(_USER, context.client_id or "")
        produce_ms = 0 if meter is None else meter.record(size, now_ms)
        return max(produce_ms, self.request_ms(context)) if is_answered else produce_ms

    def fetch(self, context: RequestContext) -> FetchCharge:
        return FetchCharge(self, context, self._quotas.fetch(_USER, context.client_id or ""))

    def mutations(self, context: RequestContext, strict_from: int) -> MutationCharge | None:
        """For a request that changes topics, strict from a version on; None if its client has no quota."""
        meter = self._quotas.mutation(_USER, context.client_id or "", self.now_ms())
        if meter is None:
            return None
        return MutationCharge(meter, self.clock, strict=context.version >= strict_from)

    def request_ms(self, context: RequestContext) -> int:
        """Record the time that a request took this process; for how long its client is throttled."""
        if not self.times_requests:
            return 0
        now_ms = self.now_ms()
        meter = self._quotas.request(_USER, context.client_id or "")
        if meter is None:
            return 0
        busy_ns = (context.deferred_ns or time.perf_counter_ns()) - context.started_ns
        return meter.record(busy_ns * _PERCENT_PER_NS, now_ms)

    def now_ms(self) -> float:
        now_ms = self.clock.monotonic_ms()
        if now_ms >= self._forgets_at_ms:
            self._forgets_at_ms = now_ms + IDLE_MS
            self._quotas.forget_idle(now_ms)
        return now_ms

    def _on_quota_changed(self, owner: QuotaOwner, values: Mapping[str, float]) -> None:
        if owner.entity is None:
            return
        self._quotas.set(owner.entity, values)
        self.times_requests = self._quotas.has_any(REQUEST_PERCENTAGE)
        self.is_on = self.times_requests or any(
            self._quotas.has_any(key) for key in (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE)
        )
