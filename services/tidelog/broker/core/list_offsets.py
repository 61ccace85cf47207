"""What ListOffsets answers: special timestamps by version, and when the answer is not known yet."""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tidelog.kafka.errors import KafkaCode, KafkaError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5

# The version of ListOffsets that introduced each special timestamp.
_KNOWN_SINCE = {LATEST: 0, EARLIEST: 0, MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9}
_OFFSET_NOT_AVAILABLE_SINCE = 5
UNKNOWN = -1
Key = TypeVar("Key", bound="Hashable")


class ListedOffset(NamedTuple):
    """One partition's answer; all -1 if there is no such record."""

    offset: int = UNKNOWN
    timestamp: int = UNKNOWN
    leader_epoch: int = UNKNOWN


NOT_FOUND = ListedOffset()


@dataclass(frozen=True, slots=True)
class ReadableRange:
    """The partition as this request may see it.

    `limit` is the log end for a replica, the last stable offset for read_committed, the high watermark for others.
    """

    log_start_offset: int
    limit: int
    high_watermark: int
    leader_epoch: int
    # Where the current leader epoch starts; -1 on a follower.
    epoch_start_offset: int = UNKNOWN
    # The epoch of the first record, -1 if it is not known.
    first_epoch: int = UNKNOWN
    is_replica: bool = False


def check_timestamp(timestamp: int, version: int) -> None:
    """UNSUPPORTED_VERSION for a special timestamp that this version of the request does not know."""
    if timestamp < 0 and version < _KNOWN_SINCE.get(timestamp, version + 1):
        raise KafkaError(KafkaCode.UNSUPPORTED_VERSION, f"Timestamp {timestamp} has no meaning in version {version}.")


def needs_search(timestamp: int) -> bool:
    """Must records be looked at? Else `listed_offset` answers from what is known of the log."""
    return timestamp >= 0 or timestamp == MAX_TIMESTAMP


def listed_offset(timestamp: int, seen: ReadableRange, version: int, found: ListedOffset | None = None) -> ListedOffset:
    """The answer; `found` is the record that a search gave, where one is needed."""
    if timestamp == LATEST:
        _check_known(seen, version)
        return ListedOffset(seen.limit, UNKNOWN, seen.leader_epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return ListedOffset(seen.log_start_offset, UNKNOWN, seen.first_epoch)
    if timestamp == LATEST_TIERED:
        # Nothing is ever moved to another tier.
        return NOT_FOUND
    if found is not None and found.offset < seen.limit:
        return found
    _check_known(seen, version)
    return NOT_FOUND


def _check_known(seen: ReadableRange, version: int) -> None:
    """A new leader does not know yet how much of what it has is committed, until it commits something of its own.

    Answering with its high watermark might take a consumer back behind what the former leader had told it.
    """
    if not seen.is_replica and seen.high_watermark < seen.epoch_start_offset:
        known = version >= _OFFSET_NOT_AVAILABLE_SINCE
        raise KafkaError(KafkaCode.OFFSET_NOT_AVAILABLE if known else KafkaCode.LEADER_NOT_AVAILABLE)


def asked_twice(partitions: "Iterable[Key]") -> "set[Key]":
    """The partitions that a request names more than once; each of these is answered with INVALID_REQUEST."""
    return {key for key, times in Counter(partitions).items() if times > 1}


class SegmentTime(NamedTuple):
    """What version 0 goes by: where a segment starts, and when it was last written."""

    base_offset: int
    modified_ms: int


def old_style_offsets(
    timestamp: int, segments: "Sequence[SegmentTime]", seen: ReadableRange, max_offsets: int
) -> list[int]:
    """Version 0: the offsets at which segments start that were written by that time, newest first.

    `segments` are in order; if the last one holds something, the end of the log follows it as written just now.
    """
    starts = [max(segment.base_offset, seen.log_start_offset) for segment in segments]
    if timestamp == EARLIEST:
        del starts[1:]
    elif timestamp != LATEST:
        while starts and segments[len(starts) - 1].modified_ms > timestamp:
            starts.pop()
    if not seen.is_replica and starts and starts[-1] > seen.limit:
        starts = [*(start for start in starts if start < seen.limit), seen.limit]
    return starts[::-1][: max(0, max_offsets)]
