"""A leader and its follower without a network: real partitions, logs and frames, and a fetch whenever the test says so."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from tests.support.batches import batch
from tests.support.logs import NOW
from tidelog.broker.core.fetch_session_cache import FetchSessionCache
from tidelog.broker.core.fetch_session_client import FetchSessionClient
from tidelog.broker.core.live_config import LiveConfig
from tidelog.broker.core.partition_follower import Verdict
from tidelog.broker.core.replication_quota import ReplicationQuota
from tidelog.broker.log.files import Files
from tidelog.broker.log.flusher import Flusher
from tidelog.broker.log.log_store import LogStore
from tidelog.broker.log.reading import Isolation
from tidelog.broker.shell.cold_reads import ColdReads
from tidelog.broker.shell.copying import Copy
from tidelog.broker.shell.fetching import Fetching
from tidelog.broker.shell.log_configs import log_config
from tidelog.broker.shell.partition import Partition, Reader
from tidelog.broker.shell.partitions import Partitions
from tidelog.broker.shell.producing import Producing
from tidelog.broker.shell.traffic import TrafficByTopic
from tidelog.broker.shell.waiting import Waiting
from tidelog.broker.wire.follower_fetch import (
    VERSION,
    FollowerIdentity,
    encode_follower_fetch,
    read_follower_answer,
)
from tidelog.broker.wire.hot_fetch_answer import FetchAnswer, encode_fetched
from tidelog.broker.wire.hot_fetch_request import read_fetch
from tidelog.kafka.cluster import ClusterView, Member, PartitionView
from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.records.record import Record
from tidelog.kafka.types import BrokerEpoch, LeaderEpoch, TopicPartition
from tidelog.kafka.wire.headers import decode_request_header
from tidelog.kafka.wire.messages.fetch import FETCH
from tidelog.net.outbox import FileRange, Part
from tidelog.runtime.clock import ManualClock
from tidelog.runtime.settings import load_config
from tidelog.runtime.timers import ManualTimers

TOPIC_ID = UUID(int=77)


class Offsets(NamedTuple):
    """Where a replica stands."""

    log_end: int
    high_watermark: int


class _Storage:
    def __init__(self, directory: str, configs: LiveConfig) -> None:
        self._configs = configs
        self.store = LogStore(Files(), [directory], self.log_config, lambda *_: None)
        self.store.load(NOW)
        self.flusher = Flusher(Files(), lambda call: call())

    def log_config(self, topic: str) -> Any:
        return log_config(self._configs.topic(topic), 1000)

    def delete(self, partition: TopicPartition) -> None:
        self.store.delete(partition, NOW)


class Replica:
    """One broker, and what its partition asks of replication."""

    def __init__(self, id: int, folder: Path, clock: ManualClock) -> None:
        overrides = {"broker.id": str(id), "zookeeper.connect": "z:1", "log.dirs": str(folder)}
        config = load_config(BrokerConfig, file=None, environ={}, overrides=overrides).config
        self.id = id
        self.clock = clock
        self.view = ClusterView(brokers={each: Member(each, BrokerEpoch(each), ()) for each in (1, 2)})
        self.storage = _Storage(str(folder), LiveConfig(config))
        self.soon: list[Callable[[], None]] = []
        self.waiting = Waiting(ManualTimers(clock), clock, self.soon.append)
        self.proposed: list[tuple[int, ...]] = []
        self.partitions = Partitions(
            config,
            self.view,
            clock,
            self.storage,  # type: ignore[arg-type]
            LiveConfig(config),
            TrafficByTopic(),
            self.waiting,
            self,
        )
        self.producing = Producing(self.partitions, clock)
        sessions = FetchSessionCache(10, itertools.count(1).__next__)
        self.fetching = Fetching(self.partitions, sessions, clock, 10_000_000, ReplicationQuota(), ColdReads())

    # What the partition tells replication.

    def on_follows(self, partition: Partition) -> None: ...
    def on_stops(self, partition: Partition) -> None: ...
    def on_hosted(self, topic: str) -> None: ...
    def on_flushed(self, partition: Partition) -> None: ...

    def on_isr_proposed(self, partition: Partition) -> None:
        assert partition.leader is not None
        assert partition.leader.proposal is not None
        self.proposed.append(partition.leader.proposal.isr)

    # What a test does with it.

    @property
    def partition(self) -> Partition:
        return self.partitions.named("t", 0)

    @property
    def offsets(self) -> Offsets:
        return Offsets(self.partition.log.log_end_offset, self.partition.log.high_watermark)

    def told(self, leader: int, epoch: int, isr: tuple[int, ...] = (1, 2)) -> None:
        """The controller's word."""
        state = PartitionView(0, leader, LeaderEpoch(epoch), isr, (1, 2))
        self.partitions.apply_state("t", TOPIC_ID, state, is_new=True)

    def produce(self, value: bytes = b"v") -> list[KafkaCode]:
        """One record with acks=all; the list gets its outcome when there is one."""
        outcome: list[KafkaCode] = []
        production = self.producing.begin(-1, None)
        self.producing.append(production, b"t", 0, memoryview(bytearray(batch(Record(None, value)))))
        if production.awaited is None:
            outcome.append(KafkaCode(production.answers[0].error_code))
        else:
            self.producing.wait(production, 30_000, lambda answers: outcome.append(KafkaCode(answers[0].error_code)))
        return outcome

    def run(self) -> None:
        """The event loop's turns, until there is nothing left to do."""
        while self.soon:
            self.soon.pop(0)()


class Pair:
    """Broker 1 leads in epoch 0 and broker 2 follows, unless told otherwise."""

    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock()
        self.one = Replica(1, folder / "1", self.clock)
        self.two = Replica(2, folder / "2", self.clock)
        self.told(leader=1, epoch=0)

    def told(self, leader: int, epoch: int, isr: tuple[int, ...] = (1, 2)) -> None:
        for replica in (self.one, self.two):
            replica.told(leader, epoch, isr)
        self.begin_copying()

    def begin_copying(self) -> None:
        """A session of its own for each leader epoch."""
        leader = self.one if self.one.partition.leader is not None else self.two
        self.leader, self.follower = (self.one, self.two) if leader is self.one else (self.two, self.one)
        following = self.follower.partition
        assert following.follower is not None
        self.copy = Copy(following, following.follower, 1_000_000, self.follower.storage.store, self.clock)
        self.session = FetchSessionClient()
        self.session.put(self.copy.asked)

    def send_fetch(self) -> Callable[[], Verdict]:
        """The leader gets a fetch, and may park it. What is given takes the answer to the follower, once it is there."""
        identity = FollowerIdentity(b"test", self.follower.id, 500, 1, 10_000_000)
        frame = memoryview(encode_follower_fetch(identity, 1, 5, self.session.build()))[4:]
        _, at = decode_request_header(frame, FETCH)
        answers: list[FetchAnswer] = []
        reader = Reader(self.follower.id, Isolation.LOG_END, leader_only=True)
        asked = read_fetch(frame, at, VERSION)
        answer = self.leader.fetching.fetch(asked, reader, VERSION, lambda _: answers.append)
        if answer is not None:
            answers.append(answer)
        return lambda: self._deliver(answers)

    def fetch(self) -> Verdict:
        """One round; a fetch that is parked is answered when its time is over."""
        deliver = self.send_fetch()
        self.clock.advance(500)
        return deliver()

    def _deliver(self, answers: list[FetchAnswer]) -> Verdict:
        self.leader.run()
        (answer,) = answers
        frame = memoryview(b"".join(_bytes(part) for part in encode_fetched(VERSION, 5, answer)))[4:]
        read = read_follower_answer(frame)
        assert self.session.on_answer(KafkaCode(read.error_code), read.session_id, [one.key for one in read.partitions])
        verdict = Verdict.IGNORE
        for one in read.partitions:
            verdict = self.copy.take(one, frame)
        if self.copy.ask_on():
            self.session.put(self.copy.asked)
        return verdict


def _bytes(part: Part) -> bytes:
    assert not isinstance(part, FileRange), "what is this small is sent with its header"
    return bytes(part)
