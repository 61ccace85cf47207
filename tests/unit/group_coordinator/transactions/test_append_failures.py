"""Records that could not be appended: nothing has changed, and everything can be tried again."""

import pytest

from tests.support.transaction_coordinator import NAME, Coordinator, all_written, tp
from tidelog.group_coordinator.core.transactions.append_errors import append_refused
from tidelog.group_coordinator.core.transactions.markers import MARKER_RETRY_MS
from tidelog.kafka.coordination.transaction_answers import TransactionRequest, refusal
from tidelog.kafka.errors import KafkaCode as K
from tidelog.kafka.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from tidelog.kafka.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
)
from tidelog.kafka.wire.messages.describe_transactions import (
    DescribedTransaction,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from tidelog.kafka.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from tidelog.kafka.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tidelog.kafka.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from tidelog.kafka.wire.schema import Response


@pytest.fixture
def coordinator() -> Coordinator:
    return Coordinator()


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (K.UNKNOWN_TOPIC_OR_PARTITION, K.COORDINATOR_NOT_AVAILABLE),
        (K.NOT_ENOUGH_REPLICAS, K.COORDINATOR_NOT_AVAILABLE),
        (K.NOT_ENOUGH_REPLICAS_AFTER_APPEND, K.COORDINATOR_NOT_AVAILABLE),
        (K.REQUEST_TIMED_OUT, K.COORDINATOR_NOT_AVAILABLE),
        (K.NETWORK_EXCEPTION, K.COORDINATOR_NOT_AVAILABLE),
        (K.NOT_LEADER_OR_FOLLOWER, K.NOT_COORDINATOR),
        (K.KAFKA_STORAGE_ERROR, K.NOT_COORDINATOR),
        (K.INVALID_PRODUCER_EPOCH, K.NOT_COORDINATOR),
        (K.MESSAGE_TOO_LARGE, K.UNKNOWN_SERVER_ERROR),
        (K.UNKNOWN_SERVER_ERROR, K.UNKNOWN_SERVER_ERROR),
    ],
)
def test_append_errors_are_told_in_the_words_of_coordinators(code: K, told: K) -> None:
    assert append_refused(code) == told


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (
            InitProducerIdRequest(transactional_id=NAME),
            InitProducerIdResponse(error_code=16, producer_id=-1, producer_epoch=-1),
        ),
        (
            AddPartitionsToTxnRequest(
                transactional_id=NAME,
                producer_id=1,
                producer_epoch=0,
                topics=[AddPartitionsToTxnTopic(name="a", partitions=[1, 0])],
            ),
            AddPartitionsToTxnResponse(
                results_by_topic=[
                    AddPartitionsToTxnTopicResult(
                        name="a",
                        results_by_partition=[
                            AddPartitionsToTxnPartitionResult(partition_index=1, partition_error_code=16),
                            AddPartitionsToTxnPartitionResult(partition_index=0, partition_error_code=16),
                        ],
                    )
                ]
            ),
        ),
        (AddOffsetsToTxnRequest(transactional_id=NAME), AddOffsetsToTxnResponse(error_code=16)),
        (EndTxnRequest(transactional_id=NAME), EndTxnResponse(error_code=16)),
        (
            DescribeTransactionsRequest(transactional_ids=[NAME]),
            DescribeTransactionsResponse(
                transaction_states=[DescribedTransaction(error_code=16, transactional_id=NAME)]
            ),
        ),
        (ListTransactionsRequest(), ListTransactionsResponse(error_code=16)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_any_request_can_be_refused_as_a_whole(request_: TransactionRequest, answer: Response) -> None:
    assert refusal(request_, 0, K.NOT_COORDINATOR) == answer


def test_first_grant_that_failed_leaves_nothing(coordinator: Coordinator) -> None:
    coordinator.shard.on_append_failed(coordinator.asked_init().records, coordinator.now_ms)
    assert coordinator.shard.describe(NAME).error_code == K.TRANSACTIONAL_ID_NOT_FOUND
    assert coordinator.granted() == (5001, 0)


def test_bump_that_failed_can_be_asked_for_again(coordinator: Coordinator) -> None:
    who = coordinator.granted()
    coordinator.shard.on_append_failed(coordinator.asked_init(told=who).records, coordinator.now_ms)
    assert coordinator.granted(told=who) == (who[0], 1)


def test_partition_whose_record_failed_is_not_in(coordinator: Coordinator) -> None:
    who = coordinator.granted()
    coordinator.shard.on_append_failed(coordinator.asked_add(who, tp("a", 0)).records, coordinator.now_ms)
    assert coordinator.state() == "Empty"
    assert coordinator.add(who, tp("a", 0)) == {tp("a", 0): K.NONE}


def test_end_that_failed_is_not_decided(coordinator: Coordinator) -> None:
    who = coordinator.granted()
    coordinator.add(who, tp("a", 0))
    coordinator.shard.on_append_failed(coordinator.asked_end(who, commit=True).records, coordinator.now_ms)
    assert coordinator.send_due() == ()
    assert coordinator.end(who, commit=False) == K.NONE


def test_producer_stays_fenced_although_its_abort_could_not_be_written(coordinator: Coordinator) -> None:
    old = coordinator.granted()
    coordinator.add(old, tp("a", 0))
    coordinator.shard.on_append_failed(coordinator.asked_init().records, coordinator.now_ms)
    assert coordinator.state() == "Ongoing"
    for epoch in (0, 1):
        assert coordinator.end((old[0], epoch), commit=True) == K.PRODUCER_FENCED
        assert coordinator.init(told=(old[0], epoch)).error_code == K.PRODUCER_FENCED
    assert coordinator.init().error_code == K.CONCURRENT_TRANSACTIONS
    assert coordinator.history()[-1] == ("PrepareAbort", 1)
    coordinator.deliver()
    assert coordinator.granted() == (old[0], 2)


def test_completion_that_failed_is_written_after_a_pause_without_new_markers(coordinator: Coordinator) -> None:
    who = coordinator.granted()
    coordinator.add(who, tp("a", 0))
    coordinator.end(who, commit=True)
    (sent,) = coordinator.send_due()
    coordinator.shard.on_markers_answered(sent, all_written(sent), coordinator.now_ms)
    (completion,) = coordinator.shard.take_due(coordinator.view, coordinator.now_ms).completions
    coordinator.shard.on_append_failed(completion.records, coordinator.now_ms)
    due = coordinator.shard.take_due(coordinator.view, coordinator.now_ms)
    assert (due.completions, due.sends, due.next_due_ms) == ((), (), coordinator.now_ms + MARKER_RETRY_MS)
    coordinator.now_ms += MARKER_RETRY_MS
    assert coordinator.send_due() == ()
    assert coordinator.state() == "CompleteCommit"
