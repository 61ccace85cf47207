"""What becomes of a batch after its answer, and how a producer gets a new identity."""

import pytest

from tidelog.client.core.batch import ProducerBatch
from tidelog.client.core.identity import ProducerIdentity
from tidelog.client.core.partition_queue import PartitionQueue
from tidelog.client.core.verdicts import Verdict, judge
from tidelog.kafka.errors import KafkaCode


def sent(queue: PartitionQueue, count: int = 1, *, numbered: bool = True) -> ProducerBatch:
    queue.open = ProducerBatch("t", 0, size=1000)
    for _ in range(count):
        queue.open.append(1, None, b"v", [])
    batch = queue.take()
    if numbered:
        queue.number(batch, 7, 0)
    return batch


def verdict(
    code: KafkaCode, batch: ProducerBatch, queue: PartitionQueue, retries: int = 10, *, transactional: bool = False
) -> Verdict:
    return judge(code, batch, queue, retries=retries, is_transactional=transactional)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (KafkaCode.NONE, Verdict.DONE),
        (KafkaCode.DUPLICATE_SEQUENCE_NUMBER, Verdict.DONE),
        (KafkaCode.NOT_LEADER_OR_FOLLOWER, Verdict.RETRY),
        (KafkaCode.NETWORK_EXCEPTION, Verdict.RETRY),
        (KafkaCode.NOT_ENOUGH_REPLICAS, Verdict.RETRY),
        (KafkaCode.INVALID_RECORD, Verdict.FAIL),
        (KafkaCode.MESSAGE_TOO_LARGE, Verdict.FAIL),
        (KafkaCode.TOPIC_AUTHORIZATION_FAILED, Verdict.FAIL),
        (KafkaCode.UNKNOWN_PRODUCER_ID, Verdict.RESET_AND_RETRY),
        (KafkaCode.OUT_OF_ORDER_SEQUENCE_NUMBER, Verdict.RESET_AND_RETRY),
    ],
)
def test_a_single_record(code: KafkaCode, expected: Verdict) -> None:
    queue = PartitionQueue("t", 0, 5)
    assert verdict(code, sent(queue), queue) is expected


def test_several_records_that_are_too_large_are_split() -> None:
    queue = PartitionQueue("t", 0, 5)
    assert verdict(KafkaCode.MESSAGE_TOO_LARGE, sent(queue, 2), queue) is Verdict.SPLIT


def test_retries_come_to_an_end() -> None:
    queue = PartitionQueue("t", 0, 5)
    batch = sent(queue)
    assert verdict(KafkaCode.REQUEST_TIMED_OUT, batch, queue, retries=1) is Verdict.RETRY
    batch.attempts = 2
    assert verdict(KafkaCode.REQUEST_TIMED_OUT, batch, queue, retries=1) is Verdict.FAIL


def test_a_batch_behind_one_that_failed_is_only_sent_again() -> None:
    queue = PartitionQueue("t", 0, 5)
    first, second = sent(queue), sent(queue)
    assert verdict(KafkaCode.OUT_OF_ORDER_SEQUENCE_NUMBER, second, queue) is Verdict.RETRY
    queue.put_back(first, 0)
    assert verdict(KafkaCode.OUT_OF_ORDER_SEQUENCE_NUMBER, second, queue) is Verdict.RETRY


def test_a_transaction_is_not_renumbered_but_fails() -> None:
    queue = PartitionQueue("t", 0, 5)
    assert verdict(KafkaCode.OUT_OF_ORDER_SEQUENCE_NUMBER, sent(queue), queue, transactional=True) is Verdict.FAIL


def test_a_new_identity_numbers_everything_anew() -> None:
    identity = ProducerIdentity()
    assert not identity.is_known
    identity.take(7, 0)
    queue = PartitionQueue("t", 0, 5)
    first, second = sent(queue, 3), sent(queue, 2)
    queue.settle(first)
    queue.put_back(second, 0)
    identity.want_reset()
    identity.reset([queue])
    assert (identity.producer_id, identity.producer_epoch, identity.is_reset_wanted) == (7, 1, False)
    again = queue.take()
    queue.number(again, identity.producer_id, identity.producer_epoch)
    assert (again.base_sequence, again.producer_epoch) == (0, 1)


def test_a_worn_out_epoch_needs_another_id() -> None:
    identity = ProducerIdentity()
    identity.take(7, 32766)
    identity.reset([])
    assert not identity.is_known
