"""One partition that is copied from its leader: what each answer does to its log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.core.fetch_session import FetchedPartition
from tidelog.broker.core.partition_follower import (
    RestartLog,
    Truncate,
    Verdict,
    adopted_high_watermark,
    adopted_log_start,
    restart_offset,
)
from tidelog.broker.log.config import FOREVER
from tidelog.broker.log.epoch_cache import EpochEnd
from tidelog.broker.log.follower_batches import UnexpectedOffsetError
from tidelog.broker.log.retention import advance_start
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.runtime import logs

if TYPE_CHECKING:
    from tidelog.broker.core.partition_follower import PartitionFollower, Step
    from tidelog.broker.log.log_store import LogStore
    from tidelog.broker.shell.partition import Partition
    from tidelog.broker.wire.follower_fetch import PartitionRecords
    from tidelog.runtime.clock import Clock

# Why a follower's log is cut.
_DIVERGES = "differs from the leader's"
_OUT_OF_RANGE = "ends outside of the leader's"
_BEGINS_EARLIER = "the leader's batch begins earlier"

_logger = logs.get("replication")


class Copy:
    """A partition in the leader epoch in which it follows. The next epoch makes another one."""

    __slots__ = ("_clock", "_store", "asked", "follower", "joined_after", "last_refusal", "partition")

    def __init__(
        self, partition: Partition, follower: PartitionFollower, max_bytes: int, store: LogStore, clock: Clock
    ) -> None:
        self.partition = partition
        self.follower = follower
        self.asked = FetchedPartition(
            (partition.topic_id.bytes, partition.name.partition), 0, max_bytes, follower.leader_epoch
        )
        # How many fetches had been sent when it joined them: their answers are not about it.
        self.joined_after = 0
        # Why it was last not copied; the leader's or our own log's reason.
        self.last_refusal = KafkaCode.NONE
        self._store = store
        self._clock = clock
        self.ask_on()

    def ask_on(self) -> bool:
        """Bring the request up to date; true if it asks for something else than before."""
        asked, follower, log_start = self.asked, self.follower, self.partition.log.log_start_offset
        if (
            asked.fetch_offset == follower.fetch_offset
            and asked.last_fetched_epoch == follower.last_fetched_epoch
            and asked.log_start_offset == log_start
        ):
            return False
        asked.fetch_offset = follower.fetch_offset
        asked.last_fetched_epoch = follower.last_fetched_epoch
        asked.log_start_offset = log_start
        return True

    def take(self, answer: PartitionRecords, frame: memoryview) -> Verdict:
        """Do what an answer asks for. What remains: IGNORE is to fetch on; anything else to leave it out, for a while.

        APPEND says that the records are appended and wait for the disk, because flush.messages wants it so.
        """
        try:
            return self._take(answer, frame)
        except KafkaError as refusal:
            return self._failed(refusal)

    def execute(self, step: Step) -> Verdict:
        """Cut the log where the core says so; other steps are left to the caller."""
        try:
            return self._execute(step)
        except KafkaError as refusal:
            return self._failed(refusal)

    def _take(self, answer: PartitionRecords, frame: memoryview) -> Verdict:
        _, error_code, high_watermark, log_start_offset, diverging, start, end = answer
        follower, asked = self.follower, self.asked
        if error_code:
            code = self.last_refusal = code_of(error_code)
            step = follower.on_error(asked.fetch_offset, asked.leader_epoch, code, self._clock.monotonic_ms())
            return self._execute(step)
        if diverging is not None:
            log = self.partition.log
            end_of_epoch = EpochEnd(*diverging)
            step = follower.on_diverging(asked.fetch_offset, end_of_epoch, log.end_offset_for_epoch, log.high_watermark)
            return self._execute(step, _DIVERGES)
        if follower.on_records(asked.fetch_offset) is not Verdict.APPEND:
            return Verdict.IGNORE
        is_durable = end == start or self._append(frame[start:end])
        self._adopt(high_watermark, log_start_offset)
        return Verdict.IGNORE if is_durable else Verdict.APPEND

    def _append(self, records: memoryview) -> bool:
        """One write. False if the next fetch, which acknowledges these records, must wait for a flush."""
        partition, now_ms = self.partition, self._clock.now_ms()
        log = partition.log
        try:
            log.append_as_follower(records, now_ms)
        except UnexpectedOffsetError as error:
            restart = restart_offset(error.first_offset, log.log_start_offset, log.log_end_offset)
            if restart is None:
                raise
            end = log.log_end_offset
            self._store.truncate_fully(log, restart, now_ms)
            self._note_truncation(end, _BEGINS_EARLIER)
            log.append_as_follower(records, now_ms)
        partition.traffic.replication_bytes_in += len(records)
        if log.rolled_unflushed or log.config.flush_messages != FOREVER:
            partition.flush_if_due(now_ms)
            return partition.is_durable(log.log_end_offset)
        return True

    def _adopt(self, leader_high_watermark: int, leader_log_start: int) -> None:
        partition = self.partition
        log = partition.log
        end = log.log_end_offset
        high_watermark = adopted_high_watermark(leader_high_watermark, log.log_start_offset, end)
        if high_watermark != log.high_watermark:
            log.update_high_watermark(high_watermark)
            partition.on_high_watermark_adopted()
        if leader_log_start > log.log_start_offset:
            advance_start(log, adopted_log_start(leader_log_start, log.log_start_offset, log.high_watermark))
        self.follower.on_appended(end, log.epochs.latest_epoch, leader_high_watermark)

    def _execute(self, step: Step, why: str = _OUT_OF_RANGE) -> Verdict:
        if isinstance(step, Verdict):
            return step
        partition, follower, now_ms = self.partition, self.follower, self._clock.now_ms()
        log = partition.log
        before = log.log_end_offset
        match step:
            case Truncate(offset):
                self._store.truncate(log, offset, now_ms)
            case RestartLog(offset):
                self._store.truncate_fully(log, offset, now_ms)
        follower.on_truncated(log.log_end_offset, log.epochs.latest_epoch)
        partition.on_high_watermark_adopted()
        self._note_truncation(before, why)
        return Verdict.IGNORE

    def _note_truncation(self, end_before: int, why: str) -> None:
        partition, follower, log = self.partition, self.follower, self.partition.log
        partition.traffic.truncations[why] += 1
        _logger.info(
            "log truncated",
            partition=str(partition.name),
            why=why,
            end_before=end_before,
            end=log.log_end_offset,
            start=log.log_start_offset,
            leader=follower.leader_id,
            epoch=follower.leader_epoch,
        )

    def _failed(self, refusal: KafkaError) -> Verdict:
        _logger.warning(
            "not copied", partition=str(self.partition.name), leader=self.follower.leader_id, why=refusal.message
        )
        self.last_refusal = refusal.code
        step = self.follower.on_append_failed(refusal.code, self._clock.monotonic_ms())
        assert isinstance(step, Verdict), "a failure of ours is never mended by a truncation"
        return step


def code_of(number: int) -> KafkaCode:
    """A leader of another version may have a code that is not known here."""
    try:
        return KafkaCode(number)
    except ValueError:
        return KafkaCode.UNKNOWN_SERVER_ERROR
