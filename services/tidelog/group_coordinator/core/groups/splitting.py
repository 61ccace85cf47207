"""Requests that name several groups are answered by several shards: cut apart by shard, and put together again."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tidelog.group_coordinator.core.groups.fetching import GROUPS_VERSION
from tidelog.group_coordinator.core.transactions.sharding import offsets_partition_of
from tidelog.kafka.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from tidelog.kafka.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from tidelog.kafka.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from tidelog.kafka.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from tidelog.kafka.wire.schema import Request, Response


def shard_of_group(group_id: str, shard_count: int) -> int:
    """The partition of __consumer_offsets that holds this group."""
    return offsets_partition_of(group_id, shard_count)


def split(request: Request[Any], version: int, shard_count: int) -> Mapping[int, Request[Any]]:
    """What to ask of which shard. ListGroups goes to every shard that is here, so it is not for this."""
    if isinstance(request, DescribeGroupsRequest):
        operations = request.include_authorized_operations
        return {
            shard: DescribeGroupsRequest(groups=names, include_authorized_operations=operations)
            for shard, names in _by_shard(request.groups, shard_count).items()
        }
    if isinstance(request, DeleteGroupsRequest):
        by_shard = _by_shard(request.groups_names, shard_count)
        return {shard: DeleteGroupsRequest(groups_names=names) for shard, names in by_shard.items()}
    if isinstance(request, OffsetFetchRequest) and version >= GROUPS_VERSION:
        return _split_fetch(request, shard_count)
    assert not isinstance(request, ListGroupsRequest)
    # The others are about one group, and all of them call it by the same name.
    group_id: str = request.group_id  # type: ignore[attr-defined]
    return {shard_of_group(group_id, shard_count): request}


def _by_shard(group_ids: Iterable[str], shard_count: int) -> dict[int, list[str]]:
    shards: dict[int, list[str]] = {}
    for group_id in group_ids:
        shards.setdefault(shard_of_group(group_id, shard_count), []).append(group_id)
    return shards


def _split_fetch(request: OffsetFetchRequest, shard_count: int) -> Mapping[int, Request[Any]]:
    parts: dict[int, OffsetFetchRequest] = {}
    for asked in request.groups:
        shard = shard_of_group(asked.group_id, shard_count)
        part = parts.setdefault(shard, OffsetFetchRequest(groups=[], require_stable=request.require_stable))
        part.groups.append(asked)
    return parts


def merge(request: Request[Any], version: int, answers: Sequence[Response]) -> Response:
    """One answer from those to the parts, with the groups in the order in which they were asked for."""
    if isinstance(request, DescribeGroupsRequest):
        described = {g.group_id: g for a in answers if isinstance(a, DescribeGroupsResponse) for g in a.groups}
        return DescribeGroupsResponse(groups=[described[name] for name in request.groups])
    if isinstance(request, DeleteGroupsRequest):
        results = {r.group_id: r for a in answers if isinstance(a, DeleteGroupsResponse) for r in a.results}
        return DeleteGroupsResponse(results=[results[name] for name in dict.fromkeys(request.groups_names)])
    if isinstance(request, OffsetFetchRequest) and version >= GROUPS_VERSION:
        groups = {g.group_id: g for a in answers if isinstance(a, OffsetFetchResponse) for g in a.groups}
        return OffsetFetchResponse(groups=[groups[asked.group_id] for asked in request.groups])
    if isinstance(request, ListGroupsRequest):
        return _merge_lists([answer for answer in answers if isinstance(answer, ListGroupsResponse)])
    assert len(answers) == 1
    return answers[0]


def _merge_lists(answers: Sequence[ListGroupsResponse]) -> ListGroupsResponse:
    error_code = next((answer.error_code for answer in answers if answer.error_code), 0)
    groups = [] if error_code else [group for answer in answers for group in answer.groups]
    return ListGroupsResponse(error_code=error_code, groups=groups)
