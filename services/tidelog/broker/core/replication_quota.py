"""Replication quotas: how fast throttled replicas are copied, on the leader's side and on the follower's.

Only the replicas that the topic's configuration lists are throttled, and of these only while they are out of sync, so
that a reassignment can be slowed down without slowing down writes. All traffic of the listed ones is counted.
"""

from typing import TYPE_CHECKING

from tidelog.broker.core.rate_window import SpanRate

if TYPE_CHECKING:
    from collections.abc import Iterable

ALL_REPLICAS = "*"
UNLIMITED = float((1 << 63) - 1)


class ReplicationQuota:
    """One side's bound, rate, and the partitions of which this broker's replica is listed."""

    def __init__(self, samples: int = 11, window_s: int = 1, bound: float = UNLIMITED) -> None:
        self.bound = bound
        self._rate = SpanRate(samples, window_s * 1000)
        # A topic's partitions; None stands for all of them.
        self._throttled: dict[str, frozenset[int] | None] = {}

    def set_topic(self, topic: str, partitions: "frozenset[int] | None") -> None:
        """Which partitions of a topic are throttled here (see throttled_partitions); None for all."""
        if partitions is None or partitions:
            self._throttled[topic] = partitions
        else:
            self._throttled.pop(topic, None)

    @property
    def is_on(self) -> bool:
        """Is anything throttled at all?"""
        return bool(self._throttled)

    def is_throttled(self, topic: str, partition: int) -> bool:
        """Is its traffic counted, and slowed down if need be?"""
        if not self._throttled:
            return False
        partitions = self._throttled.get(topic, frozenset())
        return partitions is None or partition in partitions

    def record(self, size: int, now_ms: float) -> None:
        self._rate.record(size, now_ms)

    def rate(self, now_ms: float) -> float:
        return self._rate.rate(now_ms)

    def is_exceeded(self, now_ms: float) -> bool:
        return self._rate.rate(now_ms) > self.bound

    def must_wait(self, topic: str, partition: int, now_ms: float, *, is_in_sync: bool) -> bool:
        """Shall the leader return nothing for this replica now; shall the follower leave the partition out?"""
        return not is_in_sync and self.is_throttled(topic, partition) and self.is_exceeded(now_ms)


def throttled_partitions(entries: "Iterable[str]", broker_id: int) -> frozenset[int] | None:
    """What leader.replication.throttled.replicas or its follower twin says of one broker; None for all partitions.

    Entries are "partition:broker", or a single "*". ValueError for anything else.
    """
    listed = [entry.strip() for entry in entries if entry.strip()]
    if listed == [ALL_REPLICAS]:
        return None
    pairs = (entry.split(":") for entry in listed)
    return frozenset(int(partition) for partition, broker in pairs if int(broker) == broker_id)
