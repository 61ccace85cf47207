"""Replicas that move between the log directories of their broker while real clients use them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import pytest
from confluent_kafka import Producer

from tests.support.cluster_view import zookeeper_at
from tests.support.kafka_calls import call
from tests.support.replicated import Replicated, Writer
from tests.support.services import Service, Services
from tests.support.waiting import WAIT_S, eventually
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tidelog.kafka.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from tidelog.kafka.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tidelog.kafka.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from tidelog.rpc import broker_pb2, broker_pb2_grpc

THROTTLE = "replica.alter.log.dirs.io.max.bytes.per.second"
SLOW = {THROTTLE.replace(".", "_"): "100000"}


class Place(NamedTuple):
    """A replica in a directory, as DescribeLogDirs tells it."""

    directory: str
    is_future: bool
    offset_lag: int
    size: int


@pytest.fixture
def brokers(request: pytest.FixtureRequest) -> int:
    return int(getattr(request, "param", 1))


@pytest.fixture
def settings(request: pytest.FixtureRequest) -> dict[str, str]:
    return dict(getattr(request, "param", {}))


@pytest.fixture
def cluster(services: Services, tmp_path: Path, brokers: int, settings: dict[str, str]) -> Iterator[Replicated]:
    """Each broker has two log directories."""
    services.common = {"zookeeper.session.timeout.ms": "6000"}
    services.start("controller", 0)
    started = {}
    for id in range(1, brokers + 1):
        log_dirs = ",".join(str(tmp_path / f"{id}{name}") for name in "ab")
        started[id] = services.start("broker", id, log_dirs=log_dirs, **settings)
    with zookeeper_at(services.zookeeper) as zk:
        for service in services.all:
            service.wait_ready()
        yield Replicated(started, zk)


def directories(broker: Service) -> list[str]:
    return broker.settings["log.dirs"].split(",")


def move(broker: Service, topic: str, path: str, version: int = 2) -> KafkaCode:
    asked = AlterReplicaLogDir(path=path, topics=[AlterReplicaLogDirTopic(name=topic, partitions=[0])])
    (result,) = call(broker, AlterReplicaLogDirsRequest(dirs=[asked]), version).results
    assert (result.topic_name, [one.partition_index for one in result.partitions]) == (topic, [0])
    return KafkaCode(result.partitions[0].error_code)


def places(broker: Service, topic: str) -> list[Place]:
    return [
        Place(found.log_dir, one.is_future_key, one.offset_lag, one.partition_size)
        for found in call(broker, DescribeLogDirsRequest(topics=None), 4).results
        for each in found.topics
        if each.name == topic
        for one in each.partitions
    ]


def is_moved(broker: Service, topic: str, path: str) -> bool:
    return [(place.directory, place.is_future) for place in places(broker, topic)] == [(path, False)]


def other_directory(broker: Service, topic: str) -> str:
    (place,) = places(broker, topic)
    (other,) = set(directories(broker)) - {place.directory}
    return other


def folders(path: str, topic: str) -> list[str]:
    return sorted(found.name for found in Path(path).iterdir() if found.name.startswith(f"{topic}-0"))


def fill(cluster: Replicated, topic: str, records: int = 2000, size: int = 1000) -> list[bytes]:
    """So many records, all acknowledged."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "batch.size": 20_000})
    sent = [str(number).encode().ljust(size, b".") for number in range(records)]
    for value in sent:
        producer.produce(topic, value, partition=0)
        producer.poll(0)
    assert producer.flush(WAIT_S) == 0
    return sent


@pytest.mark.parametrize(("brokers", "acks"), [(1, "1"), (1, "all"), (3, "1"), (3, "all")], indirect=["brokers"])
def test_replicas_move_under_load_and_nothing_is_lost(cluster: Replicated, brokers: int, acks: str) -> None:
    topic = cluster.create(
        "t", *range(1, brokers + 1), configs={"segment.bytes": "100000", "file.delete.delay.ms": "0"}
    )
    filled = fill(cluster, topic)
    writer = Writer(cluster.bootstrap, topic, acks)
    writer.wait_for(200)
    for broker in cluster.brokers.values():
        former, target = places(broker, topic)[0].directory, other_directory(broker, topic)
        assert move(broker, topic, target) is KafkaCode.NONE
        eventually(lambda broker=broker, target=target: is_moved(broker, topic, target))  # type: ignore[misc]
        assert folders(target, topic) == ["t-0"]
        eventually(lambda former=former: folders(former, topic) == [])  # type: ignore[misc]
        writer.wait_for(100)
    acked = writer.stop()
    assert writer.errors == []
    expected = filled + [str(number).encode() for number in range(len(acked))]
    assert cluster.read(topic, len(expected)) == expected
    assert len(cluster.isr(topic)) == brokers
    for broker in cluster.brokers.values():
        (place,) = places(broker, topic)
        assert place.offset_lag == 0
        assert broker.stop() == 0
        assert f"t 0 {len(expected)}" in checkpointed(place.directory, "recovery-point-offset-checkpoint")
        left = checkpointed(other_of(broker, place.directory), "replication-offset-checkpoint")
        assert [line for line in left if line.startswith("t 0 ")] == []


def checkpointed(directory: str, name: str) -> list[str]:
    return (Path(directory) / name).read_text().splitlines()


def other_of(broker: Service, path: str) -> str:
    (other,) = set(directories(broker)) - {path}
    return other


@pytest.mark.parametrize("settings", [SLOW], indirect=True)
def test_a_move_goes_on_after_the_broker_was_killed(cluster: Replicated) -> None:
    topic, broker = cluster.create("t", 1), cluster.brokers[1]
    expected = fill(cluster, topic)
    former, target = places(broker, topic)[0].directory, other_directory(broker, topic)
    assert move(broker, topic, target, version=1) is KafkaCode.NONE
    eventually(lambda: any(place.is_future and place.size > 0 for place in places(broker, topic)))
    now, future = sorted(places(broker, topic), key=lambda place: place.is_future)
    assert (now.directory, now.is_future, now.offset_lag) == (former, False, 0)
    assert (future.directory, future.is_future) == (target, True)
    assert 0 < future.offset_lag < len(expected)
    assert 0 < future.size < now.size
    (name,) = folders(target, topic)
    broker.kill()
    broker.start().wait_ready()
    (found,) = (place for place in places(broker, topic) if place.is_future)
    assert found.size > 0, "it goes on where it was"
    assert folders(target, topic) == [name]
    writer = Writer(cluster.bootstrap, topic)
    writer.wait_for(50)
    broker.kill()
    broker.settings[THROTTLE] = str(10**9)
    broker.start().wait_ready()
    eventually(lambda: is_moved(broker, topic, target))
    assert folders(target, topic) == ["t-0"]
    writer.wait_for(50)
    acked = writer.stop()
    expected += [str(number).encode() for number in range(len(acked))]
    assert cluster.read(topic, len(expected)) == expected
    assert broker.stop() == 0
    broker.start().wait_ready()
    assert is_moved(broker, topic, target)
    assert cluster.read(topic, len(expected)) == expected


@pytest.mark.parametrize("settings", [SLOW], indirect=True)
def test_a_move_is_called_off_and_a_deleted_topic_leaves_nothing(cluster: Replicated) -> None:
    topic, broker = cluster.create("t", 1), cluster.brokers[1]
    fill(cluster, topic)
    former, target = places(broker, topic)[0].directory, other_directory(broker, topic)
    assert move(broker, topic, target, version=0) is KafkaCode.NONE
    assert move(broker, topic, former) is KafkaCode.NONE
    assert is_moved(broker, topic, former)
    assert [name.endswith("-delete") for name in folders(target, topic)] in ([True], [])
    assert move(broker, topic, target) is KafkaCode.NONE
    assert len(places(broker, topic)) == 2
    deleted = DeleteTopicsRequest(topics=[DeleteTopicState(name=topic)], timeout_ms=20_000)
    assert call(broker, deleted, 6).responses[0].error_code == KafkaCode.NONE
    eventually(lambda: places(broker, topic) == [])
    assert all(name.endswith("-delete") for path in (former, target) for name in folders(path, topic))


@pytest.mark.parametrize("brokers", [2], indirect=True)
def test_refusals_and_a_directory_for_a_replica_that_is_yet_to_come(cluster: Replicated) -> None:
    topic, (first, second) = cluster.create("t", 1), cluster.brokers.values()
    assert move(first, topic, "/nowhere") is KafkaCode.LOG_DIR_NOT_FOUND
    assert move(first, "x" * 230, directories(first)[0]) is KafkaCode.INVALID_TOPIC_EXCEPTION
    assert move(first, "unknown", directories(first)[0]) is KafkaCode.UNKNOWN_TOPIC_OR_PARTITION
    wanted = directories(second)[1]
    assert move(second, topic, wanted) is KafkaCode.REPLICA_NOT_AVAILABLE
    asked = ReassignableTopic(name=topic, partitions=[ReassignablePartition(partition_index=0, replicas=[1, 2])])
    answer = call(first, AlterPartitionReassignmentsRequest(topics=[asked], timeout_ms=20_000), 0)
    assert answer.responses[0].partitions[0].error_code == KafkaCode.NONE
    eventually(lambda: cluster.isr(topic) == {1, 2})
    assert is_moved(second, topic, wanted)


def test_programs_may_ask_for_it_over_grpc(cluster: Replicated) -> None:
    topic = cluster.create("t", 1)
    broker = cluster.brokers[1]
    target = other_directory(broker, topic)
    with grpc.insecure_channel(broker.grpc) as channel:
        stub: Any = broker_pb2_grpc.BrokerStub(channel)
        asked = [broker_pb2.ReplicaLogDir(topic=topic, partition=index, path=target) for index in (0, 1)]
        answer = stub.AlterReplicaLogDirs(broker_pb2.AlterReplicaLogDirsRequest(replicas=asked), timeout=10)
        nowhere = [broker_pb2.ReplicaLogDir(topic=topic, partition=0, path="/nowhere")]
        refused = stub.AlterReplicaLogDirs(broker_pb2.AlterReplicaLogDirsRequest(replicas=nowhere), timeout=10)
    assert [one.error_code for one in answer.partitions] == [KafkaCode.NONE, KafkaCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert [one.error_code for one in refused.partitions] == [KafkaCode.LOG_DIR_NOT_FOUND]
    eventually(lambda: is_moved(broker, topic, target))
