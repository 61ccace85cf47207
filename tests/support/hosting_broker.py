"""The partitions of a broker on a disk of their own, without processes and threads: a controller's word is a call."""

import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from tidelog.kafka.cluster import ClusterView, PartitionView
from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.types import LeaderEpoch, TopicPartition
from tidelog.runtime.clock import ManualClock
from tidelog.runtime.settings import load_config
from tidelog.runtime.timers import ManualTimers

if TYPE_CHECKING:
    from collections.abc import Callable

TOPIC_ID = uuid.UUID(int=7)


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


class HostingBroker:
    """Broker 1 with two log directories, and a controller's word at hand."""

    def __init__(self, folder: Path) -> None:
        directories = [str(folder / "a"), str(folder / "b")]
        overrides = {"broker.id": "1", "zookeeper.connect": "z:1", "log.dirs": ",".join(directories)}
        config = load_config(BrokerConfig, file=None, environ={}, overrides=overrides).config
        self.clock = ManualClock()
        self.soon: list[Callable[[], None]] = []
        self.view = ClusterView(knows_topics=True)
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

    def apply(
        self,
        epoch: int = 0,
        leader: int = 1,
        *,
        is_new: bool = True,
        index: int = 0,
        topic: str = "t",
        **fields: Any,
    ) -> None:
        replicas = fields.pop("replicas", (1,))
        state = PartitionView(index, leader, LeaderEpoch(epoch), fields.pop("isr", replicas), replicas, **fields)
        self.partitions.apply_state(topic, fields.pop("topic_id", TOPIC_ID), state, is_new=is_new)

    def produce(self, acks: int = -1, index: int = 0) -> Produced:
        production = self.producing.begin(acks, None)
        self.producing.append(production, b"t", index, memoryview(plain()))
        assert production.awaited is None
        return production.answers[0]

    def run_soon(self) -> None:
        while self.soon:
            self.soon.pop(0)()
