"""Requests that name several groups or transactions are answered in several places: cut apart, and put together again."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from tidelog.kafka.coordination.sharding import shard_of
from tidelog.kafka.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from tidelog.kafka.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from tidelog.kafka.wire.messages.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from tidelog.kafka.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from tidelog.kafka.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from tidelog.kafka.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from tidelog.kafka.wire.schema import Request, Response

K = TypeVar("K", bound=Hashable)

# From this version on, OffsetFetch is about several groups.
GROUPS_VERSION = 8


def split(request: Request[Any], version: int, shard_count: int) -> Mapping[int, Request[Any]]:
    """What to ask of which shard. ListGroups goes to every shard that is here, so it is not for this."""
    return split_by(request, version, lambda name: shard_of(name, shard_count))


def split_by(request: Request[Any], version: int, place_of: Callable[[str], K]) -> Mapping[K, Request[Any]]:
    """What to ask in which place, by where each group or transactional id belongs. Lists go everywhere."""
    if isinstance(request, DescribeGroupsRequest):
        operations = request.include_authorized_operations
        return {
            place: DescribeGroupsRequest(groups=names, include_authorized_operations=operations)
            for place, names in _by_place(request.groups, place_of).items()
        }
    if isinstance(request, DeleteGroupsRequest):
        by_place = _by_place(request.groups_names, place_of)
        return {place: DeleteGroupsRequest(groups_names=names) for place, names in by_place.items()}
    if isinstance(request, DescribeTransactionsRequest):
        by_place = _by_place(request.transactional_ids, place_of)
        return {place: DescribeTransactionsRequest(transactional_ids=ids) for place, ids in by_place.items()}
    if isinstance(request, OffsetFetchRequest) and version >= GROUPS_VERSION:
        return _split_fetch(request, place_of)
    assert not isinstance(request, ListGroupsRequest | ListTransactionsRequest)
    # The others are about one group, and all of them call it by the same name.
    group_id: str = request.group_id  # type: ignore[attr-defined]
    return {place_of(group_id): request}


def _by_place(names: Iterable[str], place_of: Callable[[str], K]) -> dict[K, list[str]]:
    places: dict[K, list[str]] = {}
    for name in names:
        places.setdefault(place_of(name), []).append(name)
    return places


def _split_fetch(request: OffsetFetchRequest, place_of: Callable[[str], K]) -> Mapping[K, Request[Any]]:
    parts: dict[K, OffsetFetchRequest] = {}
    for asked in request.groups:
        place = place_of(asked.group_id)
        part = parts.setdefault(place, OffsetFetchRequest(groups=[], require_stable=request.require_stable))
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
    if isinstance(request, DescribeTransactionsRequest):
        described_transactions = [a for a in answers if isinstance(a, DescribeTransactionsResponse)]
        states = {s.transactional_id: s for a in described_transactions for s in a.transaction_states}
        return DescribeTransactionsResponse(transaction_states=[states[name] for name in request.transactional_ids])
    if isinstance(request, ListGroupsRequest):
        return _merge_lists([answer for answer in answers if isinstance(answer, ListGroupsResponse)])
    if isinstance(request, ListTransactionsRequest):
        return _merge_transactions([answer for answer in answers if isinstance(answer, ListTransactionsResponse)])
    assert len(answers) == 1
    return answers[0]


def _merge_lists(answers: Sequence[ListGroupsResponse]) -> ListGroupsResponse:
    error_code = next((answer.error_code for answer in answers if answer.error_code), 0)
    groups = [] if error_code else [group for answer in answers for group in answer.groups]
    return ListGroupsResponse(error_code=error_code, groups=groups)


def _merge_transactions(answers: Sequence[ListTransactionsResponse]) -> ListTransactionsResponse:
    error_code = next((answer.error_code for answer in answers if answer.error_code), 0)
    states = [] if error_code else [state for answer in answers for state in answer.transaction_states]
    unknown = {name: None for answer in answers for name in answer.unknown_state_filters}
    return ListTransactionsResponse(
        error_code=error_code, unknown_state_filters=list(unknown), transaction_states=states
    )
