"""Offsets by time, by position and by leader epoch: what ListOffsets and OffsetForLeaderEpoch look up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.core.leader_epoch_check import check_leader_epoch
from tidelog.broker.core.list_offsets import (
    MAX_TIMESTAMP,
    ListedOffset,
    ReadableRange,
    SegmentTime,
    check_timestamp,
    listed_offset,
    needs_search,
    old_style_offsets,
)
from tidelog.broker.log.reading import Isolation, find_by_timestamp, find_max_timestamp

if TYPE_CHECKING:
    from tidelog.broker.log.epoch_cache import EpochEnd
    from tidelog.broker.shell.partition import Partition


def look_up(
    partition: Partition, timestamp: int, isolation: Isolation, leader_epoch: int, version: int
) -> ListedOffset:
    """The offset at a time, or one of the special ones. KafkaError if it is refused."""
    check_timestamp(timestamp, version)
    seen = _seen(partition, isolation, leader_epoch)
    found: ListedOffset | None = None
    if needs_search(timestamp):
        log = partition.log
        record = find_max_timestamp(log) if timestamp == MAX_TIMESTAMP else find_by_timestamp(log, timestamp)
        found = None if record is None else ListedOffset(record.offset, record.timestamp, record.leader_epoch)
    return listed_offset(timestamp, seen, version, found)


def look_up_old_style(partition: Partition, timestamp: int, isolation: Isolation, max_offsets: int) -> list[int]:
    """What version 0 of ListOffsets gives: where segments start, newest first."""
    seen = _seen(partition, isolation, -1)
    log = partition.log
    segments = [SegmentTime(segment.base_offset, segment.modified_ms) for segment in log.segments]
    if log.segments.active.size:
        segments.append(SegmentTime(log.log_end_offset, log.segments.active.modified_ms))
    return old_style_offsets(timestamp, segments, seen, max_offsets)


def epoch_end(partition: Partition, epoch: int, leader_epoch: int) -> EpochEnd:
    """Where a leader epoch ended. KafkaError if it is refused."""
    check_leader_epoch(leader_epoch, partition.leader_epoch, is_leader=partition.leader is not None)
    partition.log.check_online()
    return partition.log.end_offset_for_epoch(epoch)


def _seen(partition: Partition, isolation: Isolation, leader_epoch: int) -> ReadableRange:
    leader, log = partition.leader, partition.log
    check_leader_epoch(leader_epoch, partition.leader_epoch, is_leader=leader is not None)
    log.check_online()
    assert leader is not None, "who does not lead was refused"
    return ReadableRange(
        log_start_offset=log.log_start_offset,
        limit=partition.limit(isolation),
        high_watermark=log.high_watermark,
        leader_epoch=leader.leader_epoch,
        epoch_start_offset=leader.epoch_start_offset,
        first_epoch=log.epochs.epoch_at(log.log_start_offset).epoch,
        is_replica=isolation is Isolation.LOG_END,
    )
