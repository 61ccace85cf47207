"""Applies a record of __consumer_offsets: while a shard is loaded, and each time that one of its own is committed.

A loading shard takes the record for the group. In a running one the group itself has gone on since the record was made;
there the record of an assignment that is waited for sets everyone going, and others change nothing.
"""

from tidelog.group_coordinator.core.groups import formats
from tidelog.group_coordinator.core.groups.formats import GroupKey, OffsetKey, OffsetValue
from tidelog.group_coordinator.core.groups.group_records import group_from
from tidelog.group_coordinator.core.groups.offsets import CommittedOffset, Partition
from tidelog.group_coordinator.core.groups.syncing import hand_out_assignments
from tidelog.group_coordinator.core.groups.turn import Turn
from tidelog.group_coordinator.core.records import CoordinatorRecord


def replay(record: CoordinatorRecord, producer_id: int | None, turn: Turn) -> None:
    """`producer_id` is that of the batch if it is part of a transaction."""
    key = formats.decode_key(record.key)
    if isinstance(key, OffsetKey):
        _replay_offset(key, record.value, producer_id, turn)
    elif isinstance(key, GroupKey):
        _replay_group(key.group, record.value, turn)


def _replay_offset(key: OffsetKey, value: bytes | None, producer_id: int | None, turn: Turn) -> None:
    offsets, partition = turn.shard.offsets, Partition(key.topic, key.partition)
    if value is None:
        offsets.remove(key.group, partition)
        return
    committed = _committed(formats.decode_offset_value(value))
    if producer_id is None:
        offsets.put(key.group, partition, committed)
    else:
        offsets.put_pending(producer_id, key.group, partition, committed)


def _committed(value: OffsetValue) -> CommittedOffset:
    return CommittedOffset(
        offset=value.offset,
        leader_epoch=value.leader_epoch,
        metadata=value.metadata,
        commit_timestamp_ms=value.commit_timestamp,
        expire_timestamp_ms=value.expire_timestamp if value.expire_timestamp >= 0 else None,
    )


def _replay_group(group_id: str, value: bytes | None, turn: Turn) -> None:
    groups = turn.shard.groups
    decoded = formats.decode_group_value(value) if value is not None else None
    if not turn.shard.is_loading:
        group = groups.get(group_id)
        if group is not None and decoded is not None:
            hand_out_assignments(group, decoded, turn)
    elif decoded is None:
        groups.pop(group_id, None)
    else:
        groups[group_id] = group_from(group_id, decoded)
