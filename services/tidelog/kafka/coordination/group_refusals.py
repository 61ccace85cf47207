"""The answer that carries an error code, for any request about groups."""

from collections.abc import Callable
from typing import Any

from tidelog.kafka.coordination.splitting import GROUPS_VERSION
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from tidelog.kafka.wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from tidelog.kafka.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from tidelog.kafka.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from tidelog.kafka.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from tidelog.kafka.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from tidelog.kafka.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from tidelog.kafka.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from tidelog.kafka.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from tidelog.kafka.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from tidelog.kafka.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from tidelog.kafka.wire.schema import Request, Response

# Versions before this one of OffsetFetch have no place for an error but at each partition.
_TOP_ERROR_VERSION = 2

PartitionExists = Callable[[str, int], bool]


def refused(request: Request[Any], version: int, code: KafkaCode, partition_exists: PartitionExists) -> Response:
    """The refusal. Of a partition that does not exist, a commit says so whatever else is wrong."""
    if isinstance(request, OffsetCommitRequest):
        return _offset_commit(request, code, partition_exists)
    if isinstance(request, TxnOffsetCommitRequest):
        return _txn_offset_commit(request, code, partition_exists)
    if isinstance(request, OffsetFetchRequest):
        return _offset_fetch(request, version, code)
    return _PLAIN[type(request)](request, code)


def while_loading(request: Request[Any], version: int, partition_exists: PartitionExists) -> Response:
    """The answer of a shard that is not loaded yet. Members are kept going until it can tell who they are."""
    if isinstance(request, HeartbeatRequest):
        return HeartbeatResponse()
    if isinstance(request, SyncGroupRequest):
        return SyncGroupResponse(error_code=KafkaCode.REBALANCE_IN_PROGRESS)
    return refused(request, version, KafkaCode.COORDINATOR_LOAD_IN_PROGRESS, partition_exists)


def _describe(request: DescribeGroupsRequest, code: KafkaCode) -> Response:
    return DescribeGroupsResponse(groups=[DescribedGroup(group_id=name, error_code=code) for name in request.groups])


def _delete(request: DeleteGroupsRequest, code: KafkaCode) -> Response:
    names = dict.fromkeys(request.groups_names)
    return DeleteGroupsResponse(results=[DeletableGroupResult(group_id=name, error_code=code) for name in names])


_PLAIN: dict[type[Request[Any]], Callable[[Any, KafkaCode], Response]] = {
    JoinGroupRequest: lambda request, code: JoinGroupResponse(error_code=code, member_id=request.member_id),
    SyncGroupRequest: lambda _, code: SyncGroupResponse(error_code=code),
    HeartbeatRequest: lambda _, code: HeartbeatResponse(error_code=code),
    LeaveGroupRequest: lambda _, code: LeaveGroupResponse(error_code=code),
    ListGroupsRequest: lambda _, code: ListGroupsResponse(error_code=code),
    OffsetDeleteRequest: lambda _, code: OffsetDeleteResponse(error_code=code),
    DescribeGroupsRequest: _describe,
    DeleteGroupsRequest: _delete,
}


def _partition_code(topic: str, index: int, code: KafkaCode, partition_exists: PartitionExists) -> KafkaCode:
    return code if partition_exists(topic, index) else KafkaCode.UNKNOWN_TOPIC_OR_PARTITION


def _offset_commit(request: OffsetCommitRequest, code: KafkaCode, partition_exists: PartitionExists) -> Response:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetCommitResponsePartition(
                        partition_index=partition.partition_index,
                        error_code=_partition_code(topic.name, partition.partition_index, code, partition_exists),
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _txn_offset_commit(request: TxnOffsetCommitRequest, code: KafkaCode, partition_exists: PartitionExists) -> Response:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=partition.partition_index,
                        error_code=_partition_code(topic.name, partition.partition_index, code, partition_exists),
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _offset_fetch(request: OffsetFetchRequest, version: int, code: KafkaCode) -> Response:
    if version >= GROUPS_VERSION:
        groups = [OffsetFetchResponseGroup(group_id=asked.group_id, error_code=code) for asked in request.groups]
        return OffsetFetchResponse(groups=groups)
    if version >= _TOP_ERROR_VERSION:
        return OffsetFetchResponse(error_code=code)
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(partition_index=index, committed_offset=-1, error_code=code)
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics or []
        ]
    )
