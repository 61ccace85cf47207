"""OffsetFetch: how far groups had read when they last committed. It is answered in every state of a group."""

from collections.abc import Iterable

from tidelog.group_coordinator.core.groups.offsets import CommittedOffset, OffsetStore, Partition
from tidelog.group_coordinator.core.groups.turn import Caller, Turn
from tidelog.kafka.coordination.splitting import GROUPS_VERSION
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)

# From this version on one request asks for many groups.

_NOT_COMMITTED = CommittedOffset(offset=-1, leader_epoch=-1, metadata="", commit_timestamp_ms=-1)


def fetch(request: OffsetFetchRequest, caller: Caller, turn: Turn) -> None:
    offsets, stable = turn.shard.offsets, request.require_stable
    if caller.version < GROUPS_VERSION:
        topics = _topics(offsets, request.group_id, request.topics, require_stable=stable)
        turn.reply(caller.token, OffsetFetchResponse(topics=topics))
        return
    groups = [
        OffsetFetchResponseGroup(
            group_id=asked.group_id, topics=_topics(offsets, asked.group_id, asked.topics, require_stable=stable)
        )
        for asked in request.groups
    ]
    turn.reply(caller.token, OffsetFetchResponse(groups=groups))


def _topics(
    offsets: OffsetStore, group_id: str, asked: list[OffsetFetchRequestTopic] | None, *, require_stable: bool
) -> list[OffsetFetchResponseTopic]:
    wanted = _all_of(offsets, group_id) if asked is None else ((topic.name, topic.partition_indexes) for topic in asked)
    return [
        OffsetFetchResponseTopic(
            name=name,
            partitions=[
                _partition(offsets, group_id, Partition(name, index), require_stable=require_stable)
                for index in indexes
            ],
        )
        for name, indexes in wanted
    ]


def _all_of(offsets: OffsetStore, group_id: str) -> Iterable[tuple[str, list[int]]]:
    indexes: dict[str, list[int]] = {}
    for partition in offsets.of_group(group_id):
        indexes.setdefault(partition.topic, []).append(partition.number)
    return indexes.items()


def _partition(
    offsets: OffsetStore, group_id: str, partition: Partition, *, require_stable: bool
) -> OffsetFetchResponsePartition:
    is_unstable = require_stable and offsets.is_unstable(group_id, partition)
    committed = (None if is_unstable else offsets.get(group_id, partition)) or _NOT_COMMITTED
    return OffsetFetchResponsePartition(
        partition_index=partition.number,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        error_code=KafkaCode.UNSTABLE_OFFSET_COMMIT if is_unstable else KafkaCode.NONE,
    )
