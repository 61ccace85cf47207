"""DescribeTransactions and ListTransactions."""

import pytest

from tests.support.transaction_coordinator import Coordinator, tp
from tidelog.group_coordinator.core.transactions.shard import list_transactions
from tidelog.group_coordinator.core.transactions.states import TransactionState
from tidelog.kafka.errors import KafkaCode as K
from tidelog.kafka.wire.messages.describe_transactions import DescribedTransaction, TransactionTopic
from tidelog.kafka.wire.messages.list_transactions import ListedTransaction, ListTransactionsRequest


@pytest.fixture
def coordinator() -> Coordinator:
    """An idle id, an open transaction that is 500 ms old, and one that is complete."""
    coordinator = Coordinator()
    coordinator.granted("idle", timeout_ms=45_000)
    done = coordinator.granted("done")
    coordinator.add(done, tp("a", 0), name="done")
    coordinator.end(done, commit=True, name="done")
    coordinator.deliver()
    coordinator.add(coordinator.granted("busy"), tp("b", 0), tp("a", 2), tp("a", 1), name="busy")
    coordinator.now_ms += 500
    return coordinator


def listed(coordinator: Coordinator, request: ListTransactionsRequest | None = None) -> set[str]:
    response = list_transactions([coordinator.shard], request or ListTransactionsRequest(), coordinator.now_ms)
    assert response.error_code == K.NONE
    return {each.transactional_id for each in response.transaction_states}


def test_idle_id_is_described(coordinator: Coordinator) -> None:
    assert coordinator.shard.describe("idle") == DescribedTransaction(
        transactional_id="idle",
        transaction_state="Empty",
        transaction_timeout_ms=45_000,
        transaction_start_time_ms=-1,
        producer_id=5000,
        producer_epoch=0,
        topics=[],
    )


def test_open_transaction_is_described_with_its_partitions(coordinator: Coordinator) -> None:
    found = coordinator.shard.describe("busy")
    assert (found.transaction_state, found.transaction_start_time_ms) == ("Ongoing", coordinator.now_ms - 500)
    assert found.topics == [TransactionTopic(topic="a", partitions=[1, 2]), TransactionTopic(topic="b", partitions=[0])]


def test_complete_transaction_is_described_without_partitions(coordinator: Coordinator) -> None:
    found = coordinator.shard.describe("done")
    assert (found.transaction_state, found.topics) == ("CompleteCommit", [])


@pytest.mark.parametrize(("name", "code"), [("nobody", K.TRANSACTIONAL_ID_NOT_FOUND), ("", K.INVALID_REQUEST)])
def test_unknown_or_empty_id_is_not_described(coordinator: Coordinator, name: str, code: K) -> None:
    found = coordinator.shard.describe(name)
    assert (found.error_code, found.transactional_id) == (code, name)


def test_all_are_listed_without_filters(coordinator: Coordinator) -> None:
    response = list_transactions([coordinator.shard], ListTransactionsRequest(), coordinator.now_ms)
    assert response.transaction_states == [
        ListedTransaction(transactional_id="idle", producer_id=5000, transaction_state="Empty"),
        ListedTransaction(transactional_id="done", producer_id=5001, transaction_state="CompleteCommit"),
        ListedTransaction(transactional_id="busy", producer_id=5002, transaction_state="Ongoing"),
    ]


def test_shards_are_listed_together(coordinator: Coordinator) -> None:
    other = Coordinator()
    other.granted("elsewhere")
    response = list_transactions([coordinator.shard, other.shard], ListTransactionsRequest(), 0)
    assert len(response.transaction_states) == 4


def test_state_and_producer_id_filter(coordinator: Coordinator) -> None:
    assert listed(coordinator, ListTransactionsRequest(state_filters=["Ongoing"])) == {"busy"}
    assert listed(coordinator, ListTransactionsRequest(state_filters=["Empty", "Ongoing"])) == {"idle", "busy"}
    assert listed(coordinator, ListTransactionsRequest(producer_id_filters=[5000, 5001])) == {"idle", "done"}
    both = ListTransactionsRequest(producer_id_filters=[5000], state_filters=["Ongoing"])
    assert listed(coordinator, both) == set()


def test_unknown_state_is_reported_and_matches_nothing(coordinator: Coordinator) -> None:
    request = ListTransactionsRequest(state_filters=["Nonsense"])
    response = list_transactions([coordinator.shard], request, coordinator.now_ms)
    assert (response.unknown_state_filters, response.transaction_states) == (["Nonsense"], [])


@pytest.mark.parametrize(
    ("duration_ms", "names"), [(-1, {"idle", "done", "busy"}), (0, {"busy"}), (499, {"busy"}), (500, set())]
)
def test_duration_asks_for_transactions_open_for_longer(
    coordinator: Coordinator, duration_ms: int, names: set[str]
) -> None:
    assert listed(coordinator, ListTransactionsRequest(duration_filter=duration_ms)) == names


def test_states_are_counted(coordinator: Coordinator) -> None:
    assert coordinator.shard.counts() == {
        TransactionState.EMPTY: 1,
        TransactionState.COMPLETE_COMMIT: 1,
        TransactionState.ONGOING: 1,
    }
