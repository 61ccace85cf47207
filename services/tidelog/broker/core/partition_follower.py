"""One partition we follow, in one leader epoch: what to fetch next, and what to do with each answer.

An instance lives for one leader epoch; a LeaderAndIsr with a higher one makes a new instance. States:

    FETCHING  the next fetch asks from `fetch_offset` on, with the epoch of our last record
    ASKING    the leader refused the offset; it is being asked for its latest, then perhaps its earliest offset
    DELAYED   something went wrong that may pass: left out of fetches until `retry_at_ms`
    FAILED    left out until the next LeaderAndIsr, that is for good

The shell sends, appends and truncates, and tells what came of it. An answer to a fetch that asked from another offset
than the present one is ignored: the log was truncated in between.
"""

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tidelog.broker.core.divergence import EpochAndEnd, truncation
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.types import BrokerId, LeaderEpoch, java_hash

if TYPE_CHECKING:
    from collections.abc import Callable


class FollowerState(Enum):
    """Whether this partition takes part in fetches."""

    FETCHING = "fetching"
    ASKING = "asking the leader for its offsets"
    DELAYED = "delayed"
    FAILED = "failed"


class Verdict(Enum):
    """What to do with an answer, where nothing more needs to be said."""

    IGNORE = "it answers a question of the past, or there is nothing to do"
    APPEND = "append its records, adopt its offsets, then call on_appended"
    ASK_LATEST = "ask the leader for its latest offset, then call on_leader_latest"
    ASK_EARLIEST = "ask the leader for its earliest offset, then call on_leader_earliest"
    DELAYED = "leave the partition out of fetches for a while"
    FAILED = "leave the partition out until the next LeaderAndIsr"


@dataclass(frozen=True, slots=True)
class Truncate:
    """Cut the log back to this offset, then call on_truncated."""

    offset: int


@dataclass(frozen=True, slots=True)
class RestartLog:
    """Forget the whole log and go on at this offset, then call on_truncated."""

    offset: int


Step = Verdict | Truncate | RestartLog


class PartitionFollower:
    """The fetch state. The log's end and latest epoch are told, not asked for: they are part of the next request."""

    __slots__ = (
        "_backoff_ms",
        "_backoff_ms_max",
        "_backoff_ms_min",
        "fetch_offset",
        "is_in_sync",
        "last_fetched_epoch",
        "leader_epoch",
        "leader_id",
        "retry_at_ms",
        "state",
    )

    def __init__(
        self,
        leader_id: BrokerId,
        leader_epoch: LeaderEpoch,
        log_end_offset: int,
        latest_epoch: int,
        *,
        fetch_backoff_ms: float = 1000,
        first_backoff_ms: float | None = None,
    ) -> None:
        """A first failure is retried after `first_backoff_ms`, each that follows after twice the time.

        In the first moments of an epoch the leader may not have heard of it yet, and that passes in milliseconds.
        """
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.fetch_offset = log_end_offset
        self.last_fetched_epoch = latest_epoch
        self.state = FollowerState.FETCHING
        self.retry_at_ms: float = 0
        # As far as we know: we have everything that the leader told us it has. Decides about throttling only.
        self.is_in_sync = False
        self._backoff_ms_max = fetch_backoff_ms
        self._backoff_ms_min = fetch_backoff_ms if first_backoff_ms is None else min(first_backoff_ms, fetch_backoff_ms)
        self._backoff_ms = self._backoff_ms_min

    def is_ready(self, now_ms: float) -> bool:
        """Does it take part in a fetch that is sent now?"""
        if self.state is FollowerState.DELAYED and now_ms >= self.retry_at_ms:
            self.state = FollowerState.FETCHING
        return self.state is FollowerState.FETCHING

    # Answers to fetches

    def on_records(self, requested_offset: int) -> Step:
        """An answer without error and without divergence."""
        if requested_offset == self.fetch_offset and self.state is FollowerState.FETCHING:
            return Verdict.APPEND
        return Verdict.IGNORE

    def on_appended(self, log_end_offset: int, latest_epoch: int, leader_high_watermark: int) -> None:
        self.fetch_offset = log_end_offset
        self.last_fetched_epoch = latest_epoch
        self.is_in_sync = log_end_offset >= leader_high_watermark
        self._backoff_ms = self._backoff_ms_min

    def on_diverging(
        self,
        requested_offset: int,
        leader: EpochAndEnd,
        end_offset_for_epoch: "Callable[[int], EpochAndEnd]",
        high_watermark: int,
    ) -> Step:
        """The leader says where its log and ours part; `end_offset_for_epoch` is our own log's."""
        if requested_offset != self.fetch_offset or self.state is not FollowerState.FETCHING:
            return Verdict.IGNORE
        own = end_offset_for_epoch(leader.epoch)
        return Truncate(truncation(leader, own, self.fetch_offset, high_watermark).offset)

    def on_truncated(self, log_end_offset: int, latest_epoch: int) -> None:
        """The log ends here now. If it still differs, the next fetch shows it."""
        self.fetch_offset = log_end_offset
        self.last_fetched_epoch = latest_epoch
        self.is_in_sync = False
        self.state = FollowerState.FETCHING

    def on_error(self, requested_offset: int, requested_epoch: int, code: KafkaCode, now_ms: float) -> Step:
        """The leader refused to serve this partition."""
        if requested_offset != self.fetch_offset or self.state is not FollowerState.FETCHING:
            return Verdict.IGNORE
        if code is KafkaCode.OFFSET_OUT_OF_RANGE:
            self.state = FollowerState.ASKING
            return Verdict.ASK_LATEST
        return self._on_refused(requested_epoch, code, now_ms)

    # Answers about the leader's offsets

    def on_leader_latest(self, leader_end_offset: int) -> Step:
        """We are ahead of the leader, after an unclean election, or behind its start."""
        if self.state is not FollowerState.ASKING:
            return Verdict.IGNORE
        return Truncate(leader_end_offset) if self.fetch_offset > leader_end_offset else Verdict.ASK_EARLIEST

    def on_leader_earliest(self, leader_start_offset: int) -> Step:
        if self.state is not FollowerState.ASKING:
            return Verdict.IGNORE
        if leader_start_offset > self.fetch_offset:
            return RestartLog(leader_start_offset)
        self.state = FollowerState.FETCHING
        return Verdict.IGNORE

    def on_asking_failed(self, requested_epoch: int, code: KafkaCode, now_ms: float) -> Step:
        """The leader did not tell its offsets; the next fetch will be refused again and starts all over."""
        return self._on_refused(requested_epoch, code, now_ms) if self.state is FollowerState.ASKING else Verdict.IGNORE

    # Our own failures

    def on_append_failed(self, code: KafkaCode, now_ms: float) -> Step:
        """Our log refused the records. What was damaged on its way may come whole the next time."""
        return self.delay(now_ms) if code is KafkaCode.CORRUPT_MESSAGE else self.fail()

    def delay(self, now_ms: float) -> Step:
        """For example because the leader cannot be reached."""
        if self.state is not FollowerState.FAILED:
            self.state = FollowerState.DELAYED
            self.retry_at_ms = now_ms + self._backoff_ms
            self._backoff_ms = min(self._backoff_ms * 2, self._backoff_ms_max)
        return Verdict.DELAYED

    def fail(self) -> Step:
        self.state = FollowerState.FAILED
        return Verdict.FAILED

    def _on_refused(self, requested_epoch: int, code: KafkaCode, now_ms: float) -> Step:
        # If the leader has a newer epoch than ours, ours is over: only a LeaderAndIsr can tell what to do.
        if code is KafkaCode.FENCED_LEADER_EPOCH and requested_epoch == self.leader_epoch:
            return self.fail()
        return self.fail() if code is KafkaCode.KAFKA_STORAGE_ERROR else self.delay(now_ms)


def adopted_high_watermark(leader_high_watermark: int, log_start_offset: int, log_end_offset: int) -> int:
    """The leader's high watermark, held within our log. It may be below our own one: the leader's word counts."""
    return min(max(leader_high_watermark, log_start_offset), log_end_offset)


def adopted_log_start(leader_log_start: int, log_start_offset: int, high_watermark: int) -> int:
    """The leader's log start if that is later than ours, but not beyond what we know to be committed."""
    return max(log_start_offset, min(leader_log_start, high_watermark))


def restart_offset(first_batch_offset: int, log_start_offset: int, log_end_offset: int) -> int | None:
    """Where an empty log must restart because the batch that holds the fetch offset begins before it; else None."""
    is_empty = log_start_offset == log_end_offset
    return first_batch_offset if is_empty and first_batch_offset < log_end_offset else None


def fetcher_id(topic: str, partition: int, fetchers: int) -> int:
    """Which of the fetchers that share a leader has this partition; Kafka's hash, in Java's 32-bit numbers."""
    value = (31 * java_hash(topic) + partition) & 0xFFFFFFFF
    if value >= 0x80000000:
        value -= 0x100000000
    # Java's smallest int has no absolute value; Kafka takes 0 for it.
    return 0 if value == -0x80000000 else abs(value) % fetchers
