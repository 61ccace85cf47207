"""Requests of the controller that come late: what it gave up and repeated may arrive after what it asked next."""

from collections.abc import Iterator
from typing import Any, cast
from uuid import UUID

import pytest

from tidelog.broker.shell.controller_requests import ControllerRequests
from tidelog.rpc import broker_pb2, types_pb2
from tidelog.runtime.cluster_mirror import ClusterMirror
from tidelog.runtime.readiness import Readiness

TOPIC_ID = UUID(int=7)
OWN_EPOCH = 50


class Partitions:
    """What was asked of it, by topic."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def apply_state(self, topic: str, topic_id: UUID, state: object, *, is_new: bool) -> None:
        self.asked.append(f"host {topic}")

    def stop(self, topic: str, partition: int, leader_epoch: int, *, delete: bool) -> None:
        self.asked.append(f"stop {topic}")


@pytest.fixture
def partitions() -> Partitions:
    return Partitions()


@pytest.fixture
def requests(partitions: Partitions) -> ControllerRequests:
    async def load_config(_: str) -> None:
        return None

    mirror = ClusterMirror(Readiness(), lambda: OWN_EPOCH)
    return ControllerRequests(
        cast("Any", partitions), mirror, lambda: OWN_EPOCH, load_config, lambda: True, cast("Any", None)
    )


def hosting(topic: str, sequence: int, controller_epoch: int = 3) -> broker_pb2.LeaderAndIsrRequest:
    state = types_pb2.PartitionState(partition=0, leader=1, replicas=[1], isr=[1])
    return broker_pb2.LeaderAndIsrRequest(
        controller_epoch=controller_epoch,
        broker_epoch=OWN_EPOCH,
        topics=[types_pb2.TopicState(name=topic, topic_id=TOPIC_ID.bytes, partitions=[state])],
        sequence=sequence,
    )


def stopping(topic: str, sequence: int) -> broker_pb2.StopReplicaRequest:
    return broker_pb2.StopReplicaRequest(
        controller_epoch=3,
        broker_epoch=OWN_EPOCH,
        partitions=[broker_pb2.StopReplicaPartition(topic=topic, partition=0, delete_partition=True)],
        sequence=sequence,
    )


async def test_a_deleted_replica_is_not_made_again_by_a_request_that_comes_late(
    requests: ControllerRequests, partitions: Partitions
) -> None:
    await requests.leader_and_isr(hosting("t", 4))
    await requests.stop_replica(stopping("t", 6))
    assert list((await requests.leader_and_isr(hosting("t", 4))).partitions) == []
    assert partitions.asked == ["host t", "stop t"]


async def test_a_replica_that_is_wanted_again_is_not_stopped_by_a_request_that_comes_late(
    requests: ControllerRequests, partitions: Partitions
) -> None:
    await requests.stop_replica(stopping("t", 4))
    await requests.leader_and_isr(hosting("t", 5))
    assert list((await requests.stop_replica(stopping("t", 4))).partitions) == []
    assert partitions.asked == ["stop t", "host t"]


async def test_a_request_that_is_repeated_is_answered_again(
    requests: ControllerRequests, partitions: Partitions
) -> None:
    for _ in range(2):
        (result,) = (await requests.leader_and_isr(hosting("t", 4))).partitions
        assert (result.topic, result.error_code) == ("t", 0)
    assert partitions.asked == ["host t", "host t"]


async def test_the_next_controller_counts_from_the_start(requests: ControllerRequests, partitions: Partitions) -> None:
    await requests.leader_and_isr(hosting("t", 400))
    await requests.leader_and_isr(hosting("u", 1, controller_epoch=4))
    assert partitions.asked == ["host t", "host u"]
