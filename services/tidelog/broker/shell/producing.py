"""Appending what clients produce, and waiting for it to be committed: the same for every way that a request can come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.core.delayed_operations import DelayedOutcomes
from tidelog.broker.wire.hot_produce import Produced
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.header import ATTRIBUTES_LOW_AT, TRANSACTIONAL
from tidelog.kafka.records.survey import InvalidRecordsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.broker.core.delayed_operations import AwaitedPartition
    from tidelog.broker.log.log import Appended
    from tidelog.broker.shell.partition import Partition
    from tidelog.broker.shell.partitions import Partitions
    from tidelog.runtime.clock import Clock

ALL_IN_SYNC = -1
# The one client that may write to internal topics: Kafka's own tool that copies them.
_ADMIN_CLIENT_ID = "__admin_client"

_NONE = KafkaCode.NONE
_WITH_CURRENT_LEADER = frozenset({KafkaCode.NOT_LEADER_OR_FOLLOWER, KafkaCode.FENCED_LEADER_EPOCH})


class Awaited:
    """A batch that is appended and not yet as safe as it was asked for."""

    __slots__ = ("_all", "_end_offset", "_partition", "_since_epoch", "answer")

    def __init__(self, partition: Partition, end_offset: int, answer: Produced, *, wants_all: bool) -> None:
        self.answer = answer
        self._partition = partition
        self._end_offset = end_offset
        self._since_epoch = partition.leads_since_epoch
        self._all = wants_all

    def outcome(self) -> KafkaCode | None:
        partition = self._partition
        leader = partition.leader
        if leader is None or partition.leads_since_epoch != self._since_epoch:
            # Another leader may cut it off: whether it is committed cannot be told here any more.
            return KafkaCode.NOT_LEADER_OR_FOLLOWER
        if partition.log.is_offline:
            return KafkaCode.KAFKA_STORAGE_ERROR
        if not partition.is_durable(self._end_offset):
            return None
        return leader.produce_outcome(self._end_offset) if self._all else _NONE


class Production:
    """One produce request on its way: the answers so far, and what is waited for, by its place among them."""

    __slots__ = (
        "acks",
        "answers",
        "awaited",
        "client_id",
        "is_transactional",
        "monotonic_ms",
        "now_ms",
        "zstd_allowed",
    )

    def __init__(
        self,
        acks: int,
        client_id: str | None,
        now_ms: int,
        monotonic_ms: float,
        *,
        zstd_allowed: bool = True,
        is_transactional: bool = False,
    ) -> None:
        self.acks = acks
        self.client_id = client_id
        self.now_ms = now_ms
        self.monotonic_ms = monotonic_ms
        self.zstd_allowed = zstd_allowed
        # Whether it names a transactional id: without one, batches of transactions are refused.
        self.is_transactional = is_transactional
        self.answers: list[Produced] = []
        self.awaited: list[tuple[int, Partition, Awaited]] | None = None


class Producing:
    """What a broker does about Produce."""

    def __init__(self, partitions: Partitions, clock: Clock) -> None:
        self._partitions = partitions
        self._by_name = partitions.by_name
        self._clock = clock

    def begin(
        self, acks: int, client_id: str | None, *, zstd_allowed: bool = True, is_transactional: bool = False
    ) -> Production:
        clock = self._clock
        return Production(
            acks,
            client_id,
            clock.now_ms(),
            clock.monotonic_ms(),
            zstd_allowed=zstd_allowed,
            is_transactional=is_transactional,
        )

    def find(self, topic: bytes, index: int) -> Partition | None:
        return self._by_name.get((topic, index))

    def append(self, production: Production, topic: bytes, index: int, data: memoryview) -> None:
        """Append to one partition. What becomes of it is among the answers; one that is awaited may still change."""
        partition = self._by_name.get((topic, index))
        try:
            if partition is None:
                raise self._partitions.missing(topic, index)
            if partition.is_internal:
                _check_internal(production.client_id)
            if len(data) > ATTRIBUTES_LOW_AT and data[ATTRIBUTES_LOW_AT] & TRANSACTIONAL:
                _check_transactional(production)
            appended = partition.append(
                data,
                production.acks,
                production.now_ms,
                production.monotonic_ms,
                zstd_allowed=production.zstd_allowed,
            )
        except KafkaError as refusal:
            production.answers.append(self._refused(topic, index, partition, refusal))
            return
        self._note(production, partition, appended)

    def append_fenced(self, production: Production, topic: bytes, index: int, data: memoryview, fence: int) -> None:
        """The same for what a coordinator writes to a shard of its own."""
        times = production.now_ms, production.monotonic_ms

        def append(partition: Partition) -> Appended:
            if not partition.is_internal:
                raise KafkaError(KafkaCode.INVALID_REQUEST, "Only internal topics have coordinators.")
            told = self._partitions.view.shards.get((partition.name.topic, partition.name.partition))
            if told is None:
                raise KafkaError(KafkaCode.LEADER_NOT_AVAILABLE, "The controller has not told of this shard yet.")
            return partition.append_fenced(data, fence, told.epoch, production.acks, *times)

        self._append_by(production, topic, index, append)

    def append_marker(
        self, production: Production, topic: bytes, index: int, producer_id: int, marker: memoryview
    ) -> None:
        """The same for the end of a transaction."""
        times = production.now_ms, production.monotonic_ms

        def append(partition: Partition) -> Appended:
            if partition.is_internal:
                # Its owner alone writes there, and is told of the end by other means.
                raise KafkaError(KafkaCode.NOT_LEADER_OR_FOLLOWER)
            return partition.append_marker(marker, producer_id, production.acks, *times)

        self._append_by(production, topic, index, append)

    def refuse(self, production: Production, topic: bytes, index: int, code: KafkaCode) -> None:
        """Append nothing, and answer so."""
        partition = self._by_name.get((topic, index))
        production.answers.append(self._refused(topic, index, partition, KafkaError(code)))

    def _append_by(
        self, production: Production, topic: bytes, index: int, append: Callable[[Partition], Appended]
    ) -> None:
        partition = self._by_name.get((topic, index))
        try:
            if partition is None:
                raise self._partitions.missing(topic, index)
            appended = append(partition)
        except KafkaError as refusal:
            production.answers.append(self._refused(topic, index, partition, refusal))
            return
        self._note(production, partition, appended)

    def _note(self, production: Production, partition: Partition, appended: Appended) -> None:
        answer = Produced(
            partition.topic,
            partition.name.partition,
            0,
            appended.first_offset,
            appended.log_append_time_ms,
            partition.log.log_start_offset,
        )
        production.answers.append(answer)
        if production.acks == ALL_IN_SYNC or not partition.is_durable(appended.last_offset + 1):
            self._look_ahead(production, partition, appended, answer)

    def wait(self, production: Production, timeout_ms: int, respond: Callable[[list[Produced]], None]) -> None:
        """Answer when everything awaited has its outcome, or with REQUEST_TIMED_OUT for what has none by then."""
        assert production.awaited is not None, "nothing to wait for"
        by_partition: dict[Partition, AwaitedPartition] = {
            partition: awaited for _, partition, awaited in production.awaited
        }
        awaited_at = production.awaited

        def on_outcomes(outcomes: dict[Partition, KafkaCode]) -> None:
            for place, partition, awaited in awaited_at:
                production.answers[place] = self._outcome(partition, awaited.answer, outcomes[partition])
            respond(production.answers)

        operation = DelayedOutcomes(by_partition, on_outcomes)
        keys = tuple(by_partition)
        self._partitions.waiting.produce.try_complete_else_watch(operation, keys, timeout_ms, already_tried=True)

    def _look_ahead(self, production: Production, partition: Partition, appended: Appended, answer: Produced) -> None:
        """With one replica, or with all the others up to date, there is nothing to wait for."""
        wants_all = production.acks == ALL_IN_SYNC
        awaited = Awaited(partition, appended.last_offset + 1, answer, wants_all=wants_all)
        outcome = awaited.outcome()
        if outcome is None:
            waiting = production.awaited = production.awaited or []
            waiting.append((len(production.answers) - 1, partition, awaited))
        elif outcome is not _NONE:
            production.answers[-1] = self._outcome(partition, answer, outcome)

    def _outcome(self, partition: Partition, answer: Produced, code: KafkaCode) -> Produced:
        if code is _NONE:
            return answer
        return self._refused(answer.topic, answer.partition, partition, KafkaError(code))

    def _refused(self, topic: bytes, index: int, partition: Partition | None, refusal: KafkaError) -> Produced:
        traffic = self._partitions.traffic.unknown if partition is None else partition.traffic
        traffic.failed_produces += 1
        leader = self._partitions.leader_of(topic, index) if refusal.code in _WITH_CURRENT_LEADER else None
        record_errors = refusal.record_errors if isinstance(refusal, InvalidRecordsError) else ()
        return Produced(
            topic,
            index,
            refusal.code,
            record_errors=record_errors,
            error_message=refusal.message,
            current_leader=leader,
        )


def _check_transactional(production: Production) -> None:
    """Nobody could be asked whether the transaction is open, and nobody would end it."""
    if not production.is_transactional:
        raise KafkaError(KafkaCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "The request names no transactional id.")


def _check_internal(client_id: str | None) -> None:
    if client_id != _ADMIN_CLIENT_ID:
        raise KafkaError(KafkaCode.INVALID_TOPIC_EXCEPTION, "Clients may not write to internal topics.")
