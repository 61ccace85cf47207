"""DeleteGroups and OffsetDelete, and what becomes of offsets whose topic is deleted."""

from collections.abc import Collection
from dataclasses import dataclass

from tidelog.group_coordinator.core.groups.append_errors import group_error
from tidelog.group_coordinator.core.groups.committing import tombstones
from tidelog.group_coordinator.core.groups.group import Group
from tidelog.group_coordinator.core.groups.group_records import group_tombstone
from tidelog.group_coordinator.core.groups.members import check_group_id
from tidelog.group_coordinator.core.groups.offsets import Partition
from tidelog.group_coordinator.core.groups.removing import drop_group_if_idle
from tidelog.group_coordinator.core.groups.states import ANSWERS, DEAD, EMPTY, Asked
from tidelog.group_coordinator.core.groups.subscription import CONSUMER_PROTOCOL_TYPE
from tidelog.group_coordinator.core.groups.turn import Caller, Turn
from tidelog.group_coordinator.core.records import CoordinatorRecord
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from tidelog.kafka.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


@dataclass(frozen=True, slots=True)
class GroupsDeleted:
    """The settlement of DeleteGroups."""

    groups: tuple[Group, ...]
    token: object
    answer: DeleteGroupsResponse

    def committed(self, turn: Turn) -> None:
        for group in self.groups:
            drop_group_if_idle(group, turn)
        turn.reply(self.token, self.answer)

    def failed(self, code: KafkaCode, turn: Turn) -> None:
        for result in self.answer.results:
            result.error_code = result.error_code or group_error(code)
        turn.reply(self.token, self.answer)


@dataclass(frozen=True, slots=True)
class OffsetsDeleted:
    """The settlement of OffsetDelete."""

    token: object
    answer: OffsetDeleteResponse

    def committed(self, turn: Turn) -> None:
        turn.reply(self.token, self.answer)

    def failed(self, code: KafkaCode, turn: Turn) -> None:
        turn.reply(self.token, OffsetDeleteResponse(error_code=group_error(code)))


def delete_groups(request: DeleteGroupsRequest, caller: Caller, turn: Turn) -> None:
    results: dict[str, DeletableGroupResult] = {}
    deleted: list[Group] = []
    records: list[CoordinatorRecord] = []
    for group_id in dict.fromkeys(request.groups_names):
        group = turn.shard.groups.get(group_id)
        code = _deletable(group)
        results[group_id] = DeletableGroupResult(group_id=group_id, error_code=code)
        if group is not None and code is KafkaCode.NONE:
            deleted.append(group)
            records += tombstones_of_group(group, turn)
    answer = DeleteGroupsResponse(results=list(results.values()))
    settlement = GroupsDeleted(tuple(deleted), caller.token, answer)
    if records:
        turn.write(*records, settlement=settlement)
    else:
        settlement.committed(turn)


def _deletable(group: Group | None) -> KafkaCode:
    return ANSWERS[Asked.DELETE][DEAD if group is None else group.state]


def tombstones_of_group(group: Group, turn: Turn) -> list[CoordinatorRecord]:
    """All that makes the log forget a group. One that never had a generation has only its offsets there."""
    offsets = turn.shard.offsets
    partitions = dict.fromkeys([*offsets.of_group(group.id), *offsets.unstable(group.id)])
    records = tombstones(group.id, tuple(partitions))
    if group.generation > 0:
        records.append(group_tombstone(group.id))
    return records


def delete_offsets(request: OffsetDeleteRequest, caller: Caller, turn: Turn) -> None:
    check_group_id(request.group_id)
    group = turn.shard.groups.get(request.group_id)
    if group is None:
        raise KafkaError(KafkaCode.GROUP_ID_NOT_FOUND)
    if group.state is not EMPTY and group.protocol_type != CONSUMER_PROTOCOL_TYPE:
        # Only a consumer's metadata tells which topics are in use.
        raise KafkaError(KafkaCode.NON_EMPTY_GROUP)
    removed: list[Partition] = []
    topics = [
        OffsetDeleteResponseTopic(
            name=topic.name,
            partitions=[
                OffsetDeleteResponsePartition(
                    partition_index=asked.partition_index,
                    error_code=_remove(group, Partition(topic.name, asked.partition_index), removed, turn),
                )
                for asked in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    settlement = OffsetsDeleted(caller.token, OffsetDeleteResponse(topics=topics))
    if removed:
        turn.write(*tombstones(group.id, removed), settlement=settlement)
    else:
        settlement.committed(turn)


def _remove(group: Group, partition: Partition, removed: list[Partition], turn: Turn) -> KafkaCode:
    if not turn.shard.partition_exists(*partition):
        return KafkaCode.UNKNOWN_TOPIC_OR_PARTITION
    if group.follows(partition.topic):
        return KafkaCode.GROUP_SUBSCRIBED_TO_TOPIC
    offsets = turn.shard.offsets
    if offsets.get(group.id, partition) is not None or offsets.is_unstable(group.id, partition):
        removed.append(partition)
    return KafkaCode.NONE


def forget_topics(topics: Collection[str], turn: Turn) -> None:
    """The topics were deleted, and so their offsets mean nothing; those of new topics of the same names start anew."""
    for group_id in turn.shard.offsets.group_ids():
        partitions = dict.fromkeys([*turn.shard.offsets.of_group(group_id), *turn.shard.offsets.unstable(group_id)])
        gone = [partition for partition in partitions if partition.topic in topics]
        if gone:
            turn.write(*tombstones(group_id, gone))
