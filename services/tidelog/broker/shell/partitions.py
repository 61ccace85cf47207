"""The partitions that this broker hosts, and how the controller's word changes them.

A partition comes into being with the first LeaderAndIsr that names it, also if its log was on disk before: only the
controller knows what this broker is to it now. From then on its leader epoch only grows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from tidelog.broker.core.partition_follower import PartitionFollower
from tidelog.broker.core.partition_leader import LeaderState
from tidelog.broker.log.meta_properties import read_topic_id, write_topic_id
from tidelog.broker.shell.partition import NO_EPOCH, Partition
from tidelog.kafka.cluster import NO_LEADER
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import BrokerId, PartitionIndex, TopicName, TopicPartition
from tidelog.runtime import logs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Protocol

    from tidelog.broker.core.live_config import LiveConfig
    from tidelog.broker.core.partition_leader import PartitionLeader
    from tidelog.broker.log.log import Log
    from tidelog.broker.shell.partition import IsrWriter
    from tidelog.broker.shell.storage import Storage
    from tidelog.broker.shell.traffic import TrafficByTopic
    from tidelog.broker.shell.waiting import Waiting
    from tidelog.kafka.cluster import ClusterView, PartitionView
    from tidelog.kafka.configs.broker import BrokerConfig
    from tidelog.kafka.configs.topic import TopicConfig
    from tidelog.kafka.types import TopicId
    from tidelog.runtime.clock import Clock

    class Replication(IsrWriter, Protocol):
        """What copies partitions from their leaders, and writes the in-sync sets of those that are led here."""

        def on_follows(self, partition: Partition) -> None:
            """The partition follows a leader, in a new leader epoch."""
            ...

        def on_hosted(self, topic: str) -> None:
            """A partition of this topic is here from now on."""
            ...

        def on_stops(self, partition: Partition) -> None:
            """It does not follow any more, or not in that epoch; called before its role changes."""
            ...


# StopReplica's leader epochs that are not epochs: the topic is being deleted, or the controller does not know it.
_EPOCH_DURING_DELETE, _EPOCH_UNKNOWN = -2, -1
# The controller tells leader and followers at once: who is told first finds the other in the epoch before, for a moment.
_FIRST_BACKOFF_MS = 10

_logger = logs.get("partitions")


class Partitions:
    """All of them, by topic name and by topic id, each as it is on the wire."""

    def __init__(
        self,
        config: BrokerConfig,
        view: ClusterView,
        clock: Clock,
        storage: Storage,
        configs: LiveConfig,
        traffic: TrafficByTopic,
        waiting: Waiting,
        replication: Replication,
    ) -> None:
        self.broker_id = BrokerId(config.broker_id)
        self.view = view
        self.traffic = traffic
        self.waiting = waiting
        self.configs = configs
        self._config = config
        self._clock = clock
        self._storage = storage
        self._replication = replication
        self.by_name: dict[tuple[bytes, int], Partition] = {}
        self.by_id: dict[tuple[bytes, int], Partition] = {}
        # Told of every partition that is hosted from now on, and of every one whose log is about to be deleted.
        self.on_added: Callable[[Partition], None] = lambda _: None
        self.on_deletes: Callable[[TopicPartition], None] = lambda _: None

    def __iter__(self) -> Iterator[Partition]:
        return iter(tuple(self.by_name.values()))

    def __len__(self) -> int:
        return len(self.by_name)

    # ---- for requests

    def named(self, topic: str, index: int) -> Partition:
        """The partition that this broker hosts; the refusal that a client gets if there is none."""
        found = self.by_name.get((topic.encode(), index))
        if found is None:
            raise self.missing(topic.encode(), index)
        return found

    def missing(self, topic: bytes, index: int, *, by_id: bool = False) -> KafkaError:
        """Why a partition is not here: somebody else has it, or nobody does, as far as topics are known here already."""
        if not self.view.knows_topics:
            return KafkaError(KafkaCode.NOT_LEADER_OR_FOLLOWER)
        if by_id:
            name = self.view.topic_names.get(UUID(bytes=topic))
            if name is None:
                return KafkaError(KafkaCode.UNKNOWN_TOPIC_ID)
        else:
            name = str(topic, "utf-8", "replace")
        known = self.view.topics.get(name)
        if known is None or index not in known.partitions:
            return KafkaError(KafkaCode.UNKNOWN_TOPIC_OR_PARTITION)
        return KafkaError(KafkaCode.NOT_LEADER_OR_FOLLOWER)

    def leader_of(self, topic: bytes, index: int, *, by_id: bool = False) -> tuple[int, int] | None:
        """Who leads a partition, as far as this broker knows, and in which leader epoch.

        Its role is told before the metadata is. A client that is refused and then told of the leader that it just asked
        would look no further.
        """
        hosted = (self.by_id if by_id else self.by_name).get((topic, index))
        name = self.view.topic_names.get(UUID(bytes=topic)) if by_id else str(topic, "utf-8", "replace")
        known = self.view.topics.get(name or "")
        told = None if known is None else known.partitions.get(index)
        leader, epoch = (NO_LEADER, NO_EPOCH) if told is None else (told.leader, told.leader_epoch)
        if hosted is not None and hosted.leader_epoch >= epoch:
            leader, epoch = hosted.leader_id, hosted.leader_epoch
        leads_here = hosted is not None and hosted.leader is not None
        return None if leader == NO_LEADER or (leader == self.broker_id and not leads_here) else (leader, epoch)

    def hosts_topic(self, topic: str) -> bool:
        return any(partition.name.topic == topic for partition in self.by_name.values())

    # ---- from the controller

    def apply_state(self, topic: str, topic_id: TopicId, state: PartitionView, *, is_new: bool) -> None:
        """Lead or follow as the controller says. KafkaError if that is outdated, or not possible here."""
        key = (topic.encode(), state.index)
        known = self.by_name.get(key)
        if known is not None:
            self._check_state(known, topic_id, state)
        if self.broker_id not in state.replicas:
            raise KafkaError(KafkaCode.UNKNOWN_TOPIC_OR_PARTITION, f"broker {self.broker_id} is not a replica")
        partition = known or self._add(topic, topic_id, state.index, is_new=is_new)
        self._take_role(partition, state)

    def stop(self, topic: str, index: int, leader_epoch: int, *, delete: bool) -> None:
        """Host a partition no more; its log goes only if `delete` says so. KafkaError if the word is outdated."""
        name = TopicPartition(TopicName(topic), PartitionIndex(index))
        partition = self.by_name.get((topic.encode(), index))
        if partition is not None:
            partition.log.check_online()
            if leader_epoch not in (_EPOCH_DURING_DELETE, _EPOCH_UNKNOWN) and leader_epoch < partition.leader_epoch:
                raise KafkaError(KafkaCode.FENCED_LEADER_EPOCH)
            self._replication.on_stops(partition)
            if delete:
                self._remove(partition)
            else:
                partition.follow(None)
        if delete:
            self.on_deletes(name)
            # Also a log that no LeaderAndIsr has spoken of: its topic was deleted while this broker was away.
            self._storage.delete(name)

    def stand_down(self, topics: Iterable[str]) -> None:
        """Lead no more where another leads in a later epoch, as everybody is told.

        Roles come with LeaderAndIsr, and before this. But a broker that has lost ZooKeeper is not told its roles any more:
        it would go on to take records that nobody copies.
        """
        for topic in topics:
            known = self.view.topics.get(topic)
            for state in known.partitions.values() if known is not None else ():
                partition = self.by_name.get((topic.encode(), state.index))
                if partition is not None and partition.leader is not None and self._is_over(partition.leader, state):
                    _logger.warning("leads no more", partition=str(partition.name), leader=state.leader)
                    partition.leader_id = state.leader
                    partition.follow(None)

    def _is_over(self, leader: PartitionLeader, state: PartitionView) -> bool:
        return state.leader_epoch > leader.leader_epoch and state.leader != self.broker_id

    def end_all(self) -> None:
        """The broker stops: nothing is hosted any more, and whoever waits is told to ask elsewhere."""
        ended = list(self)
        self.by_name.clear()
        self.by_id.clear()
        for partition in ended:
            self._replication.on_stops(partition)
            partition.end()

    def on_config_changed(self, topic: str, effective: TopicConfig) -> None:
        """The topic's settings changed."""
        config = self._storage.log_config(topic)
        store = self._storage.store
        for log in (*store, *store.futures):
            if log.partition.topic == topic:
                log.config = config
        for partition in self:
            if partition.name.topic == topic and partition.leader is not None:
                changed = partition.leader.on_min_insync_replicas_changed(
                    effective.min_insync_replicas, self._clock.monotonic_ms()
                )
                partition.on_changed(changed)

    def flush_due(self) -> None:
        now_ms = self._clock.now_ms()
        for partition in self:
            if not partition.log.is_offline:
                partition.flush_if_due(now_ms)

    def check_lag(self) -> None:
        """Every half replica.lag.time.max.ms: leaders look who does not keep up."""
        now_ms = self._clock.monotonic_ms()
        for partition in self:
            if partition.leader is not None:
                partition.on_changed(partition.leader.on_lag_check(now_ms))

    # ---- inside

    def _check_state(self, partition: Partition, topic_id: TopicId, state: PartitionView) -> None:
        partition.log.check_online()
        if partition.topic_id != topic_id:
            raise KafkaError(KafkaCode.INCONSISTENT_TOPIC_ID)
        if state.leader_epoch <= partition.leader_epoch:
            raise KafkaError(
                KafkaCode.STALE_CONTROLLER_EPOCH,
                f"leader epoch {state.leader_epoch} is not newer than {partition.leader_epoch}",
            )

    def _add(self, topic: str, topic_id: TopicId, index: int, *, is_new: bool) -> Partition:
        name = TopicPartition(TopicName(topic), PartitionIndex(index))
        log = self._log_of(name, topic_id, is_new=is_new)
        partition = Partition(
            name, topic_id, log, self.traffic.of(topic), self.waiting, self._storage.flusher, self._replication
        )
        self.by_name[partition.topic, index] = partition
        self.by_id[topic_id.bytes, index] = partition
        self._replication.on_hosted(topic)
        self.on_added(partition)
        return partition

    def _log_of(self, name: TopicPartition, topic_id: TopicId, *, is_new: bool) -> Log:
        store = self._storage.store
        log = store.get(name)
        if log is not None:
            self._check_topic_id(log, topic_id)
            return log
        if not is_new and any(directory.is_offline for directory in store.dirs):
            # The log may well be in the directory that failed: an empty one in its place would be taken for the truth.
            raise KafkaError(KafkaCode.KAFKA_STORAGE_ERROR, f"the log of {name} may be in a directory that is offline")
        return store.create(name, self._clock.now_ms(), topic_id)

    def _check_topic_id(self, log: Log, topic_id: TopicId) -> None:
        with log.io():
            found = read_topic_id(log.files, log.directory)
            if found is None:
                write_topic_id(log.files, log.directory, topic_id)
        if found is not None and found != topic_id:
            raise KafkaError(KafkaCode.INCONSISTENT_TOPIC_ID)

    def _take_role(self, partition: Partition, state: PartitionView) -> None:
        self._replication.on_stops(partition)
        partition.leader_id = state.leader
        partition.replicas = tuple(BrokerId(replica) for replica in state.replicas)
        partition.controller_epoch = state.controller_epoch
        if state.leader == self.broker_id:
            partition.lead(
                self.broker_id,
                LeaderState(
                    state.leader_epoch,
                    partition.replicas,
                    tuple(BrokerId(replica) for replica in state.isr),
                    state.partition_epoch,
                ),
                _LiveBrokers(self.view),
                min_insync_replicas=self.configs.topic(partition.name.topic).min_insync_replicas,
                replica_lag_time_max_ms=self._config.replica_lag_time_max_ms,
                monotonic_ms=self._clock.monotonic_ms(),
            )
        else:
            self._follow(partition, state)
        # Last, so that a role that could not be taken is not taken for the present one.
        partition.leader_epoch = state.leader_epoch
        partition.partition_epoch = state.partition_epoch

    def _follow(self, partition: Partition, state: PartitionView) -> None:
        log = partition.log
        follower = None
        if state.leader != NO_LEADER:
            follower = PartitionFollower(
                BrokerId(state.leader),
                state.leader_epoch,
                log.log_end_offset,
                log.epochs.latest_epoch,
                fetch_backoff_ms=self._config.replica_fetch_backoff_ms,
                first_backoff_ms=_FIRST_BACKOFF_MS,
            )
        partition.follow(follower)
        if follower is not None:
            self._replication.on_follows(partition)

    def _remove(self, partition: Partition) -> None:
        del self.by_name[partition.topic, partition.name.partition]
        del self.by_id[partition.topic_id.bytes, partition.name.partition]
        partition.end()
        topic = partition.name.topic
        if not self.hosts_topic(topic):
            self.traffic.forget(topic)
            self.configs.forget_topic(topic)


class _LiveBrokers:
    """The brokers that are registered, as the view has them whenever somebody asks."""

    __slots__ = ("_view",)

    def __init__(self, view: ClusterView) -> None:
        self._view = view

    def __contains__(self, broker_id: object) -> bool:
        return broker_id in self._view.brokers
