"""When a parked produce, fetch or delete-records is answered, and with what (semantics, section 5's table)."""

from tidelog.broker.core.delayed_operations import ANSWER_NOW, DelayedFetch, DelayedOutcomes
from tidelog.kafka.errors import KafkaCode


class Partition:
    """Says what it is told to say."""

    def __init__(self, code: KafkaCode | None = None, size: int = 0) -> None:
        self.code = code
        self.size = size
        self.asked = 0

    def outcome(self) -> KafkaCode | None:
        return self.code

    def available(self) -> int:
        self.asked += 1
        return self.size


def delayed_produce(*partitions: Partition) -> tuple[DelayedOutcomes[int], list[dict[int, KafkaCode]]]:
    answers: list[dict[int, KafkaCode]] = []
    return DelayedOutcomes(dict(enumerate(partitions)), answers.append), answers


def delayed_fetch(min_bytes: int, *partitions: Partition) -> tuple[DelayedFetch[int], list[str]]:
    answers: list[str] = []
    return DelayedFetch(dict(enumerate(partitions)), min_bytes, lambda: answers.append("read again")), answers


def test_a_produce_waits_for_every_partition() -> None:
    first, second = Partition(), Partition()
    operation, answers = delayed_produce(first, second)
    first.code = KafkaCode.NONE
    assert not operation.try_complete(0)
    second.code = KafkaCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    assert operation.try_complete(1)
    assert answers == [{0: KafkaCode.NONE, 1: KafkaCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND}]


def test_an_outcome_once_given_stays() -> None:
    first, second = Partition(KafkaCode.NONE), Partition()
    operation, answers = delayed_produce(first, second)
    assert not operation.try_complete()
    first.code, second.code = KafkaCode.NOT_LEADER_OR_FOLLOWER, KafkaCode.NONE
    assert operation.try_complete(0) is False
    assert operation.try_complete(1)
    assert answers == [{0: KafkaCode.NONE, 1: KafkaCode.NONE}]


def test_what_is_still_waiting_at_the_end_timed_out() -> None:
    operation, answers = delayed_produce(Partition(KafkaCode.NONE), Partition())
    assert not operation.try_complete()
    operation.expire()
    assert answers == [{0: KafkaCode.NONE, 1: KafkaCode.REQUEST_TIMED_OUT}]


def test_a_fetch_adds_up_what_its_partitions_have() -> None:
    first, second = Partition(size=40), Partition(size=50)
    operation, answers = delayed_fetch(100, first, second)
    assert not operation.try_complete()
    assert not operation.try_complete(1)
    second.size = 60
    assert operation.try_complete(1)
    assert answers == ["read again"]


def test_a_fetch_is_answered_when_one_partition_must_be() -> None:
    first, second = Partition(size=0), Partition(size=0)
    operation, answers = delayed_fetch(1_000_000, first, second)
    assert not operation.try_complete()
    first.size = ANSWER_NOW
    assert operation.try_complete(1), "also if it was another one that was woken"
    assert answers == ["read again"]


def test_a_fetch_content_with_one_byte_looks_at_the_woken_partition_only() -> None:
    partitions = [Partition() for _ in range(100)]
    operation, _ = delayed_fetch(1, *partitions)
    assert not operation.try_complete()
    assert not operation.try_complete(7)
    assert sum(partition.asked for partition in partitions) == 101
    partitions[9].size = 1
    assert operation.try_complete(9)


def test_an_expired_fetch_returns_what_exists() -> None:
    operation, answers = delayed_fetch(100, Partition(size=3))
    operation.expire()
    assert answers == ["read again"]
