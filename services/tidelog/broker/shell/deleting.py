"""Deleting records up to an offset, and waiting until every live replica has done so."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tidelog.broker.core.delayed_operations import DelayedOutcomes
from tidelog.broker.log.retention import delete_records
from tidelog.kafka.errors import KafkaCode, KafkaError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tidelog.broker.core.delayed_operations import AwaitedPartition
    from tidelog.broker.shell.partition import Partition
    from tidelog.broker.shell.partitions import Partitions

NO_OFFSET = -1


class Deleted(NamedTuple):
    """The answer for one partition."""

    topic: str
    partition: int
    error_code: int = KafkaCode.NONE
    low_watermark: int = NO_OFFSET


class _Awaited:
    __slots__ = ("_partition", "_since_epoch", "_target")

    def __init__(self, partition: Partition, target: int) -> None:
        self._partition = partition
        self._target = target
        self._since_epoch = partition.leads_since_epoch

    def outcome(self) -> KafkaCode | None:
        leader = self._partition.leader
        if leader is None or self._partition.leads_since_epoch != self._since_epoch:
            return KafkaCode.NOT_LEADER_OR_FOLLOWER
        return leader.delete_records_outcome(self._target)


class Deleting:
    """What a broker does about DeleteRecords."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions

    def delete(
        self,
        asked: Sequence[tuple[str, int, int]],
        timeout_ms: int,
        respond: Callable[[list[Deleted]], None],
    ) -> None:
        """Topic, partition and offset of each; `respond` may be called before this returns."""
        waiting: dict[Partition, AwaitedPartition] = {}
        answers: list[tuple[Deleted, Partition | None]] = []
        for topic, index, offset in asked:
            try:
                partition = self._partitions.named(topic, index)
                target = partition.led().delete_records_target(offset)
                delete_records(partition.log, target)
                self._partitions.waiting.fetch.wake(partition)
            except KafkaError as refusal:
                answers.append((Deleted(topic, index, refusal.code), None))
            else:
                waiting[partition] = _Awaited(partition, target)
                answers.append((Deleted(topic, index), partition))

        def on_outcomes(outcomes: dict[Partition, KafkaCode]) -> None:
            respond([_answered(answer, partition, outcomes) for answer, partition in answers])

        if waiting:
            operation = DelayedOutcomes(waiting, on_outcomes)
            purgatory = self._partitions.waiting.delete_records
            purgatory.try_complete_else_watch(operation, tuple(waiting), timeout_ms)
        else:
            on_outcomes({})


def _answered(answer: Deleted, partition: Partition | None, outcomes: dict[Partition, KafkaCode]) -> Deleted:
    if partition is None:
        return answer
    code = outcomes[partition]
    leader = partition.leader
    low_watermark = NO_OFFSET if code is not KafkaCode.NONE or leader is None else leader.low_watermark()
    return answer._replace(error_code=code, low_watermark=low_watermark)
