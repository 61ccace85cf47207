"""Reading what clients and followers fetch, and waiting until there is enough: the same for every way to ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.core.delayed_operations import ANSWER_NOW, DelayedFetch
from tidelog.broker.core.fetch_limits import FetchBudget, LogPosition, answers_at_once, bytes_available, fetch_bounds
from tidelog.broker.core.partition_leader import HIGH_WATERMARK
from tidelog.broker.core.read_replica import NO_PREFERENCE
from tidelog.broker.log.reading import read_tail
from tidelog.broker.wire.hot_fetch_answer import FetchAnswer, PartitionAnswer
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import BrokerId

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from tidelog.broker.core.delayed_operations import ParkedPartition
    from tidelog.broker.core.fetch_limits import FetchBounds
    from tidelog.broker.core.fetch_session import FetchedPartition, SessionlessFetch
    from tidelog.broker.core.fetch_session_cache import FetchSessionCache
    from tidelog.broker.core.replication_quota import ReplicationQuota
    from tidelog.broker.log.log_file import FileRange
    from tidelog.broker.shell.cold_reads import ColdReads
    from tidelog.broker.shell.partition import Partition, Reader
    from tidelog.broker.shell.partitions import Partitions
    from tidelog.broker.wire.hot_fetch_request import FetchAsked
    from tidelog.runtime.clock import Clock

    Respond = Callable[[FetchAnswer], None]
    Defer = Callable[[Callable[[], object]], Respond]

    class Charge(Protocol):
        """Holds one fetch to the quota of its client."""

        def most_at_once(self) -> int: ...
        def throttle_ms(self, size: int) -> int:
            """For how long the client is throttled; if at all, it gets nothing."""
            ...


TOPIC_IDS_FROM = 13
_WITH_CURRENT_LEADER = frozenset({KafkaCode.NOT_LEADER_OR_FOLLOWER, KafkaCode.FENCED_LEADER_EPOCH})


class Fetching:
    """What a broker does about Fetch."""

    def __init__(
        self,
        partitions: Partitions,
        sessions: FetchSessionCache,
        clock: Clock,
        max_bytes: int,
        replication_quota: ReplicationQuota,
        cold_reads: ColdReads,
    ) -> None:
        """`max_bytes` is the broker's bound on one answer, fetch.max.bytes."""
        self.replication_quota = replication_quota
        self.cold_reads = cold_reads
        self.partitions = partitions
        self.sessions = sessions
        self.clock = clock
        self._max_bytes = max_bytes

    def fetch(
        self,
        asked: FetchAsked,
        reader: Reader,
        version: int,
        defer: Defer,
        charge: Charge | None = None,
    ) -> FetchAnswer | None:
        """The answer if it is known at once. Else None: what `defer` then gives is called with it later.

        `defer` gets something to call if the answer shall wait no longer.
        """
        context = self.sessions.context(
            asked.session_id,
            asked.session_epoch,
            asked.partitions,
            asked.forgotten,
            self.clock.monotonic_ms(),
            version=version,
            is_follower=reader.is_follower,
        )
        largest = self._max_bytes if charge is None else min(self._max_bytes, charge.most_at_once())
        bounds = fetch_bounds(asked.max_bytes, asked.min_bytes, largest)
        reading = _Reading(self, context, reader, bounds, version, charge)
        reading.read(first=True)
        if answers_at_once(
            asked.max_wait_ms,
            bounds.min_bytes,
            reading.size,
            has_partitions=bool(context.partitions),
            has_news=reading.has_news,
        ):
            answer = reading.answer()
            if not reading.cold:
                return answer
            reading.answer_when_read(answer, defer)
            return None
        reading.park(asked.max_wait_ms, defer)
        return None


class _Reading:
    """One fetch: read once, and if it was parked once more when it is answered."""

    __slots__ = (
        "_answers",
        "_bounds",
        "_by_id",
        "_charge",
        "_context",
        "_fetching",
        "_hosted",
        "_is_follower",
        "_reader",
        "_version",
        "cold",
        "has_news",
        "size",
    )

    def __init__(
        self,
        fetching: Fetching,
        context: SessionlessFetch,
        reader: Reader,
        bounds: FetchBounds,
        version: int,
        charge: Charge | None,
    ) -> None:
        self._fetching = fetching
        self._context = context
        self._reader = reader
        self._is_follower = reader.is_follower
        self._bounds = bounds
        self._version = version
        self._charge = charge
        self._by_id = version >= TOPIC_IDS_FROM
        self._hosted = fetching.partitions.by_id if self._by_id else fetching.partitions.by_name
        self._answers: list[tuple[FetchedPartition, PartitionAnswer]] = []
        self.size = 0
        # Something that must be told without waiting.
        self.has_news = False
        # Records that are to be read from the disk before they are sent.
        self.cold: list[FileRange] = []

    def read(self, *, first: bool) -> None:
        budget = FetchBudget(self._bounds.max_bytes, self._version)
        hosted, replica_id, answers = self._hosted, self._reader.replica_id, []
        looks_closely = not self._is_follower or self._fetching.replication_quota.is_on
        self.size = 0
        self.cold = []
        for asked in self._context.partitions:
            partition = hosted.get(asked.key)
            if looks_closely or partition is None or not partition.agrees_with(asked, replica_id):
                answers.append((asked, self._read_one(partition, asked, budget, first=first)))
            else:
                self._read_next(partition, asked, budget, answers, first=first)
        self._answers = answers

    def answer(self) -> FetchAnswer:
        context = self._context
        code = context.begin_answer()
        if code is not KafkaCode.NONE:
            return FetchAnswer((), error_code=code)
        throttle_ms = 0 if self._charge is None else self._charge.throttle_ms(self.size)
        if throttle_ms:
            return FetchAnswer((), context.throttled_session_id(), throttle_time_ms=throttle_ms)
        told = [
            answer
            for asked, answer in self._answers
            if context.includes(
                asked,
                answer.high_watermark,
                answer.log_start_offset,
                0 if answer.records is None else answer.records.size,
                must_tell=_must_tell(answer),
            )
        ]
        return FetchAnswer(told, context.finish(self._fetching.clock.monotonic_ms()))

    def answer_when_read(self, answer: FetchAnswer, defer: Defer) -> None:
        """Answer once what is cold is in memory, or earlier if it shall wait no longer."""
        unanswered = [answer]

        def finish() -> None:
            if unanswered:
                respond(unanswered.pop())

        respond = defer(finish)
        self._fetching.cold_reads.read(self.cold, finish)

    def park(self, max_wait_ms: int, defer: Defer) -> None:
        """All partitions are hosted here: one that is not is news, and news does not wait."""
        waiting: dict[Partition, ParkedPartition] = {}
        for asked in self._context.partitions:
            partition = self._hosted[asked.key]
            waiting[partition] = _Parked(partition, asked, self._reader, self._bounds.min_bytes)

        def answer_anew() -> None:
            self.read(first=False)
            answer = self.answer()
            if self.cold:
                self._fetching.cold_reads.read(self.cold, lambda: respond(answer))
            else:
                respond(answer)

        operation = DelayedFetch(waiting, self._bounds.min_bytes, answer_anew)
        respond = defer(operation.force_complete)
        purgatory = self._fetching.partitions.waiting.fetch
        purgatory.try_complete_else_watch(operation, tuple(waiting), max_wait_ms, already_tried=True)

    def _read_next(
        self,
        partition: Partition,
        asked: FetchedPartition,
        budget: FetchBudget,
        answers: list[tuple[FetchedPartition, PartitionAnswer]],
        *,
        first: bool,
    ) -> None:
        """What a follower that agrees with us does not have yet, which is nothing as a rule, or what was just written."""
        log, records = partition.log, None
        if asked.fetch_offset != log.log_end_offset:
            records = read_tail(log, asked.fetch_offset, budget.allowance(asked.max_bytes))
            if records is None or not records.is_recent(self._fetching.clock.now_ms()):
                answers.append((asked, self._read_one(partition, asked, budget, first=first)))
                return
            budget.spend(records.size)
            self.size += records.size
            partition.traffic.replication_bytes_out += records.size
        if first:
            self._note_follower(partition, asked)
        high_watermark, log_start = log.high_watermark, log.log_start_offset
        if records is None and high_watermark == asked.sent_high_watermark and log_start == asked.sent_log_start:
            return
        stable = log.last_stable_offset
        topic, index = asked.key
        answers.append((asked, PartitionAnswer(topic, index, 0, high_watermark, stable, log_start, records)))

    def _read_one(
        self, partition: Partition | None, asked: FetchedPartition, budget: FetchBudget, *, first: bool
    ) -> PartitionAnswer:
        topic, index = asked.key
        try:
            if partition is None:
                raise self._fetching.partitions.missing(topic, index, by_id=self._by_id)
            return self._read_from(partition, asked, topic, budget, first=first)
        except KafkaError as refusal:
            self.has_news = True
            return self._refused(topic, index, partition, refusal)

    def _read_from(
        self, partition: Partition, asked: FetchedPartition, topic: bytes, budget: FetchBudget, *, first: bool
    ) -> PartitionAnswer:
        reader = self._reader
        fetched, diverging_epoch, preferred = partition.read(
            asked, reader, budget.allowance(asked.max_bytes), at_least_one=budget.at_least_one
        )
        if diverging_epoch is not None or preferred != NO_PREFERENCE:
            self.has_news = True
        elif first and reader.is_follower and self._note_follower(partition, asked):
            fetched = fetched._replace(
                high_watermark=partition.log.high_watermark, last_stable_offset=partition.log.last_stable_offset
            )
        records, high_watermark, last_stable_offset, log_start_offset, aborted = fetched
        if records is not None and reader.is_follower and self._fetching.replication_quota.is_on:
            records = self._within_quota(partition, records)
        if records is not None:
            size = records.size
            if not records.is_recent(self._fetching.clock.now_ms()) and not records.is_cached():
                self.cold.append(records)
            budget.spend(size)
            self.size += size
            if reader.is_follower:
                partition.traffic.replication_bytes_out += size
            else:
                partition.traffic.bytes_out += size
        return PartitionAnswer(
            topic,
            asked.key[1],
            0,
            high_watermark,
            last_stable_offset,
            log_start_offset,
            records,
            aborted,
            preferred,
            diverging_epoch,
        )

    def _within_quota(self, partition: Partition, records: FileRange) -> FileRange | None:
        """What a throttled follower gets: nothing, while those who are not in sync are sent too much."""
        quota, name, leader = self._fetching.replication_quota, partition.name, partition.led()
        now_ms = self._fetching.clock.monotonic_ms()
        is_in_sync = leader.is_in_sync(self._reader.replica_id)
        if quota.must_wait(name.topic, name.partition, now_ms, is_in_sync=is_in_sync):
            return None
        if quota.is_throttled(name.topic, name.partition):
            quota.record(records.size, now_ms)
        return records

    def _note_follower(self, partition: Partition, asked: FetchedPartition) -> bool:
        """A follower that asks from an offset on has everything before it. True if that moved the high watermark."""
        changed = partition.led().on_follower_fetched(
            BrokerId(self._reader.replica_id),
            asked.fetch_offset,
            asked.log_start_offset,
            self._fetching.clock.monotonic_ms(),
        )
        if changed:
            partition.on_changed(changed)
        return bool(changed & HIGH_WATERMARK)

    def _refused(self, topic: bytes, index: int, partition: Partition | None, refusal: KafkaError) -> PartitionAnswer:
        partitions = self._fetching.partitions
        traffic = partitions.traffic.unknown if partition is None else partition.traffic
        traffic.failed_fetches += 1
        leader = None
        if refusal.code in _WITH_CURRENT_LEADER:
            leader = partitions.leader_of(topic, index, by_id=self._by_id)
        return PartitionAnswer(topic, index, refusal.code, current_leader=leader)


def _must_tell(answer: PartitionAnswer) -> bool:
    return bool(answer.error_code) or answer.diverging_epoch is not None or answer.preferred_read_replica >= 0


class _Parked:
    """One partition of a fetch that waits."""

    __slots__ = ("_asked", "_epoch", "_min_bytes", "_partition", "_reader", "_start")

    def __init__(self, partition: Partition, asked: FetchedPartition, reader: Reader, min_bytes: int) -> None:
        self._partition = partition
        self._asked = asked
        self._reader = reader
        self._min_bytes = min_bytes
        self._epoch = partition.leader_epoch
        self._start: LogPosition | None = None

    def available(self) -> int:
        partition = self._partition
        if not partition.is_hosted or partition.leader_epoch != self._epoch or partition.log.is_offline:
            return ANSWER_NOW
        limit = partition.limit(self._reader.isolation)
        offset = self._asked.fetch_offset
        if limit > offset and self._min_bytes > 1:
            return self._count(offset, limit)
        # Who is content with one byte need not know where it lies.
        return ANSWER_NOW if limit < offset else limit - offset

    def _count(self, offset: int, limit: int) -> int:
        try:
            if self._start is None:
                self._start = _position(self._partition, offset)
            return bytes_available(self._start, _position(self._partition, limit), self._asked.max_bytes)
        except KafkaError:
            return ANSWER_NOW


def _position(partition: Partition, offset: int) -> LogPosition:
    log = partition.log
    with log.io():
        if offset == log.log_end_offset:
            active = log.segments.active
            return LogPosition(offset, active.base_offset, active.size)
        segment = log.segments.holding(offset)
        return LogPosition(offset, segment.base_offset, segment.position_of(offset))
