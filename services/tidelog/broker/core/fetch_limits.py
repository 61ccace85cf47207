"""How much a fetch may return, and whether it may wait for more.

From Fetch v3 on limits are soft by one batch: as long as nothing was found, the first batch of a partition is returned
whole whatever its size, so that a consumer always gets on. Before v3 limits are hard. A limit may cut
the last batch, but never the first of a partition.
"""

from typing import NamedTuple

from tidelog.broker.core.delayed_operations import ANSWER_NOW

_SOFT_LIMITS_SINCE = 3


class FetchBounds(NamedTuple):
    """What holds for a whole response, in bytes."""

    max_bytes: int
    min_bytes: int


def fetch_bounds(max_bytes: int, min_bytes: int, broker_max_bytes: int) -> FetchBounds:
    """The request's bounds within those of the broker: fetch.max.bytes, or less if the client has a quota."""
    largest = max(0, min(max_bytes, broker_max_bytes))
    return FetchBounds(largest, min(min_bytes, largest))


class FetchBudget:
    """What is left to return while the partitions of one fetch are read in the order of the request."""

    __slots__ = ("at_least_one", "left")

    def __init__(self, max_bytes: int, version: int) -> None:
        self.left = max_bytes
        # May the next partition return one whole batch although it is too large?
        self.at_least_one = version >= _SOFT_LIMITS_SINCE

    def allowance(self, partition_max_bytes: int) -> int:
        """How many bytes the next partition may return, apart from `at_least_one`."""
        return min(self.left, partition_max_bytes)

    def spend(self, size: int) -> None:
        """A partition returned something; now the limits hold."""
        if size:
            self.at_least_one = False
            self.left = self.left - size if size < self.left else 0


def answers_at_once(
    max_wait_ms: int, min_bytes: int, bytes_read: int, *, has_partitions: bool = True, has_news: bool = False
) -> bool:
    """Is a fetch answered right after it was read? Else it is parked.

    `has_news`: a partition has an error, a diverging epoch or a preferred read replica, which must not wait.
    """
    return max_wait_ms <= 0 or not has_partitions or bytes_read >= min_bytes or has_news


class LogPosition(NamedTuple):
    """An offset and where it is: the segment's base offset, and the byte within the segment."""

    offset: int
    segment: int
    position: int


def bytes_available(start: LogPosition, limit: LogPosition, max_bytes: int, *, is_throttled: bool = False) -> int:
    """What a partition adds to a parked fetch that began at `start`, where `limit` is how far its reader may see now.

    ANSWER_NOW if the log was truncated below the start, or if the limit is in a later segment: reading ends with a
    segment, so waiting brings nothing more. A throttled replica is not answered early and adds nothing.
    """
    if start.offset == limit.offset:
        # A new segment may have begun here, while the start was noted as the end of the former: that is no progress.
        return 0
    if start.offset > limit.offset:
        return ANSWER_NOW
    if is_throttled:
        return 0
    if start.segment < limit.segment:
        return ANSWER_NOW
    return min(limit.position - start.position, max_bytes)
