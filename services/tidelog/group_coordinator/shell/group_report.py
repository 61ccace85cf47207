"""Shards and groups as they are shown over gRPC."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidelog.group_coordinator.core.groups.assignment import assigned_partitions
from tidelog.group_coordinator.shell.shard import Phase
from tidelog.rpc import group_coordinator_pb2, types_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tidelog.group_coordinator.core.groups.group import Group
    from tidelog.group_coordinator.core.groups.offsets import CommittedOffset, Partition
    from tidelog.group_coordinator.core.groups.shard import GroupShard
    from tidelog.group_coordinator.core.lag import Lag
    from tidelog.group_coordinator.shell.shard import Shard
    from tidelog.group_coordinator.shell.shards import Shards

    LagOf = Callable[[Partition, int], Lag | None]

_PHASES = {
    Phase.FENCING: group_coordinator_pb2.ShardState.FENCING,
    Phase.LOADING: group_coordinator_pb2.ShardState.LOADING,
    Phase.ACTIVE: group_coordinator_pb2.ShardState.ACTIVE,
    Phase.FENCED: group_coordinator_pb2.ShardState.FENCED,
}


def describe_shards(shards: Shards, coordinator_id: int) -> group_coordinator_pb2.DescribeShardsResponse:
    return group_coordinator_pb2.DescribeShardsResponse(shards=_states(shards, coordinator_id))


def describe_groups(
    shards: Shards, lag_of: LagOf, group_ids: Iterable[str]
) -> group_coordinator_pb2.DescribeGroupsResponse:
    """These groups as far as they are here, or all that are here."""
    wanted = frozenset(group_ids)
    response = group_coordinator_pb2.DescribeGroupsResponse()
    for index, shard in shards.groups.items():
        if shard.content is None:
            response.loading_shards.append(index)
        else:
            core = shard.content.core
            response.groups.extend(_group(core, group, lag_of) for group in _chosen(core, wanted))
    return response


def _chosen(core: GroupShard, wanted: frozenset[str]) -> Iterable[Group]:
    if not wanted:
        return core.groups()
    return (group for group_id in wanted if (group := core.group(group_id)) is not None)


def _states(shards: Shards, coordinator_id: int) -> Iterator[group_coordinator_pb2.ShardState]:
    for groups in shards.groups.values():
        count = groups.content.core.count_by_state().total() if groups.content is not None else 0
        yield _state(groups, coordinator_id, groups=count)
    for transactions in shards.transactions.values():
        count = sum(transactions.content.core.counts().values()) if transactions.content is not None else 0
        yield _state(transactions, coordinator_id, transactions=count)


def _state(
    shard: Shard[Any], coordinator_id: int, *, groups: int = 0, transactions: int = 0
) -> group_coordinator_pb2.ShardState:
    owner = types_pb2.ShardOwner(
        topic=shard.name.topic, partition=shard.name.partition, coordinator=coordinator_id, epoch=shard.epoch
    )
    return group_coordinator_pb2.ShardState(
        shard=owner, phase=_PHASES[shard.phase], groups=groups, transactions=transactions
    )


def _group(core: GroupShard, group: Group, lag_of: LagOf) -> group_coordinator_pb2.Group:
    return group_coordinator_pb2.Group(
        group_id=group.id,
        state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol=group.protocol or "",
        generation_id=group.generation,
        leader=group.leader or "",
        members=[
            group_coordinator_pb2.GroupMember(
                member_id=member.id,
                group_instance_id=member.instance_id or "",
                client_id=member.client_id,
                client_host=member.client_host,
                assignment=[
                    types_pb2.TopicPartition(topic=topic, partition=number)
                    for topic, number in assigned_partitions(member.assignment)
                ],
            )
            for member in group.members.values()
        ],
        offsets=[
            _offset(partition, committed, lag_of(partition, committed.offset))
            for partition, committed in sorted(core.offsets_of(group.id).items())
        ],
    )


def _offset(partition: Partition, committed: CommittedOffset, lag: Lag | None) -> group_coordinator_pb2.CommittedOffset:
    return group_coordinator_pb2.CommittedOffset(
        topic=partition.topic,
        partition=partition.number,
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp_ms=committed.commit_timestamp_ms,
        lag=lag.messages if lag is not None else None,
        lag_seconds=lag.seconds if lag is not None else None,
    )
