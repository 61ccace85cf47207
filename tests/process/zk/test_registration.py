"""Registrations against a real ZooKeeper: epochs grow, ids are not shared, only the known incarnation is fenced."""

import asyncio
from typing import Any

import pytest

from tests.support.async_waiting import eventually_true
from tests.support.zk_sessions import Loss, UnluckySession
from tests.support.zookeeper import EmbeddedZookeeper
from tidelog.kafka.types import BrokerEpoch, ControllerId, Endpoint
from tidelog.zk.bootstrap import create_top_level_nodes, ensure_cluster_id, ensure_features
from tidelog.zk.election import ControllerMoved, ControllerWriter, Elected, elect
from tidelog.zk.operations import OpResult
from tidelog.zk.registration import IdTaken, fence, next_broker_id, register, unregister
from tidelog.zk.session import ZkSession
from tidelog.zk.znodes import BROKER_IDS, TOP_LEVEL_NODES, BrokerRegistration, FeatureLevels, encode_registration

DATA = encode_registration(
    BrokerRegistration.of([Endpoint("PLAINTEXT", "h", 9092)], {"PLAINTEXT": "PLAINTEXT"}, timestamp_ms=1)
)


@pytest.fixture
async def cluster(session: ZkSession) -> ZkSession:
    await create_top_level_nodes(session)
    return session


async def writer_of(session: ZkSession) -> ControllerWriter:
    outcome = await elect(session, ControllerId(1), 0)
    assert isinstance(outcome, Elected)
    return ControllerWriter(session, outcome.epoch_zk_version)


async def test_the_epoch_is_the_czxid_and_the_parents_version_grows(cluster: ZkSession) -> None:
    before = (await cluster.get(BROKER_IDS)).version
    epoch = await register(cluster, BROKER_IDS, 1, DATA)
    node = await cluster.get(f"{BROKER_IDS}/1")
    assert (node.czxid, node.data, node.ephemeral_owner) == (epoch, DATA, cluster.session_id)
    assert (await cluster.get(BROKER_IDS)).version == before + 1


async def test_registering_twice_in_one_session_reuses_the_node(cluster: ZkSession) -> None:
    epoch = await register(cluster, BROKER_IDS, 1, DATA)
    changed = DATA.replace(b"9092", b"9093")
    assert await register(cluster, BROKER_IDS, 1, changed) == epoch
    assert (await cluster.get(f"{BROKER_IDS}/1")).data == changed


async def test_an_id_in_use_is_refused_with_the_address_of_its_holder(cluster: ZkSession, open_session: Any) -> None:
    await register(await open_session(), BROKER_IDS, 1, DATA)
    with pytest.raises(IdTaken, match="PLAINTEXT://h:9092") as taken:
        await register(cluster, BROKER_IDS, 1, DATA)
    assert taken.value.registration is not None
    assert taken.value.registration.port == 9092


async def test_registration_after_expiry_has_a_larger_epoch(cluster: ZkSession, zookeeper: EmbeddedZookeeper) -> None:
    first = await register(cluster, BROKER_IDS, 1, DATA)
    await asyncio.to_thread(zookeeper.expire, cluster.client_id)
    await eventually_true(lambda: cluster.previous_session_id)
    await cluster.connected()
    previous = cluster.previous_session_id
    assert await register(cluster, BROKER_IDS, 1, DATA, previous_session_id=previous) > first


async def test_a_node_of_my_previous_session_is_replaced(cluster: ZkSession, open_session: Any) -> None:
    previous: ZkSession = await open_session()
    first = await register(previous, BROKER_IDS, 1, DATA)
    second = await register(cluster, BROKER_IDS, 1, DATA, previous_session_id=previous.session_id)
    assert second > first
    assert (await cluster.get(f"{BROKER_IDS}/1")).ephemeral_owner == cluster.session_id


@pytest.mark.parametrize("loss", Loss)
async def test_lost_messages_are_made_good(connect: str, loss: Loss) -> None:
    async with UnluckySession(connect, 6_000) as session:
        await create_top_level_nodes(session)
        session.next_loss = loss
        epoch = await register(session, BROKER_IDS, 1, DATA)
        assert (await session.get(f"{BROKER_IDS}/1")).czxid == epoch
        writer = await writer_of(session)
        session.next_loss = loss
        assert await fence(writer, BROKER_IDS, 1, epoch)
        assert await session.exists(f"{BROKER_IDS}/1") is None


async def test_unregister_leaves_others_alone(cluster: ZkSession, open_session: Any) -> None:
    other: ZkSession = await open_session()
    await register(cluster, BROKER_IDS, 1, DATA)
    await unregister(other, BROKER_IDS, 1)
    assert await cluster.exists(f"{BROKER_IDS}/1") is not None
    await unregister(cluster, BROKER_IDS, 1)
    assert await cluster.exists(f"{BROKER_IDS}/1") is None
    await unregister(cluster, BROKER_IDS, 1)


async def test_only_the_known_incarnation_is_fenced(cluster: ZkSession, open_session: Any) -> None:
    broker: ZkSession = await open_session()
    writer = await writer_of(cluster)
    first = await register(broker, BROKER_IDS, 1, DATA)
    await unregister(broker, BROKER_IDS, 1)
    second = await register(broker, BROKER_IDS, 1, DATA)
    assert not await fence(writer, BROKER_IDS, 1, first)
    assert (await cluster.get(f"{BROKER_IDS}/1")).czxid == second
    assert await fence(writer, BROKER_IDS, 1, second)
    assert await cluster.exists(f"{BROKER_IDS}/1") is None
    assert not await fence(writer, BROKER_IDS, 1, second)
    assert await register(broker, BROKER_IDS, 1, DATA) > second


class BouncesInBetween(ZkSession):
    """A broker that registers again just after the controller has read what it fences."""

    broker: ZkSession
    bounced: BrokerEpoch = BrokerEpoch(0)

    async def multi(self, ops: Any) -> list[OpResult]:
        if not self.bounced and any(op.path == f"{BROKER_IDS}/1" for op in ops):
            await unregister(self.broker, BROKER_IDS, 1)
            self.bounced = await register(self.broker, BROKER_IDS, 1, DATA)
        return await super().multi(ops)


async def test_a_broker_that_bounces_while_it_is_fenced_stays(connect: str, open_session: Any) -> None:
    async with BouncesInBetween(connect, 6_000) as controller:
        await create_top_level_nodes(controller)
        controller.broker = await open_session()
        writer = await writer_of(controller)
        first = await register(controller.broker, BROKER_IDS, 1, DATA)
        assert not await fence(writer, BROKER_IDS, 1, first)
        assert (await controller.get(f"{BROKER_IDS}/1")).czxid == controller.bounced > first


async def test_other_registrations_meanwhile_do_not_prevent_fencing(cluster: ZkSession, open_session: Any) -> None:
    broker, other = await open_session(), await open_session()
    writer = await writer_of(cluster)
    epoch = await register(broker, BROKER_IDS, 1, DATA)
    fenced, *_ = await asyncio.gather(
        fence(writer, BROKER_IDS, 1, epoch), *(register(other, BROKER_IDS, one, DATA) for one in range(2, 12))
    )
    assert fenced


async def test_a_replaced_controller_fences_nobody(cluster: ZkSession, open_session: Any) -> None:
    broker, other = await open_session(), await open_session()
    writer = await writer_of(cluster)
    epoch = await register(broker, BROKER_IDS, 1, DATA)
    await elect(other, ControllerId(2), 0, replace_epoch_zk_version=writer.epoch_zk_version)
    with pytest.raises(ControllerMoved):
        await fence(writer, BROKER_IDS, 1, epoch)
    assert await cluster.exists(f"{BROKER_IDS}/1") is not None


async def test_generated_ids_start_above_the_reserved(cluster: ZkSession) -> None:
    assert [await next_broker_id(cluster, 1000) for _ in range(3)] == [1001, 1002, 1003]


async def test_bootstrap_by_many_agrees(open_session: Any) -> None:
    sessions: list[ZkSession] = [await open_session() for _ in range(4)]
    await asyncio.gather(*(create_top_level_nodes(one) for one in sessions))
    assert None not in await sessions[0].get_many(TOP_LEVEL_NODES)
    ids = await asyncio.gather(*(ensure_cluster_id(one, f"id-{i}") for i, one in enumerate(sessions)))
    assert len(set(ids)) == 1
    assert await ensure_cluster_id(sessions[0], "other") == ids[0]
    features = await asyncio.gather(*(ensure_features(one) for one in sessions))
    assert features == [FeatureLevels(enabled=True, features={})] * 4
