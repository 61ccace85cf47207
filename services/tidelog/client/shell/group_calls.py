"""The requests of a group member, made from what it knows."""

from collections.abc import Iterable, Mapping

from tidelog.client.core.assignors.assignor import Assignment, Assignor, MemberSubscription
from tidelog.client.core.consumer_protocol import PROTOCOL_TYPE, write_assignment, write_subscription
from tidelog.client.core.membership import Membership
from tidelog.client.records import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition
from tidelog.kafka.wire.messages.heartbeat import HeartbeatRequest
from tidelog.kafka.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tidelog.kafka.wire.messages.leave_group import LeaveGroupRequest, LeavingMember
from tidelog.kafka.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.kafka.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from tidelog.kafka.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment


def join_request(
    member: Membership,
    assignors: Iterable[Assignor],
    subscription: MemberSubscription,
    *,
    session_timeout_ms: int,
    rebalance_timeout_ms: int,
) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=member.group_id,
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_ms,
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        protocol_type=PROTOCOL_TYPE,
        protocols=[
            JoinGroupRequestProtocol(name=each.name, metadata=_subscription_for(each, subscription))
            for each in assignors
        ],
    )


def _subscription_for(assignor: Assignor, subscription: MemberSubscription) -> bytes:
    return write_subscription(
        MemberSubscription(
            subscription.topics,
            subscription.owned,
            subscription.generation,
            subscription.group_instance_id,
            subscription.rack,
            assignor.user_data(),
        )
    )


def sync_request(member: Membership, assigned: Assignment) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id=member.group_id,
        generation_id=member.generation_id,
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=member.protocol_name,
        assignments=[
            SyncGroupRequestAssignment(member_id=member_id, assignment=write_assignment(partitions))
            for member_id, partitions in assigned.items()
        ],
    )


def heartbeat_request(member: Membership) -> HeartbeatRequest:
    return HeartbeatRequest(
        group_id=member.group_id,
        generation_id=member.generation_id,
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
    )


def leave_request(member: Membership, reason: str) -> LeaveGroupRequest:
    leaving = LeavingMember(member_id=member.member_id, group_instance_id=member.group_instance_id, reason=reason)
    return LeaveGroupRequest(group_id=member.group_id, member_id=member.member_id, members=[leaving])


def commit_request(
    who: ConsumerGroupMetadata, offsets: Mapping[TopicPartition, OffsetAndMetadata]
) -> OffsetCommitRequest:
    topics: dict[str, list[OffsetCommitRequestPartition]] = {}
    for partition, committed in offsets.items():
        topics.setdefault(partition.topic, []).append(
            OffsetCommitRequestPartition(
                partition_index=partition.partition,
                committed_offset=committed.offset,
                committed_leader_epoch=committed.leader_epoch,
                committed_metadata=committed.metadata,
            )
        )
    return OffsetCommitRequest(
        group_id=who.group_id,
        generation_id_or_member_epoch=who.generation_id,
        member_id=who.member_id,
        group_instance_id=who.group_instance_id,
        topics=[OffsetCommitRequestTopic(name=name, partitions=parts) for name, parts in topics.items()],
    )


def committed_request(
    group_id: str, partitions: Iterable[TopicPartition], *, require_stable: bool
) -> OffsetFetchRequest:
    topics: dict[str, list[int]] = {}
    for each in partitions:
        topics.setdefault(each.topic, []).append(each.partition)
    return OffsetFetchRequest(
        group_id=group_id,
        topics=[OffsetFetchRequestTopic(name=name, partition_indexes=numbers) for name, numbers in topics.items()],
        require_stable=require_stable,
    )
