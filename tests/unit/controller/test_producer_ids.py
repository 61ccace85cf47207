"""Blocks of producer ids, each given out once."""

import pytest

from tests.support.controller_driver import Driven, ModelCluster
from tests.support.controller_scenes import ask, cluster_of, running
from tidelog.controller.core.answers import ProducerIdsAnswered, Refused
from tidelog.controller.core.events import ProducerIdsRequested
from tidelog.controller.core.zk_requests import Write
from tidelog.kafka.cluster import Role
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.types import BrokerId, ProducerId
from tidelog.zk.znodes import ProducerIdBlock, ProducerIdBlockZnode


@pytest.fixture
def cluster() -> ModelCluster:
    return cluster_of(1, topics={})


def wanted(cluster: ModelCluster, request: int = 1) -> ProducerIdsRequested:
    return ProducerIdsRequested(request, Role.BROKER, 1, cluster.members[Role.BROKER][1].epoch)


def block(first: int) -> bytes:
    return ProducerIdBlockZnode.encode(ProducerIdBlock(BrokerId(7), ProducerId(first), ProducerId(first + 999)))


def test_blocks_follow_each_other(cluster: ModelCluster) -> None:
    driven = running(cluster)
    assert ask(driven, wanted(cluster)) == ProducerIdsAnswered(0, 1000)
    assert ask(driven, wanted(cluster, 2)) == ProducerIdsAnswered(1000, 1000)
    node = cluster.zk.get(ProducerIdBlockZnode.PATH)
    assert node is not None
    assert ProducerIdBlockZnode.decode(node.data) == ProducerIdBlock(BrokerId(1), ProducerId(1000), ProducerId(1999))


def test_a_block_that_somebody_else_took_meanwhile_is_not_given_out_twice(cluster: ModelCluster) -> None:
    driven = running(cluster)
    driven.post(wanted(cluster))
    while not isinstance(driven.zk_request, Write):
        assert driven.step()
    cluster.zk.put(ProducerIdBlockZnode.PATH, block(0))
    driven.run()
    assert driven.answers[1] == ProducerIdsAnswered(1000, 1000)


@pytest.mark.parametrize("data", [b"nonsense", block((1 << 63) - 1 - 1000)], ids=["malformed", "the last"])
def test_refuses_rather_than_repeat(cluster: ModelCluster, data: bytes) -> None:
    driven: Driven = running(cluster)
    cluster.zk.put(ProducerIdBlockZnode.PATH, data)
    answer = ask(driven, wanted(cluster))
    assert isinstance(answer, Refused)
    assert answer.code is KafkaCode.UNKNOWN_SERVER_ERROR


def test_only_registered_incarnations_get_ids(cluster: ModelCluster) -> None:
    driven = running(cluster)
    stranger = ask(driven, ProducerIdsRequested(1, Role.GROUP_COORDINATOR, 1, 5))
    assert isinstance(stranger, Refused)
    assert stranger.code is KafkaCode.BROKER_ID_NOT_REGISTERED
    former = ask(driven, ProducerIdsRequested(2, Role.BROKER, 1, 1))
    assert isinstance(former, Refused)
    assert former.code is KafkaCode.STALE_BROKER_EPOCH
