"""Requests about several keys are cut apart by where the keys belong, and the answers put together in order."""

from tidelog.kafka.coordination.splitting import merge, split_by
from tidelog.kafka.wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from tidelog.kafka.wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from tidelog.kafka.wire.messages.describe_transactions import (
    DescribedTransaction,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from tidelog.kafka.wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from tidelog.kafka.wire.messages.list_transactions import (
    ListedTransaction,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from tidelog.kafka.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)

NAMES = ["a1", "b1", "a2"]


def place_of(name: str) -> str:
    return name[0]


def test_described_groups() -> None:
    request = DescribeGroupsRequest(groups=NAMES, include_authorized_operations=True)
    parts = split_by(request, 5, place_of)
    assert parts == {
        "a": DescribeGroupsRequest(groups=["a1", "a2"], include_authorized_operations=True),
        "b": DescribeGroupsRequest(groups=["b1"], include_authorized_operations=True),
    }
    answers = [
        DescribeGroupsResponse(groups=[DescribedGroup(group_id=name) for name in part.groups])
        for part in reversed(list(parts.values()))
    ]
    merged = merge(request, 5, answers)
    assert isinstance(merged, DescribeGroupsResponse)
    assert [group.group_id for group in merged.groups] == NAMES


def test_deleted_groups() -> None:
    request = DeleteGroupsRequest(groups_names=[*NAMES, "a1"])
    parts = split_by(request, 2, place_of)
    assert parts == {
        "a": DeleteGroupsRequest(groups_names=["a1", "a2", "a1"]),
        "b": DeleteGroupsRequest(groups_names=["b1"]),
    }
    answers = [DeleteGroupsResponse(results=[DeletableGroupResult(group_id=name)]) for name in reversed(NAMES)]
    merged = merge(request, 2, answers)
    assert isinstance(merged, DeleteGroupsResponse)
    assert [result.group_id for result in merged.results] == NAMES


def test_described_transactions() -> None:
    request = DescribeTransactionsRequest(transactional_ids=NAMES)
    assert split_by(request, 0, place_of) == {
        "a": DescribeTransactionsRequest(transactional_ids=["a1", "a2"]),
        "b": DescribeTransactionsRequest(transactional_ids=["b1"]),
    }
    answers = [
        DescribeTransactionsResponse(transaction_states=[DescribedTransaction(transactional_id=name)])
        for name in reversed(NAMES)
    ]
    merged = merge(request, 0, answers)
    assert isinstance(merged, DescribeTransactionsResponse)
    assert [state.transactional_id for state in merged.transaction_states] == NAMES


def test_fetched_offsets() -> None:
    asked = {name: OffsetFetchRequestGroup(group_id=name, topics=None) for name in NAMES}
    request = OffsetFetchRequest(groups=list(asked.values()), require_stable=True)
    assert split_by(request, 8, place_of) == {
        "a": OffsetFetchRequest(groups=[asked["a1"], asked["a2"]], require_stable=True),
        "b": OffsetFetchRequest(groups=[asked["b1"]], require_stable=True),
    }
    answers = [OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group_id=name)]) for name in reversed(NAMES)]
    merged = merge(request, 8, answers)
    assert isinstance(merged, OffsetFetchResponse)
    assert [group.group_id for group in merged.groups] == NAMES
    assert merge(OffsetFetchRequest(), 8, []) == OffsetFetchResponse()


def test_lists_are_joined_and_an_error_of_one_is_the_error_of_all() -> None:
    groups = [ListGroupsResponse(groups=[ListedGroup(group_id=name)]) for name in NAMES]
    merged = merge(ListGroupsRequest(), 4, groups)
    assert isinstance(merged, ListGroupsResponse)
    assert [group.group_id for group in merged.groups] == NAMES
    assert merge(ListGroupsRequest(), 4, [*groups, ListGroupsResponse(error_code=15)]) == ListGroupsResponse(
        error_code=15
    )


def test_lists_of_transactions_tell_every_unknown_state_once() -> None:
    transactions = [
        ListTransactionsResponse(
            transaction_states=[ListedTransaction(transactional_id=name)], unknown_state_filters=["Odd"]
        )
        for name in NAMES
    ]
    merged = merge(ListTransactionsRequest(), 0, transactions)
    assert isinstance(merged, ListTransactionsResponse)
    assert [state.transactional_id for state in merged.transaction_states] == NAMES
    assert merged.unknown_state_filters == ["Odd"]
    refused = merge(ListTransactionsRequest(), 0, [*transactions, ListTransactionsResponse(error_code=14)])
    assert isinstance(refused, ListTransactionsResponse)
    assert (refused.error_code, refused.transaction_states) == (14, [])
