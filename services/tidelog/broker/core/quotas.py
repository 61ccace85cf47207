"""Client quotas: how long a client that went over its rate has to wait.

Produced and fetched bytes and request time are recorded as they occur; the answer is sent at once, says how long the
client is throttled, and its connection is not read until that time is over. A fetch that is throttled is answered empty
and taken back from the record. Followers and the cluster's own requests have no quota.

Changes to topics are counted before they are made, with a token bucket: newer versions of these requests are refused
while it is overdrawn (`refuse`), older ones are made and throttled afterwards (`throttle`).
"""

from typing import TYPE_CHECKING, TypeVar

from tidelog.broker.core.quota_limits import (
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    QuotaLimits,
)
from tidelog.broker.core.rate_window import FOREVER_MS, RateWindow, TokenBucket
from tidelog.kafka.errors import KafkaCode, KafkaError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidelog.broker.core.quota_limits import QuotaEntity

Key = TypeVar("Key")
Meter = TypeVar("Meter")

INT32_MAX = (1 << 31) - 1
# Rates of clients that were not heard of for this long are forgotten.
IDLE_MS = 3_600_000
# Client ids are free to invent. Beyond this many rates the oldest are forgotten, which is a client's gain at most.
METERS_MAX = 20_000


class RateMeter:
    """The rate of everybody who shares one quota, and its bound."""

    __slots__ = ("_longest_ms", "_rate", "_window_value_max", "bound")

    def __init__(self, bound: float, samples: int, window_ms: int, longest_ms: int = FOREVER_MS) -> None:
        self.bound = bound
        self._rate = RateWindow(samples, window_ms)
        self._longest_ms = longest_ms
        self._window_value_max = (samples - 1) * window_ms / 1000

    @property
    def last_ms(self) -> float:
        return self._rate.last_ms

    def record(self, value: float, now_ms: float) -> int:
        """Count it, and say for how many milliseconds the client is throttled; 0 if it keeps to its quota."""
        self._rate.record(value, now_ms)
        rate = self._rate.rate(now_ms)
        if rate <= self.bound:
            return 0
        if self.bound <= 0:
            return self._longest_ms
        over_ms = (rate - self.bound) / self.bound * self._rate.span_ms(now_ms)
        return min(int(over_ms + 0.5), self._longest_ms)

    def take_back(self, value: float, now_ms: float) -> None:
        """What was recorded did not happen after all."""
        self._rate.record(-value, now_ms)

    def rate(self, now_ms: float) -> float:
        return self._rate.rate(now_ms)

    def most_at_once(self) -> int:
        """More than this in one answer would be throttled whatever came before: the cap of a consumer's max_bytes."""
        return min(INT32_MAX, int(self.bound * self._window_value_max))


class MutationMeter:
    """The token bucket of everybody who shares one controller_mutation_rate."""

    __slots__ = ("_bucket", "last_ms")

    def __init__(self, bound: float, burst_s: float, now_ms: float) -> None:
        self._bucket = TokenBucket(bound, burst_s, now_ms)
        self.last_ms = now_ms

    @property
    def bound(self) -> float:
        return self._bucket.rate

    @bound.setter
    def bound(self, bound: float) -> None:
        self._bucket.rate = bound

    def refuse(self, mutations: float, now_ms: float) -> None:
        """Count so many partitions to be created or deleted; THROTTLING_QUOTA_EXCEEDED if it was exceeded before.

        CreateTopics from v6 on, DeleteTopics from v5, CreatePartitions from v3; `throttle_ms` is for their answer.
        """
        self.last_ms = now_ms
        if self._bucket.missing_ms(now_ms):
            raise KafkaError(KafkaCode.THROTTLING_QUOTA_EXCEEDED)
        self._bucket.take(mutations, now_ms)

    def throttle(self, mutations: float, now_ms: float) -> int:
        """Count them whatever came before, and say for how long the client is throttled."""
        self.last_ms = now_ms
        self._bucket.take(mutations, now_ms)
        return self._bucket.missing_ms(now_ms)

    def throttle_ms(self, now_ms: float) -> int:
        return self._bucket.missing_ms(now_ms)


class ClientQuotas:
    """All quotas, and the meters of the clients they hold for.

    A meter may be kept as long as `generation` stays the same. Where no quota applies there is no meter.
    """

    def __init__(
        self, samples: int = 11, window_s: int = 1, mutation_samples: int = 11, mutation_window_s: int = 1
    ) -> None:
        self._limits = QuotaLimits()
        self._samples = samples
        self._window_ms = window_s * 1000
        self._mutation_burst_s = mutation_samples * mutation_window_s
        self._meters: dict[tuple[str, str | None, str | None], RateMeter] = {}
        self._mutations: dict[tuple[str | None, str | None], MutationMeter] = {}
        self.generation = 0

    def set(self, entity: "QuotaEntity", values: "Mapping[str, float]") -> None:
        """An entity's quotas are these now, and no others. What its clients did so far still counts."""
        self._limits.set(entity, values)
        self.generation += 1

    def has_any(self, key: str) -> bool:
        """Whether anybody at all has a quota of this kind; mostly nobody has, and there is nothing to record."""
        return self._limits.has_any(key)

    def produce(self, user: str, client_id: str) -> RateMeter | None:
        """For the bytes of Produce requests."""
        return self._meter(PRODUCER_BYTE_RATE, user, client_id, FOREVER_MS)

    def fetch(self, user: str, client_id: str) -> RateMeter | None:
        """For the bytes of Fetch responses."""
        return self._meter(CONSUMER_BYTE_RATE, user, client_id, FOREVER_MS)

    def request(self, user: str, client_id: str) -> RateMeter | None:
        """For the time spent on requests, in percent of one thread's second: 100 per second of time."""
        return self._meter(REQUEST_PERCENTAGE, user, client_id, self._window_ms)

    def mutation(self, user: str, client_id: str, now_ms: float) -> MutationMeter | None:
        """For partitions created and deleted."""
        applied = self._limits.applied(CONTROLLER_MUTATION_RATE, user, client_id)
        if applied is None:
            return None
        key = (applied.user, applied.client_id)
        meter = self._mutations.get(key)
        if meter is None:
            _make_room(self._mutations)
            meter = self._mutations[key] = MutationMeter(applied.bound, self._mutation_burst_s, now_ms)
        meter.bound = applied.bound
        return meter

    def forget_idle(self, now_ms: float) -> None:
        """Call it now and then, such as once an hour."""
        self._meters = {key: meter for key, meter in self._meters.items() if now_ms - meter.last_ms < IDLE_MS}
        self._mutations = {key: meter for key, meter in self._mutations.items() if now_ms - meter.last_ms < IDLE_MS}
        self.generation += 1

    def _meter(self, kind: str, user: str, client_id: str, longest_ms: int) -> RateMeter | None:
        applied = self._limits.applied(kind, user, client_id)
        if applied is None:
            return None
        key = (kind, applied.user, applied.client_id)
        meter = self._meters.get(key)
        if meter is None:
            _make_room(self._meters)
            meter = self._meters[key] = RateMeter(applied.bound, self._samples, self._window_ms, longest_ms)
        meter.bound = applied.bound
        return meter


def _make_room(meters: "dict[Key, Meter]") -> None:
    while len(meters) >= METERS_MAX:
        del meters[next(iter(meters))]
