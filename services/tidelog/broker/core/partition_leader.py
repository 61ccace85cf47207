"""One partition we lead, in one leader epoch: who has copied how far, and so what is committed and who is in sync.

An instance lives for one leader epoch: a LeaderAndIsr with a higher one makes a new instance, because what followers
told an older leader does not count. Calls return a set of bits that says what changed:

    HIGH_WATERMARK  it grew: wake produce, fetch and delete-records of this partition
    LOW_WATERMARK   a follower's log start moved: wake delete-records
    ISR             `proposal` is to be written to the partition's state znode, under its expected version

The in-sync set has two forms. The committed one (`isr`) is what ZooKeeper holds; it admits writes. While a change is in
flight, the leader does not know whether it took place, so for the high watermark it must reckon with either: the maximal
ISR is the committed set and whoever is being added, and whoever is being removed is in it until the removal is certain.

Invariants: the high watermark never falls, never passes the end of a member of the maximal ISR, and at most one change
of the ISR is in flight.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tidelog.broker.core.leader_epoch_check import not_a_replica
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import BrokerId, LeaderEpoch, PartitionEpoch

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

NOTHING = 0
HIGH_WATERMARK = 1
LOW_WATERMARK = 2
ISR = 4

UNKNOWN_OFFSET = -1
# The offset with which DeleteRecords asks for everything that is committed.
UP_TO_HIGH_WATERMARK = -1
_NEVER_MS = -(1 << 62)

# What a refused change of the ISR means. Codes in neither set may pass: the same change is tried again.
_CHANGE_NOT_MADE = frozenset({KafkaCode.INELIGIBLE_REPLICA, KafkaCode.OPERATION_NOT_ATTEMPTED})
_STATE_IS_OUTDATED = frozenset(
    {
        KafkaCode.UNKNOWN_TOPIC_OR_PARTITION,
        KafkaCode.UNKNOWN_TOPIC_ID,
        KafkaCode.FENCED_LEADER_EPOCH,
        KafkaCode.INVALID_UPDATE_VERSION,
        KafkaCode.INVALID_REQUEST,
    }
)


class LeaderLog(Protocol):
    """The partition's own log, as far as its leader's decisions need it."""

    @property
    def log_start_offset(self) -> int: ...
    @property
    def log_end_offset(self) -> int: ...
    @property
    def high_watermark(self) -> int: ...
    def update_high_watermark(self, high_watermark: int) -> None: ...


@dataclass(frozen=True, slots=True)
class ProposeIsr:
    """Write this in-sync set, if the state znode still has this version."""

    leader_epoch: LeaderEpoch
    isr: tuple[BrokerId, ...]
    expected_partition_epoch: PartitionEpoch


class Follower:
    """What the leader knows of one other replica."""

    __slots__ = (
        "broker_id",
        "in_maximal_isr",
        "last_caught_up_ms",
        "last_fetch_ms",
        "leader_end_at_last_fetch",
        "log_end_offset",
        "log_start_offset",
    )

    def __init__(self, broker_id: BrokerId, last_caught_up_ms: float, *, in_maximal_isr: bool) -> None:
        self.broker_id = broker_id
        self.in_maximal_isr = in_maximal_isr
        self.last_caught_up_ms = last_caught_up_ms
        self.last_fetch_ms: float = _NEVER_MS
        self.leader_end_at_last_fetch = UNKNOWN_OFFSET
        self.log_end_offset = UNKNOWN_OFFSET
        self.log_start_offset = UNKNOWN_OFFSET


@dataclass(frozen=True, slots=True)
class LeaderState:
    """What LeaderAndIsr says about a partition that this broker is to lead."""

    leader_epoch: LeaderEpoch
    replicas: tuple[BrokerId, ...]
    isr: tuple[BrokerId, ...]
    partition_epoch: PartitionEpoch


class PartitionLeader:
    """The leader's bookkeeping. The shell has recorded the epoch's start in the log before it makes one."""

    __slots__ = (
        "_effective_min_isr",
        "_followers",
        "_lag_max_ms",
        "_live_brokers",
        "_log",
        "_others",
        "broker_id",
        "epoch_start_offset",
        "isr",
        "leader_epoch",
        "min_insync_replicas",
        "partition_epoch",
        "proposal",
        "replicas",
    )

    def __init__(
        self,
        broker_id: BrokerId,
        state: LeaderState,
        log: LeaderLog,
        live_brokers: "Container[int]",
        *,
        min_insync_replicas: int,
        replica_lag_time_max_ms: int,
        now_ms: float,
    ) -> None:
        """`live_brokers` is read whenever it matters, and changes under us as the cluster does."""
        self.broker_id = broker_id
        self.leader_epoch = state.leader_epoch
        self.partition_epoch = state.partition_epoch
        self.replicas = state.replicas
        self.isr = state.isr
        self.proposal: ProposeIsr | None = None
        self.epoch_start_offset = log.log_end_offset
        self._log = log
        self._live_brokers = live_brokers
        self._lag_max_ms = replica_lag_time_max_ms
        self._followers = {
            replica: Follower(
                replica, now_ms if replica in state.isr else _NEVER_MS, in_maximal_isr=replica in state.isr
            )
            for replica in state.replicas
            if replica != broker_id
        }
        # Who is in sync but no replica any more, at the end of a reassignment, is waited for until it has left the in-sync
        # set: as long as it is in there it may be elected.
        leaving = (Follower(id, now_ms, in_maximal_isr=True) for id in state.isr if id not in state.replicas)
        self._others = (*self._followers.values(), *leaving)
        self.min_insync_replicas = self._effective_min_isr = 0
        self.on_min_insync_replicas_changed(min_insync_replicas, now_ms)

    def on_log_moved(self, log: LeaderLog) -> None:
        """The same records are in another log now."""
        self._log = log

    # Offsets

    @property
    def followers(self) -> "Iterable[Follower]":
        return self._others

    def on_appended(self, now_ms: float) -> int:
        """The log grew. Without other replicas in the way this commits at once."""
        return HIGH_WATERMARK if self._advance_high_watermark(now_ms) else NOTHING

    def on_follower_fetched(
        self, broker_id: BrokerId, fetch_offset: int, log_start_offset: int, now_ms: float, *, epoch_given: bool = True
    ) -> int:
        """A replica asks for records from an offset on, so it has all before it. Call it once a fetch, when first read.

        Not for a read that was refused or that diverges, and not again when a parked fetch is answered.
        """
        follower = self._followers.get(broker_id)
        if follower is None:
            raise not_a_replica(broker_id, epoch_given=epoch_given)
        self._note_caught_up(follower, fetch_offset, now_ms)
        moved = fetch_offset != follower.log_end_offset
        follower.log_end_offset = fetch_offset
        changed = NOTHING
        if log_start_offset != follower.log_start_offset:
            follower.log_start_offset = log_start_offset
            changed = LOW_WATERMARK
        if not follower.in_maximal_isr and self.proposal is None and self._may_join_isr(follower):
            self._propose((*self.isr, follower.broker_id))
            follower.in_maximal_isr = True
            changed |= ISR
        if moved and self._advance_high_watermark(now_ms):
            changed |= HIGH_WATERMARK
        return changed

    def _note_caught_up(self, follower: Follower, fetch_offset: int, now_ms: float) -> None:
        """It has caught up if it has what we had when it last asked, even if more came in the meantime."""
        end_offset = self._log.log_end_offset
        if fetch_offset >= end_offset:
            follower.last_caught_up_ms = now_ms
        elif fetch_offset >= follower.leader_end_at_last_fetch > UNKNOWN_OFFSET:
            follower.last_caught_up_ms = max(follower.last_caught_up_ms, follower.last_fetch_ms)
        follower.leader_end_at_last_fetch = end_offset
        follower.last_fetch_ms = now_ms

    def _advance_high_watermark(self, now_ms: float) -> bool:
        if len(self.isr) < self._effective_min_isr:
            return False
        log = self._log
        committed = log.log_end_offset
        caught_up_since_ms = now_ms - self._lag_max_ms
        for follower in self._others:
            # Who is about to join the ISR is waited for: else the mark runs ahead of it and it never gets in.
            if follower.log_end_offset < committed and (
                follower.in_maximal_isr
                or (follower.last_caught_up_ms >= caught_up_since_ms and follower.broker_id in self._live_brokers)
            ):
                committed = follower.log_end_offset
        if committed <= log.high_watermark:
            return False
        log.update_high_watermark(committed)
        return True

    def low_watermark(self) -> int:
        """Below this no live replica has anything any more."""
        lowest = self._log.log_start_offset
        for follower in self._others:
            if follower.log_start_offset < lowest and follower.broker_id in self._live_brokers:
                lowest = follower.log_start_offset
        return lowest

    # The in-sync set

    @property
    def maximal_isr_size(self) -> int:
        return 1 + sum(follower.in_maximal_isr for follower in self._others)

    @property
    def is_under_min_isr(self) -> bool:
        return len(self.isr) < self._effective_min_isr

    @property
    def is_at_min_isr(self) -> bool:
        return len(self.isr) == self._effective_min_isr

    def is_in_sync(self, broker_id: int) -> bool:
        return broker_id in self.isr

    def on_min_insync_replicas_changed(self, min_insync_replicas: int, now_ms: float) -> int:
        """More than there are replicas cannot be asked for."""
        self.min_insync_replicas = min_insync_replicas
        self._effective_min_isr = min(min_insync_replicas, len(self.replicas))
        return HIGH_WATERMARK if self._advance_high_watermark(now_ms) else NOTHING

    def on_lag_check(self, now_ms: float) -> int:
        """Every half replica.lag.time.max.ms: propose to go on without those who lag."""
        # Who was about to join and went silent is not waited for any longer, also if nothing else happens here.
        changed = HIGH_WATERMARK if self._advance_high_watermark(now_ms) else NOTHING
        if self.proposal is not None:
            return changed
        lagging = {follower.broker_id for follower in self._others if self._is_out_of_sync(follower, now_ms)}
        if not lagging:
            return changed
        self._propose(tuple(replica for replica in self.isr if replica not in lagging))
        return changed | ISR

    def on_isr_written(self, proposal: ProposeIsr, partition_epoch: PartitionEpoch, now_ms: float) -> int:
        """The change was made, and this is the version of the state znode now."""
        if proposal is not self.proposal:
            return NOTHING
        self.isr = proposal.isr
        self.partition_epoch = partition_epoch
        self._settle()
        return HIGH_WATERMARK if self._advance_high_watermark(now_ms) else NOTHING

    def on_isr_refused(self, proposal: ProposeIsr, code: KafkaCode, now_ms: float) -> int:
        """The change was refused. ISR asks for the same once more; the shell waits a moment before it does so."""
        if proposal is not self.proposal:
            return NOTHING
        if code in _CHANGE_NOT_MADE:
            self._settle()
            return HIGH_WATERMARK if self._advance_high_watermark(now_ms) else NOTHING
        # If our state is outdated a LeaderAndIsr with a new one is on its way. Until then either set may be the true one.
        return NOTHING if code in _STATE_IS_OUTDATED else ISR

    def _may_join_isr(self, follower: Follower) -> bool:
        end_offset = follower.log_end_offset
        return (
            end_offset >= self._log.high_watermark
            and end_offset >= self.epoch_start_offset
            and follower.broker_id in self._live_brokers
        )

    def _is_out_of_sync(self, follower: Follower, now_ms: float) -> bool:
        return (
            follower.in_maximal_isr
            and follower.log_end_offset != self._log.log_end_offset
            and now_ms - follower.last_caught_up_ms > self._lag_max_ms
        )

    def _propose(self, isr: tuple[BrokerId, ...]) -> None:
        self.proposal = ProposeIsr(self.leader_epoch, isr, self.partition_epoch)

    def _settle(self) -> None:
        self.proposal = None
        for follower in self._others:
            follower.in_maximal_isr = follower.broker_id in self.isr

    # Produce and delete-records

    def check_produce(self, acks: int) -> None:
        """Refuse a write before it is made: an unknown acks, or too few in sync for acks=all."""
        if acks == -1:
            if len(self.isr) < self._effective_min_isr:
                raise KafkaError(
                    KafkaCode.NOT_ENOUGH_REPLICAS,
                    f"{len(self.isr)} replicas are in sync and {self._effective_min_isr} are required.",
                )
        elif acks not in (0, 1):
            raise KafkaError(KafkaCode.INVALID_REQUIRED_ACKS)

    def produce_outcome(self, required_offset: int) -> KafkaCode | None:
        """What to answer to an acks=all write that ends before this offset; None while it is not committed."""
        if self._log.high_watermark < required_offset:
            return None
        if self.proposal is None and len(self.isr) >= self._effective_min_isr:
            return KafkaCode.NONE
        if self.maximal_isr_size < self._effective_min_isr:
            return KafkaCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return KafkaCode.NONE

    def delete_records_target(self, offset: int) -> int:
        """Up to where to delete; OFFSET_OUT_OF_RANGE if that is not committed."""
        high_watermark = self._log.high_watermark
        target = high_watermark if offset == UP_TO_HIGH_WATERMARK else offset
        if not 0 <= target <= high_watermark:
            raise KafkaError(
                KafkaCode.OFFSET_OUT_OF_RANGE,
                f"Offset {offset} is not within 0 and the high watermark {high_watermark}.",
            )
        return target

    def delete_records_outcome(self, target: int) -> KafkaCode | None:
        """None until every live replica has deleted that far."""
        return KafkaCode.NONE if self.low_watermark() >= target else None
