"""The cluster: machines with controllers and brokers on them, ZooKeeper between them, and what is seen from outside."""

import shutil
import tempfile
import traceback
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Self

from tests.support.sim.disk import Disk
from tests.support.sim.ensemble import Ensemble
from tests.support.sim.invariants import Invariants
from tests.support.sim.machine import Machine, SimProcess
from tests.support.sim.network import Network
from tests.support.sim.replaced import simulated
from tests.support.sim.scheduler import Scheduler
from tests.support.sim.trace import InvariantBroken, Trace
from tidelog.broker.shell.process import _serve as serve_broker
from tidelog.controller.shell.process import serve as serve_controller
from tidelog.group_coordinator.shell.process import serve as serve_coordinator
from tidelog.kafka.cluster import CONSUMER_OFFSETS, TRANSACTION_STATE
from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.configs.controller import ControllerConfig
from tidelog.kafka.configs.group_coordinator import GroupCoordinatorConfig
from tidelog.kafka.types import BrokerId, PartitionIndex, TopicName, TopicPartition
from tidelog.runtime.settings import load_config
from tidelog.zk.znodes import (
    TOP_LEVEL_NODES,
    ClusterIdZnode,
    FeatureLevels,
    FeatureZnode,
    PartitionState,
    PartitionStateZnode,
    ReplicaAssignment,
    TopicAssignment,
    TopicZnode,
)

TOPIC = TopicName("t")
SESSION_TIMEOUT_MS = 3_000
_GRPC_PORT, _KAFKA_PORT = 9090, 9092
_INTERNAL_TOPICS = {"offsets.topic.num.partitions": 1, "transaction.state.log.num.partitions": 1}


@cache
def _broker_config(id: int, flush_messages: int, root: str) -> BrokerConfig:
    settings = {
        "broker.id": id,
        "listeners": f"PLAINTEXT://b{id}:{_KAFKA_PORT}",
        "grpc.listener": f"b{id}:{_GRPC_PORT}",
        "log.dirs": f"{root}/b{id}",
        "zookeeper.connect": "z:2181",
        "zookeeper.session.timeout.ms": SESSION_TIMEOUT_MS,
        "min.insync.replicas": 2,
        "replica.lag.time.max.ms": 1_500,
        "replica.fetch.wait.max.ms": 400,
        "replica.socket.timeout.ms": 1_200,
        "replica.high.watermark.checkpoint.interval.ms": 2_000,
        "log.flush.interval.messages": flush_messages,
        "log.segment.bytes": 4_000,
        "log.index.size.max.bytes": 4_096,
        "log.index.interval.bytes": 500,
        "log.cleaner.enable": "false",
        "log.retention.ms": -1,
        **_INTERNAL_TOPICS,
    }
    return load_config(BrokerConfig, file=None, environ={}, overrides={k: str(v) for k, v in settings.items()}).config


@cache
def _controller_config(id: int) -> ControllerConfig:
    settings = {
        "controller.id": id,
        "grpc.listener": f"c{id}:{_GRPC_PORT}",
        "zookeeper.connect": "z:2181",
        "zookeeper.session.timeout.ms": SESSION_TIMEOUT_MS,
        "leader.imbalance.check.interval.seconds": 7,
    }
    return load_config(
        ControllerConfig, file=None, environ={}, overrides={k: str(v) for k, v in settings.items()}
    ).config


@cache
def _coordinator_config(id: int) -> GroupCoordinatorConfig:
    settings = {
        "coordinator.id": id,
        "listeners": f"PLAINTEXT://g{id}:{_KAFKA_PORT}",
        "grpc.listener": f"g{id}:{_GRPC_PORT}",
        "zookeeper.connect": "z:2181",
        "zookeeper.session.timeout.ms": SESSION_TIMEOUT_MS,
        "group.initial.rebalance.delay.ms": 200,
        "group.min.session.timeout.ms": 1_000,
        "offsets.commit.timeout.ms": 1_500,
        "request.timeout.ms": 2_000,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
        **_INTERNAL_TOPICS,
    }
    given = {key: str(value) for key, value in settings.items()}
    return load_config(GroupCoordinatorConfig, file=None, environ={}, overrides=given).config


class Host:
    """A machine on which one process is started again and again."""

    def __init__(self, world: "World", name: str, id: int) -> None:
        self.world = world
        self.name = name
        self.id = id
        self.machine = world.network.machines[name] = Machine(name, world.scheduler, world.trace)
        self.process: SimProcess | None = None

    @property
    def is_up(self) -> bool:
        return self.process is not None and not self.process.is_dead

    def start(self) -> None:
        assert not self.is_up, f"{self.name} runs already"
        assert self.machine.is_on, f"{self.name} has no power"
        self.world.trace.note(self.name, "starts")
        process = self.process = SimProcess(self.machine, self.world.network, self._on_error)
        self.prepare(process)
        process.loop.call_soon(lambda: self._begin(process))

    def kill(self) -> None:
        """SIGKILL: what it wrote is in the page cache, and so it is not lost."""
        if self.process is not None and not self.process.is_dead:
            self.world.trace.note(self.name, "is killed")
            self.process.die()
        self.machine.is_paused = False

    def stop(self) -> None:
        """SIGTERM."""
        if self.process is not None and self.is_up:
            self.world.trace.note(self.name, "is told to stop")
            self.process.stop()

    def cut_power(self) -> None:
        self.world.trace.note(self.name, "loses its power")
        self.machine.is_on = False
        if self.process is not None:
            for end in tuple(self.process.ends):
                end.go_dark()
            self.process.die()
        self.machine.is_paused = False

    def prepare(self, process: SimProcess) -> None: ...

    async def serve(self, process: Any) -> None: ...

    def _begin(self, process: SimProcess) -> None:
        task = process.loop.create_task(self.serve(process), name="serve")
        task.add_done_callback(lambda task: self._ended(process, None if task.cancelled() else task.exception()))

    def _ended(self, process: SimProcess, error: BaseException | None) -> None:
        if error is not None:
            self._on_error("serve failed", error)
        if not process.is_dead:
            self.world.trace.note(self.name, "has stopped")
            self.world.scheduler.after(0, process.die)

    def _on_error(self, what: str, error: BaseException | None) -> None:
        self.world.fail(f"{self.name}: {what}: " + "".join(traceback.format_exception(error) if error else ()))


class BrokerHost(Host):
    def __init__(self, world: "World", id: int) -> None:
        super().__init__(world, f"b{id}", id)
        self.disk = Disk(world.root / self.name)

    def prepare(self, process: SimProcess) -> None:
        process.seen["disk"] = self.disk
        process.on_turn = lambda: self.world.invariants.on_broker_turn(self)
        process.on_fenced = self.world.invariants.on_fenced

        def on_death() -> None:
            self.world.invariants.on_broker_death(self)
            if (files := process.seen.get("files")) is not None:
                files.is_dead = True

        process.on_death = on_death

    async def serve(self, process: Any) -> None:
        await serve_broker(_broker_config(self.id, self.world.flush_messages, str(self.world.root)), process)

    @property
    def data(self) -> Any:
        """The data path of the running process, if it has come so far."""
        return self.process.seen.get("data") if self.process is not None and self.is_up else None


class ControllerHost(Host):
    def __init__(self, world: "World", id: int) -> None:
        super().__init__(world, f"c{id}", id)

    async def serve(self, process: Any) -> None:
        await serve_controller(_controller_config(self.id), process)

    @property
    def core(self) -> Any:
        return self.process.seen.get("core") if self.process is not None and self.is_up else None


class CoordinatorHost(Host):
    def __init__(self, world: "World", id: int) -> None:
        super().__init__(world, f"g{id}", id)

    async def serve(self, process: Any) -> None:
        await serve_coordinator(_coordinator_config(self.id), process)


class World:
    """Everything that exists. Enter it, start what is to run, and let time pass."""

    def __init__(self, seed: int, bugs: Mapping[str, object] | None = None, *, coordinators: int = 0) -> None:
        self.seed = seed
        self.scheduler = Scheduler(seed)
        self.random = self.scheduler.random
        self.trace = Trace(lambda: self.scheduler.now_ms)
        self.network = Network(self.scheduler, self.trace)
        self.ensemble = Ensemble(self.network, self.trace)
        self.root = Path(tempfile.mkdtemp(prefix="tidelog-sim-", dir=_memory()))
        self.flush_messages = self.random.choice((2**62, 2**62, 1))
        self.brokers = [BrokerHost(self, id) for id in range(self.random.randint(3, 5))]
        self.controllers = [ControllerHost(self, id) for id in range(self.random.randint(2, 3))]
        self.coordinators = [CoordinatorHost(self, id) for id in range(coordinators)]
        self.clients: list[Host] = []
        self.data_partitions = [TopicPartition(TOPIC, PartitionIndex(index)) for index in range(2)]
        internal = (CONSUMER_OFFSETS, TRANSACTION_STATE) if coordinators else ()
        self.partitions = [
            *self.data_partitions,
            *(TopicPartition(TopicName(name), PartitionIndex(0)) for name in internal),
        ]
        self.replication_factor = 3
        self.invariants = Invariants(self)
        self.failure: str | None = None
        self._edges = simulated(bugs or {})

    @property
    def hosts(self) -> list[Host]:
        """Those that may be hurt; clients are not among them."""
        return [*self.brokers, *self.controllers, *self.coordinators]

    def __enter__(self) -> Self:
        self._edges.__enter__()
        self._fill_zookeeper()
        return self

    def __exit__(self, *error: object) -> None:
        try:
            for host in (*self.clients, *self.hosts):
                if host.process is not None:
                    host.process.die()
        finally:
            self._edges.__exit__(None, None, None)
            shutil.rmtree(self.root)

    def start(self) -> None:
        for host in self.hosts:
            host.start()

    def run_until(self, moment_ms: float) -> None:
        while self.scheduler.now_ms < moment_ms and self.failure is None:
            self.scheduler.run_until(min(moment_ms, self.scheduler.now_ms + 50))
        if self.failure is not None:
            raise InvariantBroken(self.failure)

    def fail(self, why: str) -> None:
        """The first one counts; the run ends with it."""
        if self.failure is None:
            self.trace.note("!!", why)
            self.failure = why

    def state(self, partition: TopicPartition) -> tuple[PartitionState, int] | None:
        """What ZooKeeper holds, and its version."""
        node = self.ensemble.tree.get(PartitionStateZnode.path(partition))
        return None if node is None else (PartitionStateZnode.decode(node.data), node.version)

    def _fill_zookeeper(self) -> None:
        tree = self.ensemble.tree
        for path in TOP_LEVEL_NODES:
            tree.ensure(path)
        tree.ensure(ClusterIdZnode.PATH, ClusterIdZnode.encode("c" * 22))
        tree.ensure(FeatureZnode.PATH, FeatureZnode.encode(FeatureLevels()))
        for topic in dict.fromkeys(one.topic for one in self.partitions):
            replicas = {one.partition: self._replicas() for one in self.partitions if one.topic == topic}
            tree.ensure(TopicZnode.path(topic), TopicZnode.encode(TopicAssignment(None, replicas)))
        for server in self.ensemble.servers.values():
            server.load()

    def _replicas(self) -> ReplicaAssignment:
        ids = self.random.sample(range(len(self.brokers)), self.replication_factor)
        return ReplicaAssignment(tuple(map(BrokerId, ids)))


def _memory() -> str | None:
    """Where files cost least."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
