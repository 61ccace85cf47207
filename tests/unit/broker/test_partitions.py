"""The partitions of a broker on a disk of their own: roles, refusals, and a disk that fails."""

import errno
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.batches import plain
from tests.support.logs import NOW
from tidelog.broker.core.live_config import LiveConfig
from tidelog.broker.log.files import Files
from tidelog.broker.log.flusher import Flusher
from tidelog.broker.log.log_store import LogStore
from tidelog.broker.shell.log_configs import log_config
from tidelog.broker.shell.partition import Partition
from tidelog.broker.shell.partitions import Partitions
from tidelog.broker.shell.producing import Producing
from tidelog.broker.shell.traffic import TrafficByTopic
from tidelog.broker.shell.waiting import Waiting
from tidelog.broker.wire.hot_produce import Produced
from tidelog.kafka.cluster import ClusterView, PartitionView, TopicView
from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import ControllerEpoch, LeaderEpoch, PartitionIndex, TopicName, TopicPartition
from tidelog.runtime.clock import ManualClock
from tidelog.runtime.settings import load_config
from tidelog.runtime.timers import ManualTimers

TOPIC_ID = uuid.UUID(int=7)
NAME = TopicPartition(TopicName("t"), PartitionIndex(0))


class SomeStorage:
    """The logs without the threads and timers that look after them."""

    def __init__(self, directories: list[str], configs: LiveConfig) -> None:
        self._configs = configs
        self.failed: list[str] = []
        self.store = LogStore(Files(), directories, self.log_config, lambda path, _: self.failed.append(path))
        self.store.load(NOW)
        self.flusher = Flusher(Files(), lambda _: None)

    def log_config(self, topic: str) -> Any:
        return log_config(self._configs.topic(topic), 1000)

    def delete(self, partition: TopicPartition) -> None:
        if self.store.get(partition) is not None:
            self.store.delete(partition, NOW)


class NoReplication:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def on_follows(self, partition: Partition) -> None:
        self.told.append(f"follows {partition.leader_id}")

    def on_stops(self, partition: Partition) -> None:
        self.told.append(f"stops {partition.name}")

    def on_hosted(self, topic: str) -> None:
        """Nothing is throttled here."""

    def on_isr_proposed(self, partition: Partition) -> None:
        self.told.append("proposes")

    def on_flushed(self, partition: Partition) -> None:
        self.told.append("flushed")


class Broker:
    """Broker 1 with two log directories, and a controller's word at hand."""

    def __init__(self, folder: Path) -> None:
        directories = [str(folder / "a"), str(folder / "b")]
        overrides = {"broker.id": "1", "zookeeper.connect": "z:1", "log.dirs": ",".join(directories)}
        config = load_config(BrokerConfig, file=None, environ={}, overrides=overrides).config
        self.clock = ManualClock()
        self.soon: list[Callable[[], None]] = []
        self.view = ClusterView()
        self.storage = SomeStorage(directories, LiveConfig(config))
        self.replication = NoReplication()
        self.waiting = Waiting(ManualTimers(self.clock), self.clock, self.soon.append)
        self.partitions = Partitions(
            config,
            self.view,
            self.clock,
            self.storage,  # type: ignore[arg-type]
            LiveConfig(config),
            TrafficByTopic(),
            self.waiting,
            self.replication,
        )
        self.producing = Producing(self.partitions, self.clock)

    def apply(self, epoch: int = 0, leader: int = 1, *, is_new: bool = True, index: int = 0, **fields: Any) -> None:
        replicas = fields.pop("replicas", (1,))
        state = PartitionView(index, leader, LeaderEpoch(epoch), fields.pop("isr", replicas), replicas, **fields)
        self.partitions.apply_state("t", fields.pop("topic_id", TOPIC_ID), state, is_new=is_new)

    def produce(self, acks: int = -1, index: int = 0) -> Produced:
        production = self.producing.begin(acks, None)
        self.producing.append(production, b"t", index, memoryview(plain()))
        assert production.awaited is None
        return production.answers[0]

    def run_soon(self) -> None:
        while self.soon:
            self.soon.pop(0)()


@pytest.fixture
def broker(tmp_path: Path) -> Broker:
    return Broker(tmp_path)


def refusal(call: Callable[[], object]) -> KafkaCode:
    with pytest.raises(KafkaError) as refused:
        call()
    return refused.value.code


def test_one_replica_commits_at_once(broker: Broker) -> None:
    broker.apply()
    assert [broker.produce().base_offset for _ in range(3)] == [0, 1, 2]
    log = broker.partitions.named("t", 0).log
    assert (log.high_watermark, log.log_end_offset) == (3, 3)


def test_why_a_partition_is_not_here(broker: Broker) -> None:
    missing = broker.partitions.missing
    assert missing(b"t", 0).code is KafkaCode.UNKNOWN_TOPIC_OR_PARTITION
    assert missing(TOPIC_ID.bytes, 0, by_id=True).code is KafkaCode.UNKNOWN_TOPIC_ID
    elsewhere = PartitionView(0, 5, LeaderEpoch(3), (5,), (5,), controller_epoch=ControllerEpoch(1))
    broker.view.topics["t"] = TopicView("t", TOPIC_ID, {0: elsewhere})
    broker.view.topic_names[TOPIC_ID] = "t"
    assert missing(b"t", 0).code is missing(TOPIC_ID.bytes, 0, by_id=True).code is KafkaCode.NOT_LEADER_OR_FOLLOWER
    assert missing(b"t", 1).code is KafkaCode.UNKNOWN_TOPIC_OR_PARTITION
    answer = broker.produce()
    assert (answer.error_code, answer.current_leader) == (KafkaCode.NOT_LEADER_OR_FOLLOWER, (5, 3))


def test_a_role_is_taken_once_for_each_leader_epoch(broker: Broker) -> None:
    broker.apply(epoch=2)
    assert refusal(lambda: broker.apply(epoch=2)) is KafkaCode.STALE_CONTROLLER_EPOCH
    broker.apply(epoch=3, leader=5, replicas=(5, 1))
    partition = broker.partitions.named("t", 0)
    assert (partition.leader, partition.leader_epoch) == (None, 3)
    assert broker.replication.told[-1] == "follows 5"
    assert broker.produce().error_code == KafkaCode.NOT_LEADER_OR_FOLLOWER
    broker.apply(epoch=4, replicas=(5, 1), isr=(1,))
    assert partition.led().leader_epoch == 4
    assert [entry.epoch for entry in partition.log.epochs.entries] == [4], "the epoch starts without a record"


def test_a_failed_directory_takes_only_its_own_partitions_along(broker: Broker) -> None:
    broker.apply(index=0)
    broker.apply(index=1)
    first, second = (broker.partitions.named("t", index).log for index in (0, 1))
    assert Path(first.directory).parent != Path(second.directory).parent, "spread over the directories"
    first.io_failed(OSError(errno.EIO, "Input/output error"))
    assert len(broker.storage.failed) == 1
    assert broker.produce(index=0).error_code == KafkaCode.KAFKA_STORAGE_ERROR
    assert broker.produce(index=1).error_code == KafkaCode.NONE
    assert refusal(lambda: broker.apply(epoch=1, index=0)) is KafkaCode.KAFKA_STORAGE_ERROR


def test_an_old_replica_is_not_made_anew_beside_a_failed_directory(broker: Broker) -> None:
    broker.apply(index=0)
    broker.partitions.named("t", 0).log.io_failed(OSError(errno.EIO, "Input/output error"))
    assert refusal(lambda: broker.apply(index=1, is_new=False)) is KafkaCode.KAFKA_STORAGE_ERROR
    broker.apply(index=1, is_new=True)


def test_a_write_that_waits_is_answered_when_leadership_is_lost(broker: Broker) -> None:
    broker.apply(replicas=(1, 5))
    production = broker.producing.begin(-1, None)
    broker.producing.append(production, b"t", 0, memoryview(plain()))
    assert production.awaited is not None
    answered: list[list[Produced]] = []
    broker.producing.wait(production, 10_000, answered.append)
    broker.apply(epoch=1, leader=5, replicas=(5, 1))
    assert not answered
    broker.run_soon()
    assert answered[0][0].error_code == KafkaCode.NOT_LEADER_OR_FOLLOWER


def test_a_write_that_waits_is_answered_when_it_is_committed_or_late(broker: Broker) -> None:
    broker.apply(replicas=(1, 5))
    answered: list[list[Produced]] = []
    for _ in range(2):
        production = broker.producing.begin(-1, None)
        broker.producing.append(production, b"t", 0, memoryview(plain()))
        broker.producing.wait(production, 1000, answered.append)
    partition = broker.partitions.named("t", 0)
    partition.on_changed(partition.led().on_follower_fetched(partition.replicas[1], 1, 0, broker.clock.monotonic_ms()))
    broker.run_soon()
    assert [(one[0].error_code, one[0].base_offset) for one in answered] == [(0, 0)]
    broker.clock.advance(1100)
    assert [one[0].error_code for one in answered] == [0, KafkaCode.REQUEST_TIMED_OUT]
    assert partition.log.log_end_offset == 2, "what was late is not taken back"


def test_stopping_and_deleting(broker: Broker) -> None:
    broker.apply(epoch=5)
    assert refusal(lambda: broker.partitions.stop("t", 0, 4, delete=False)) is KafkaCode.FENCED_LEADER_EPOCH
    broker.partitions.stop("t", 0, -2, delete=True)
    assert broker.storage.store.get(NAME) is None
    assert len(broker.partitions) == 0
    broker.apply(epoch=0)
    assert broker.produce().base_offset == 0, "a new log"


def test_counters_are_kept_by_topic_and_forgotten_with_it(broker: Broker) -> None:
    broker.apply()
    broker.produce()
    broker.produce(index=9)
    traffic = broker.partitions.traffic
    assert (traffic.of("t").messages_in, traffic.of("t").bytes_in) == (1, len(plain()))
    assert traffic.unknown.failed_produces == 1
    broker.partitions.stop("t", 0, -2, delete=True)
    assert traffic.topics == {}
