"""What becomes of a batch after a broker's answer, or after no answer came."""

from enum import Enum

from tidelog.client.core.batch import ProducerBatch
from tidelog.client.core.partition_queue import PartitionQueue, is_younger
from tidelog.kafka.errors import PROPERTIES, KafkaCode
from tidelog.kafka.records.header import NO_SEQUENCE


class Verdict(Enum):
    """The ways a batch can go."""

    DONE = "done"
    RETRY = "retry"
    SPLIT = "split"
    # Sent again under a new identity, since its sequence is not what the broker expects and nothing explains it.
    RESET_AND_RETRY = "reset and retry"
    FAIL = "fail"


_LOST_SEQUENCE = frozenset(
    {KafkaCode.OUT_OF_ORDER_SEQUENCE_NUMBER, KafkaCode.UNKNOWN_PRODUCER_ID, KafkaCode.INVALID_PRODUCER_EPOCH}
)


def judge(
    code: KafkaCode, batch: ProducerBatch, queue: PartitionQueue, *, retries: int, is_transactional: bool
) -> Verdict:
    """Decide on a batch of `queue.in_flight` by its answer."""
    if code in (KafkaCode.NONE, KafkaCode.DUPLICATE_SEQUENCE_NUMBER):
        return Verdict.DONE
    if code is KafkaCode.MESSAGE_TOO_LARGE and batch.count > 1:
        return Verdict.SPLIT
    if batch.attempts > retries:
        return Verdict.FAIL
    if batch.base_sequence != NO_SEQUENCE and code in _LOST_SEQUENCE:
        if code is KafkaCode.OUT_OF_ORDER_SEQUENCE_NUMBER and _follows_an_unsettled_one(batch, queue):
            return Verdict.RETRY
        return Verdict.FAIL if is_transactional else Verdict.RESET_AND_RETRY
    return Verdict.RETRY if PROPERTIES[code].retriable else Verdict.FAIL


def _follows_an_unsettled_one(batch: ProducerBatch, queue: PartitionQueue) -> bool:
    """Whether an older batch failed or is unanswered, which explains why the broker misses something before this one."""
    return any(
        is_younger(batch, each) for each in (*queue.in_flight, *queue.closed) if each.base_sequence != NO_SEQUENCE
    )
