"""Three brokers and two controllers, a topic of several partitions on them, and what a test does to them."""

import json
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.cluster_view import Zookeeper, zookeeper_at
from tests.support.fault_load import FaultLoad
from tests.support.kafka_calls import call
from tests.support.services import Service, Services
from tests.support.waiting import eventually
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tidelog.kafka.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tidelog.kafka.wire.messages.delete_topics import DeleteTopicsRequest

# Broker 1 leads two of them and follows two.
PLACES: tuple[tuple[int, ...], ...] = ((1, 2, 3), (1, 3, 2), (2, 3, 1), (3, 1, 2))
_TIMEOUT_MS = 20_000


@dataclass
class FaultCluster:
    """One for several tests; each has a topic of its own, which is meant where none is named."""

    services: Services
    zk: Zookeeper
    topic: str = ""

    @property
    def brokers(self) -> dict[int, Service]:
        return {each.id: each for each in self.services.of("broker")}

    @property
    def controllers(self) -> list[Service]:
        return self.services.of("controller")

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.kafka for broker in self.brokers.values())

    # ---- topics

    def create(self, name: str, *places: tuple[int, ...], **configs: str) -> str:
        """A topic with a partition for each list of replicas; underscores in setting names stand for dots."""
        settings = {"min.insync.replicas": "2", **{key.replace("_", "."): value for key, value in configs.items()}}
        asked = CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[
                CreatableReplicaAssignment(partition_index=index, broker_ids=list(replicas))
                for index, replicas in enumerate(places)
            ],
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in settings.items()],
        )
        answer = call(self.any_broker(), CreateTopicsRequest(topics=[asked], timeout_ms=_TIMEOUT_MS), 7)
        assert [topic.error_code for topic in answer.topics] == [KafkaCode.NONE]
        return name

    def delete(self, name: str) -> None:
        request = DeleteTopicsRequest(topic_names=[name], timeout_ms=500)
        call(self.any_broker(), request, 5)

    def reassign(self, topic: str, *places: tuple[int, ...]) -> None:
        partitions = [
            ReassignablePartition(partition_index=index, replicas=list(replicas))
            for index, replicas in enumerate(places)
        ]
        request = AlterPartitionReassignmentsRequest(
            timeout_ms=_TIMEOUT_MS, topics=[ReassignableTopic(name=topic, partitions=partitions)]
        )
        answer = call(self.any_broker(), request, 0)
        assert {one.error_code for topic_ in answer.responses for one in topic_.partitions} == {KafkaCode.NONE}

    def states(self, topic: str = "") -> list[dict[str, Any]]:
        """The state znodes of all partitions."""
        parent = f"/brokers/topics/{topic or self.topic}/partitions"
        paths = [f"{parent}/{index}/state" for index in range(len(self.zk.client.get_children(parent)))]
        return [dict(json.loads(self.zk.client.get(path)[0])) for path in paths]

    def leaders(self, topic: str = "") -> list[int]:
        return [int(state["leader"]) for state in self.states(topic)]

    def is_in_sync(self, topic: str = "") -> bool:
        return all(len(state["isr"]) == 3 for state in self.states(topic))

    def folders(self, topic: str, partition: int) -> list[Path]:
        """Where brokers have files of a partition."""
        folders = [self._folder(id, topic, partition) for id in self.brokers]
        return [folder for folder in folders if folder.exists()]

    def logs_agree(self, topic: str) -> bool:
        """Whether all replicas that are in sync have the same bytes."""
        return all(
            len({_log_bytes(self._folder(id, topic, index)) for id in state["isr"]}) == 1
            for index, state in enumerate(self.states(topic))
        )

    def _folder(self, broker: int, topic: str, partition: int) -> Path:
        return Path(self.brokers[broker].settings["log.dirs"]) / f"{topic}-{partition}"

    # ---- processes

    def any_broker(self) -> Service:
        return next(each for each in self.brokers.values() if each.process.poll() is None)

    def active_controller(self) -> Service:
        id = eventually(lambda: (self.zk.active_controller(),))[0]
        return next(each for each in self.controllers if each.id == id)

    def restart(self, service: Service) -> None:
        """In an orderly way, until it is ready again."""
        assert service.stop() == 0
        service.start().wait_ready(90)

    def whole_again(self, topic: str = "") -> None:
        """Start what is not running, and wait until every replica is in sync."""
        for service in self.services.all:
            if service.process.poll() is not None:
                service.start()
        for service in self.services.all:
            service.wait_ready(90)
        if topic or self.topic:
            eventually(lambda: self.is_in_sync(topic), 90)


@contextmanager
def started(services: Services, brokers: Mapping[int, Mapping[str, str]] | None = None) -> Iterator[FaultCluster]:
    """Two controllers, and brokers 1 to 3 with settings of their own; ready, and ended in the end."""
    for id in (0, 1):
        services.start("controller", id)
    for id in (1, 2, 3):
        services.start("broker", id, auto_create_topics_enable="false", **(brokers or {}).get(id, {}))
    try:
        with zookeeper_at(services.zookeeper) as zk:
            for service in services.all:
                service.wait_ready(90)
            yield FaultCluster(services, zk)
    finally:
        services.end()


@contextmanager
def stopped(service: Service) -> Iterator[None]:
    """SIGSTOP, and SIGCONT in the end."""
    service.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        service.signal(signal.SIGCONT)


@contextmanager
def load_on(cluster: FaultCluster, topic: str = "") -> Iterator[FaultLoad]:
    """Load that has begun in every partition."""
    load = FaultLoad(cluster.bootstrap, topic or cluster.topic, len(cluster.states(topic)))
    try:
        load.wait_for()
        yield load
    finally:
        load.stop()


def _log_bytes(folder: Path) -> bytes:
    return b"".join(segment.read_bytes() for segment in sorted(folder.glob("*.log")))
