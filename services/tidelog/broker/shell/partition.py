"""One partition that this broker hosts: its log, and what it is to it in the present leader epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tidelog.broker.core.coordinator_fences import check_fence
from tidelog.broker.core.divergence import diverges
from tidelog.broker.core.leader_epoch_check import check_leader_epoch, not_a_replica
from tidelog.broker.core.partition_leader import HIGH_WATERMARK, ISR, LeaderState, PartitionLeader
from tidelog.broker.core.read_replica import NO_PREFERENCE, preferred_read_replica
from tidelog.broker.log.config import FOREVER
from tidelog.broker.log.flush import flush_is_due
from tidelog.broker.log.reading import Isolation, fetch
from tidelog.kafka.cluster import INTERNAL_TOPICS
from tidelog.kafka.coordination.fencing import NO_FENCE, fence_of, is_fence_marker, shard_producer_id
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import BrokerId, ControllerEpoch

if TYPE_CHECKING:
    from collections.abc import Container, Mapping
    from typing import Protocol

    from tidelog.broker.core.fetch_session import FetchedPartition
    from tidelog.broker.core.partition_follower import PartitionFollower
    from tidelog.broker.log.flusher import Flusher
    from tidelog.broker.log.log import Appended, Log
    from tidelog.broker.log.reading import Fetched
    from tidelog.broker.shell.traffic import Traffic
    from tidelog.broker.shell.verifying import Verification
    from tidelog.broker.shell.waiting import Waiting
    from tidelog.kafka.types import TopicId, TopicPartition

    class IsrWriter(Protocol):
        """Writes what a leader proposes to the partition's state znode, and tells the leader what came of it."""

        def on_isr_proposed(self, partition: Partition) -> None: ...

        def on_flushed(self, partition: Partition) -> None:
            """Something that a follower appended is on the disk now."""
            ...


NO_EPOCH = -1
CONSUMER = BrokerId(-1)


class Reader(NamedTuple):
    """Who reads: what holds for all partitions of one fetch."""

    replica_id: int
    isolation: Isolation
    # Followers serve consumers too, to those who know how to ask them.
    leader_only: bool
    rack_id: str = ""
    # The live brokers that the consumer can reach, with their racks; None where every consumer is served here.
    racks: Mapping[BrokerId, str | None] | None = None

    @property
    def is_follower(self) -> bool:
        return self.replica_id >= 0


class Read(NamedTuple):
    """What a read gives: records and offsets, or instead of records where the logs part, or who else to ask."""

    fetched: Fetched
    diverging_epoch: tuple[int, int] | None = None
    preferred_read_replica: int = NO_PREFERENCE


class Partition:
    """Leader if `leader` is there, else a replica that follows `leader_id`. Waiting requests know it by identity."""

    __slots__ = (
        "_flusher",
        "_isr_writer",
        "_waiting",
        "controller_epoch",
        "coordinator_fence",
        "follower",
        "is_hosted",
        "is_internal",
        "leader",
        "leader_epoch",
        "leader_id",
        "leads_since_epoch",
        "log",
        "name",
        "partition_epoch",
        "replicas",
        "topic",
        "topic_id",
        "traffic",
        "verifications",
    )

    def __init__(
        self,
        name: TopicPartition,
        topic_id: TopicId,
        log: Log,
        traffic: Traffic,
        waiting: Waiting,
        flusher: Flusher,
        isr_writer: IsrWriter,
    ) -> None:
        self.name = name
        self.topic = name.topic.encode()
        self.topic_id = topic_id
        self.log = log
        self.traffic = traffic
        self.is_internal = name.topic in INTERNAL_TOPICS
        # Until the controller has spoken any leader epoch is new, also the one from before a restart.
        self.leader_epoch = NO_EPOCH
        self.leader_id = -1
        self.partition_epoch = -1
        # Of the controller that gave it its role: what a leader writes to ZooKeeper carries it.
        self.controller_epoch = ControllerEpoch(0)
        # The leader epoch since which it leads without a break: what was appended since then is not cut off.
        self.leads_since_epoch = NO_EPOCH
        self.replicas: tuple[BrokerId, ...] = ()
        self.leader: PartitionLeader | None = None
        self.follower: PartitionFollower | None = None
        self.is_hosted = True
        # The highest fence of a coordinator that wrote here, as far as this process has seen.
        self.coordinator_fence = NO_FENCE
        # Producers whose first write in a transaction waits for the word of their coordinator, by id and epoch.
        self.verifications: dict[tuple[int, int], Verification] = {}
        self._waiting = waiting
        self._flusher = flusher
        self._isr_writer = isr_writer

    # ---- roles

    def lead(
        self,
        broker_id: BrokerId,
        state: LeaderState,
        live_brokers: Container[int],
        *,
        min_insync_replicas: int,
        replica_lag_time_max_ms: int,
        monotonic_ms: float,
    ) -> None:
        """Lead in a new leader epoch, which starts at the end of the log whether or not anything is ever written."""
        self.log.assign_epoch(state.leader_epoch)
        if self.leader is None:
            self.leads_since_epoch = state.leader_epoch
        self.follower = None
        self.leader = PartitionLeader(
            broker_id,
            state,
            self.log,
            live_brokers,
            min_insync_replicas=min_insync_replicas,
            replica_lag_time_max_ms=replica_lag_time_max_ms,
            now_ms=monotonic_ms,
        )
        self._waiting.on_role_changed(self)

    def follow(self, follower: PartitionFollower | None) -> None:
        """Follow from now on; None while the leader is not known or not there."""
        self.leader = None
        self.follower = follower
        self._waiting.on_role_changed(self)

    def end(self) -> None:
        """This broker does not host it any more."""
        self.leader = self.follower = None
        self.is_hosted = False
        self._waiting.on_role_changed(self)

    def on_log_moved(self, log: Log) -> None:
        """A copy in another directory took the place of the log: of the same records, but not of the same segments."""
        self.log = log
        if self.leader is not None:
            self.leader.on_log_moved(log)
        self._waiting.on_role_changed(self)

    def led(self) -> PartitionLeader:
        """The leader; NOT_LEADER_OR_FOLLOWER if that is another broker."""
        if self.leader is None:
            raise KafkaError(KafkaCode.NOT_LEADER_OR_FOLLOWER)
        return self.leader

    def on_changed(self, changed: int) -> None:
        """What the leader said that changed."""
        if changed & ISR:
            self._isr_writer.on_isr_proposed(self)
        self._waiting.on_changed(self, changed)

    def on_high_watermark_adopted(self) -> None:
        """A follower took over its leader's high watermark, or cut its log: consumers that read here look again."""
        self._waiting.fetch.wake(self)

    # ---- appending

    def append(
        self,
        data: memoryview,
        acks: int,
        now_ms: int,
        monotonic_ms: float,
        *,
        zstd_allowed: bool = True,
        from_coordinator: bool = False,
    ) -> Appended:
        """Append one produced batch, by one write. KafkaError if it is refused."""
        leader = self.leader
        if leader is None:
            raise KafkaError(KafkaCode.NOT_LEADER_OR_FOLLOWER)
        leader.check_produce(acks)
        log = self.log
        appended = log.append_as_leader(
            data, leader.leader_epoch, now_ms, zstd_allowed=zstd_allowed, from_coordinator=from_coordinator
        )
        if appended.is_duplicate:
            return appended
        traffic = self.traffic
        traffic.bytes_in += len(data)
        traffic.messages_in += appended.last_offset - appended.first_offset + 1
        if log.rolled_unflushed or log.config.flush_messages != FOREVER:
            self.flush_if_due(now_ms)
        changed = leader.on_appended(monotonic_ms)
        if changed & HIGH_WATERMARK:
            self._waiting.on_changed(self, changed)
        else:
            # Followers read up to the end of the log.
            self._waiting.fetch.wake(self)
        return appended

    def append_fenced(
        self, data: memoryview, fence: int, told_epoch: int, acks: int, now_ms: int, monotonic_ms: float
    ) -> Appended:
        """Append what the owner of this shard writes. INVALID_PRODUCER_EPOCH if it is not, or not yet, the owner.

        `told_epoch` is the shard's epoch as the controller told it last.
        """
        self.led()
        topic, index = self.name.topic, self.name.partition
        marks = self.log.producers.entries.get(shard_producer_id(topic, index))
        known = max(self.coordinator_fence, fence_of(told_epoch))
        if marks is not None:
            known = max(known, fence_of(max(marks.coordinator_epoch, marks.producer_epoch)))
        check_fence(fence, known, is_marker=fence > known and is_fence_marker(data, topic, index))
        appended = self.append(data, acks, now_ms, monotonic_ms, from_coordinator=True)
        self.coordinator_fence = fence
        return appended

    def append_marker(
        self, data: memoryview, producer_id: int, acks: int, now_ms: int, monotonic_ms: float
    ) -> Appended:
        """Append the end of a producer's transaction. What waits for word of that transaction has come too late."""
        appended = self.append(data, acks, now_ms, monotonic_ms, from_coordinator=True)
        for key in [key for key in self.verifications if key[0] == producer_id]:
            self.verifications.pop(key).is_outdated = True
        return appended

    def is_durable(self, end_offset: int) -> bool:
        """Whether everything before an offset is as durable as the topic asks for: flush.messages may ask for a sync."""
        log = self.log
        return end_offset - log.recovery_point < log.config.flush_messages

    def flush_if_due(self, now_ms: int) -> None:
        """Sync in a thread what flush.messages or flush.ms wants on the disk, and segments that were rolled."""
        if flush_is_due(self.log, now_ms):
            self._flusher.flush(self.log, now_ms, lambda _: self._flushed(now_ms))

    def _flushed(self, now_ms: int) -> None:
        self._waiting.produce.wake(self)
        if self.follower is not None:
            self._isr_writer.on_flushed(self)
        # More may have come while the disk was busy.
        if not self.log.is_offline:
            self.flush_if_due(now_ms)

    # ---- reading

    def read(self, asked: FetchedPartition, reader: Reader, max_bytes: int, *, at_least_one: bool) -> Read:
        """Records from an offset on, as far as the reader may see. KafkaError if it is refused."""
        leader, log = self.leader, self.log
        check_leader_epoch(
            asked.leader_epoch, self.leader_epoch, is_leader=leader is not None, leader_only=reader.leader_only
        )
        if reader.replica_id >= 0 and (leader is None or reader.replica_id not in leader.replicas):
            raise not_a_replica(BrokerId(reader.replica_id), epoch_given=asked.leader_epoch != NO_EPOCH)
        if asked.last_fetched_epoch != NO_EPOCH:
            end = log.end_offset_for_epoch(asked.last_fetched_epoch)
            if diverges(asked.fetch_offset, asked.last_fetched_epoch, end, log.log_start_offset):
                return Read(self._nothing(asked, reader), diverging_epoch=(end.epoch, end.end_offset))
            if reader.replica_id >= 0 and asked.leader_epoch == self.leader_epoch:
                asked.agreed_epoch = self.leader_epoch
        if reader.racks is not None and leader is not None:
            preferred = preferred_read_replica(reader.rack_id, asked.fetch_offset, leader, reader.racks)
            if preferred != NO_PREFERENCE:
                return Read(self._nothing(asked, reader), preferred_read_replica=preferred)
        return Read(fetch(log, asked.fetch_offset, max_bytes, reader.isolation, at_least_one=at_least_one))

    def agrees_with(self, asked: FetchedPartition, replica_id: int) -> bool:
        """Whether a follower may read on here and its log is the same as ours up to there; False if it takes a closer look.

        Nearly every fetch of a follower is answered by this: that it has, or gets next, what was just written.
        """
        leader, log = self.leader, self.log
        if leader is None or replica_id not in leader.replicas or log.is_offline:
            return False
        if asked.agreed_epoch != self.leader_epoch:
            if asked.leader_epoch != self.leader_epoch or asked.last_fetched_epoch != log.epochs.latest_epoch:
                return False
            asked.agreed_epoch = self.leader_epoch
        return log.log_start_offset <= asked.fetch_offset <= log.log_end_offset

    def _nothing(self, asked: FetchedPartition, reader: Reader) -> Fetched:
        """The offsets alone."""
        fetched = fetch(self.log, self.log.log_end_offset, asked.max_bytes, reader.isolation)
        return fetched._replace(records=None)

    def limit(self, isolation: Isolation) -> int:
        """How far a reader may see now."""
        if isolation is Isolation.LOG_END:
            return self.log.log_end_offset
        return self.log.high_watermark if isolation is Isolation.HIGH_WATERMARK else self.log.last_stable_offset
