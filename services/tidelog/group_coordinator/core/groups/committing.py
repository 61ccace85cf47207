"""OffsetCommit and TxnOffsetCommit: how far a group has read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tidelog.group_coordinator.core.groups import formats
from tidelog.group_coordinator.core.groups.append_errors import offset_error
from tidelog.group_coordinator.core.groups.effects import Producer
from tidelog.group_coordinator.core.groups.formats import OffsetValue
from tidelog.group_coordinator.core.groups.group import Group
from tidelog.group_coordinator.core.groups.limits import is_too_long
from tidelog.group_coordinator.core.groups.members import FromMember, check_group_id
from tidelog.group_coordinator.core.groups.offsets import Partition
from tidelog.group_coordinator.core.groups.rebalancing import restart_session
from tidelog.group_coordinator.core.groups.removing import drop_group_if_unused
from tidelog.group_coordinator.core.groups.states import EMPTY, Asked, check_state
from tidelog.group_coordinator.core.groups.turn import Caller, Turn
from tidelog.group_coordinator.core.records import CoordinatorRecord
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from tidelog.kafka.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)


class _PartitionAsked(Protocol):
    """What both requests say of a partition."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    committed_metadata: str | None


class _Times:
    """When an offset counts as committed, and when it is forgotten if the client said so."""

    __slots__ = ("expire_ms", "now_ms")

    def __init__(self, now_ms: int, retention_ms: int = -1) -> None:
        self.now_ms = now_ms
        self.expire_ms = now_ms + retention_ms if retention_ms >= 0 else -1


@dataclass(frozen=True, slots=True)
class OffsetsStored:
    """The settlement of a commit; `partitions` are those that the log was asked to take."""

    group: Group
    token: object
    answer: OffsetCommitResponse | TxnOffsetCommitResponse
    partitions: tuple[Partition, ...]

    def committed(self, turn: Turn) -> None:
        self._landed(turn)
        turn.note_offsets_committed(len(self.partitions))
        turn.reply(self.token, self.answer)

    def failed(self, code: KafkaCode, turn: Turn) -> None:
        self._landed(turn)
        drop_group_if_unused(self.group, turn)
        told = offset_error(code, is_transactional=self._is_transactional)
        for topic in self.answer.topics:
            for partition in topic.partitions:
                partition.error_code = partition.error_code or told
        turn.reply(self.token, self.answer)

    @property
    def _is_transactional(self) -> bool:
        return isinstance(self.answer, TxnOffsetCommitResponse)

    def _landed(self, turn: Turn) -> None:
        self.group.commits_in_flight -= 1
        if self._is_transactional:
            turn.shard.offsets.withdraw(self.group.id, self.partitions)


def commit(request: OffsetCommitRequest, caller: Caller, turn: Turn) -> None:
    generation_id = request.generation_id_or_member_epoch
    group = _group_for(request, generation_id, turn)
    _check_committer(group, request, generation_id, is_transactional=False)
    member = group.members.get(request.member_id)
    if member is not None and not member.is_new:
        restart_session(group, member, turn)
    taken = _Taken(request.group_id, _Times(turn.now_ms, request.retention_time_ms), turn)
    topics = [
        OffsetCommitResponseTopic(
            name=topic.name,
            partitions=[
                OffsetCommitResponsePartition(
                    partition_index=partition.partition_index,
                    error_code=taken.take(topic.name, partition, partition.commit_timestamp),
                )
                for partition in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    _finish(group, caller, taken, OffsetCommitResponse(topics=topics), turn)


def commit_in_transaction(request: TxnOffsetCommitRequest, caller: Caller, turn: Turn) -> None:
    check_group_id(request.group_id)
    group = _group_for(request, request.generation_id, turn)
    _check_committer(group, request, request.generation_id, is_transactional=True)
    taken = _Taken(request.group_id, _Times(turn.now_ms), turn)
    topics = [
        TxnOffsetCommitResponseTopic(
            name=topic.name,
            partitions=[
                TxnOffsetCommitResponsePartition(
                    partition_index=partition.partition_index, error_code=taken.take(topic.name, partition)
                )
                for partition in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    producer = Producer(request.producer_id, request.producer_epoch)
    _finish(group, caller, taken, TxnOffsetCommitResponse(topics=topics), turn, producer)


def _group_for(request: FromMember, generation_id: int, turn: Turn) -> Group:
    group = turn.shard.groups.get(request.group_id)
    if group is not None:
        return group
    if is_too_long(request.group_id):
        raise KafkaError(KafkaCode.INVALID_GROUP_ID)
    # Only who manages its partitions without a group may be the first.
    if generation_id >= 0:
        raise KafkaError(KafkaCode.ILLEGAL_GENERATION)
    return Group(request.group_id, turn.now_ms)


def _check_committer(group: Group, request: FromMember, generation_id: int, *, is_transactional: bool) -> None:
    if generation_id < 0 and group.state is EMPTY:
        return
    if generation_id >= 0 or request.member_id or request.group_instance_id is not None:
        group.member(request.member_id, request.group_instance_id)
        if generation_id != group.generation:
            raise KafkaError(KafkaCode.ILLEGAL_GENERATION)
    elif not is_transactional:
        raise KafkaError(KafkaCode.UNKNOWN_MEMBER_ID)
    # In a transaction the fence is the producer's epoch, so a rebalance need not hold it up.
    if not is_transactional:
        check_state(Asked.COMMIT, group.state)


class _Taken:
    """The records of the partitions that may be committed."""

    def __init__(self, group_id: str, times: _Times, turn: Turn) -> None:
        self.records: list[CoordinatorRecord] = []
        self.partitions: list[Partition] = []
        self._group_id = group_id
        self._times = times
        self._partition_exists = turn.shard.partition_exists
        self._metadata_max = turn.shard.limits.offset_metadata_max

    def take(self, topic: str, asked: _PartitionAsked, commit_timestamp_ms: int = -1) -> KafkaCode:
        """The error of this partition, or NONE when its record was added."""
        metadata = asked.committed_metadata or ""
        if not self._partition_exists(topic, asked.partition_index):
            return KafkaCode.UNKNOWN_TOPIC_OR_PARTITION
        if len(metadata) > self._metadata_max or is_too_long(metadata):
            return KafkaCode.OFFSET_METADATA_TOO_LARGE
        value = OffsetValue(
            offset=asked.committed_offset,
            leader_epoch=asked.committed_leader_epoch,
            metadata=metadata,
            commit_timestamp=commit_timestamp_ms if commit_timestamp_ms >= 0 else self._times.now_ms,
            expire_timestamp=self._times.expire_ms,
        )
        key = formats.offset_key(self._group_id, topic, asked.partition_index)
        self.records.append(CoordinatorRecord(key, formats.encode_offset_value(value)))
        self.partitions.append(Partition(topic, asked.partition_index))
        return KafkaCode.NONE


def _finish(
    group: Group,
    caller: Caller,
    taken: _Taken,
    answer: OffsetCommitResponse | TxnOffsetCommitResponse,
    turn: Turn,
    producer: Producer | None = None,
) -> None:
    if not taken.records:
        turn.reply(caller.token, answer)
        return
    turn.shard.groups.setdefault(group.id, group)
    group.commits_in_flight += 1
    if producer is not None:
        turn.shard.offsets.announce(group.id, taken.partitions)
    settlement = OffsetsStored(group, caller.token, answer, tuple(taken.partitions))
    turn.write(*taken.records, settlement=settlement, producer=producer)


def tombstones(group_id: str, partitions: Sequence[Partition]) -> list[CoordinatorRecord]:
    return [CoordinatorRecord(formats.offset_key(group_id, *partition), None) for partition in partitions]
