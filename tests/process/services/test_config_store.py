"""Dynamic configuration against a real ZooKeeper: stored, announced, followed, and neither lost nor overwritten."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import Any

import pytest

from tests.support.async_waiting import eventually_true
from tests.support.zk_sessions import Loss, UnluckySession
from tests.support.zookeeper import EmbeddedZookeeper
from tidelog.broker.core.quota_entries import QuotaOwner
from tidelog.broker.shell.config_store import ConfigStore
from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.runtime.background import Background
from tidelog.runtime.clock import SystemClock
from tidelog.zk.bootstrap import create_top_level_nodes
from tidelog.zk.session import ZkSession
from tidelog.zk.znodes import CONFIG_CHANGES, ConfigChangeZnode, ConfigEntity, ConfigZnode

ORDERS = ConfigEntity.topic("orders")
ANN = QuotaOwner.of([("user", "ann"), ("client-id", "a b/*")])


class Stores:
    """Brokers' stores, each with a session of its own."""

    def __init__(self, connect: str, stack: AsyncExitStack) -> None:
        self.connect, self._stack = connect, stack
        self.failures: list[str] = []

    async def open(self, broker_id: int = 1, session: ZkSession | None = None) -> ConfigStore:
        session = session or await self.session()
        tasks = await self._stack.enter_async_context(Background(self._failed))
        static = BrokerConfig(zookeeper_connect=self.connect, broker_id=broker_id, log_dirs=("d",))
        store = ConfigStore(session, static)
        await self._stack.enter_async_context(store.followed(tasks, SystemClock()))
        return store

    async def session(self, kind: type[ZkSession] = ZkSession) -> Any:
        session = await self._stack.enter_async_context(kind(self.connect, 6_000))
        await session.connected()
        await create_top_level_nodes(session)
        return session

    def _failed(self, name: str, error: BaseException) -> None:
        self.failures.append(f"{name}: {error!r}")


@pytest.fixture
async def stores(connect: str) -> AsyncIterator[Stores]:
    async with AsyncExitStack() as stack:
        made = Stores(connect, stack)
        yield made
        assert made.failures == []


def setting(**entries: str) -> Any:
    return lambda stored: {**stored, **{name.replace("_", "."): text for name, text in entries.items()}}


async def announced(session: ZkSession) -> list[str]:
    names = (await session.children(CONFIG_CHANGES)).names
    nodes = await session.get_many([f"{CONFIG_CHANGES}/{name}" for name in names])
    return [json.loads(node.data)["entity_path"] for node in nodes if node is not None]


async def test_a_change_is_stored_announced_and_in_force_here_and_there(stores: Stores) -> None:
    session = await stores.session()
    here, there = await stores.open(1, session), await stores.open(2)
    seen: list[tuple[str, int]] = []
    there.on_topic_changed(lambda name, config: seen.append((name, config.max_message_bytes)))
    there.live.topic("orders")
    await here.change(ORDERS, setting(max_message_bytes="7"))
    assert here.live.topic("orders").max_message_bytes == 7
    assert (await session.get("/config/topics/orders")).data == b'{"version":1,"config":{"max.message.bytes":"7"}}'
    assert await announced(session) == ["topics/orders"]
    await eventually_true(lambda: seen == [("orders", 7)])
    assert await there.read(ORDERS) == {"max.message.bytes": "7"}


async def test_what_is_there_at_the_start_is_in_force(stores: Stores) -> None:
    first = await stores.open(1)
    await first.change(ORDERS, setting(max_message_bytes="7"))
    await first.change(ConfigEntity.broker(1), setting(message_max_bytes="8"))
    await first.change(ConfigEntity.broker(None), setting(message_max_bytes="9"))
    await first.change_quotas(ANN, setting(producer_byte_rate="10"))
    again, other = await stores.open(1), await stores.open(2)
    assert (again.live.broker.message_max_bytes, other.live.broker.message_max_bytes) == (8, 9)
    assert again.live.topic("orders").max_message_bytes == other.live.topic("orders").max_message_bytes == 7


async def test_quotas_are_kept_under_their_owner_and_go_without_a_trace(stores: Stores) -> None:
    session = await stores.session()
    here, there = await stores.open(1, session), await stores.open(2)
    seen: list[tuple[QuotaOwner, Mapping[str, float]]] = []
    there.on_quota_changed(lambda owner, values: seen.append((owner, dict(values))))
    await here.change_quotas(ANN, lambda _: {"producer_byte_rate": "10"})
    path = "users/ann/clients/a%20b%2F%2A"
    assert ConfigZnode.decode((await session.get(f"/config/{path}")).data) == {"producer_byte_rate": "10"}
    await eventually_true(lambda: seen == [(ANN, {"producer_byte_rate": 10.0})])
    await here.change_quotas(ANN, lambda _: {})
    await eventually_true(lambda: seen[-1] == (ANN, {}))
    assert await session.exists("/config/users/ann") is None
    assert await announced(session) == [path, path]


async def test_a_user_whose_clients_have_quotas_keeps_its_node(stores: Stores) -> None:
    session = await stores.session()
    store, user = await stores.open(1, session), QuotaOwner.of([("user", "ann")])
    await store.change_quotas(user, lambda _: {"producer_byte_rate": "1"})
    await store.change_quotas(ANN, lambda _: {"producer_byte_rate": "2"})
    await store.change_quotas(user, lambda _: {})
    assert (store.quotas.of(user), store.quotas.of(ANN)) == ({}, {"producer_byte_rate": 2.0})
    assert (await session.get("/config/users/ann")).data == b'{"version":1,"config":{}}'


async def test_a_refusal_and_a_mere_question_store_nothing(stores: Stores) -> None:
    session = await stores.session()
    store = await stores.open(1, session)

    def refuse(_: Mapping[str, str]) -> Mapping[str, str]:
        raise KafkaError(KafkaCode.INVALID_CONFIG)

    with pytest.raises(KafkaError):
        await store.change(ORDERS, refuse)
    await store.change(ORDERS, setting(max_message_bytes="7"), validate_only=True)
    assert await session.exists("/config/topics/orders") is None
    assert await announced(session) == []


async def test_changes_at_the_same_time_do_not_overwrite_each_other(stores: Stores) -> None:
    brokers = [await stores.open(id) for id in (1, 2, 3)]
    names = ["retention.ms", "segment.bytes", "flush.ms", "flush.messages", "max.message.bytes", "segment.ms"]
    changes = [
        brokers[number % 3].change(ORDERS, lambda stored, name=name: {**stored, name: "100"})  # type: ignore[misc]
        for number, name in enumerate(names)
    ]
    await asyncio.gather(*changes)
    assert await brokers[0].read(ORDERS) == dict.fromkeys(names, "100")
    await eventually_true(lambda: all(each.live.topic("orders").flush_ms == 100 for each in brokers))


@pytest.mark.parametrize("loss", Loss)
async def test_a_lost_connection_neither_loses_nor_repeats_a_change(stores: Stores, loss: Loss) -> None:
    session = await stores.session(UnluckySession)
    store = await stores.open(1, session)
    session.next_loss = loss
    await store.change(ORDERS, setting(max_message_bytes="7"))
    assert await store.read(ORDERS) == {"max.message.bytes": "7"}
    assert await announced(session) == ["topics/orders"]
    assert store.live.topic("orders").max_message_bytes == 7


async def test_a_new_topic_must_be_loaded(stores: Stores) -> None:
    session = await stores.session()
    store = await stores.open(1, session)
    assert store.live.topic("orders").max_message_bytes == 1048588
    await session.create("/config/topics/orders", ConfigZnode.encode({"max.message.bytes": "7"}))
    config = await store.load_topic("orders")
    assert config.max_message_bytes == store.live.topic("orders").max_message_bytes == 7


async def test_garbage_is_left_out_and_following_goes_on(stores: Stores) -> None:
    session = await stores.session()
    store = await stores.open(1, session)
    await store.change(ORDERS, setting(max_message_bytes="7"))
    await session.set("/config/topics/orders", b"no json")
    await session.create(ConfigChangeZnode.CREATE_PATH, b"no json either", sequence=True)
    await session.create(ConfigChangeZnode.CREATE_PATH, ConfigChangeZnode.encode(ORDERS), sequence=True)
    await session.create("/config/topics/other", ConfigZnode.encode({"segment.bytes": "x", "flush.ms": "5"}))
    other = ConfigEntity.topic("other")
    await session.create(ConfigChangeZnode.CREATE_PATH, ConfigChangeZnode.encode(other), sequence=True)
    await eventually_true(lambda: store.live.topic("other").flush_ms == 5)
    assert store.live.topic("orders").max_message_bytes == 7
    with pytest.raises(KafkaError):
        await store.change(ORDERS, setting(max_message_bytes="8"))


async def test_changes_missed_with_a_session_are_made_good(stores: Stores, zookeeper: EmbeddedZookeeper) -> None:
    session = await stores.session()
    store, elsewhere = await stores.open(1, session), await stores.session()
    await store.change(ORDERS, setting(max_message_bytes="7"))
    await store.change_quotas(ANN, lambda _: {"producer_byte_rate": "10"})
    # As if the notifications had come and been purged while the broker was away: there are none.
    await elsewhere.set("/config/topics/orders", ConfigZnode.encode({"max.message.bytes": "9"}))
    await elsewhere.delete_recursive("/config/users/ann")
    client_id = session.client_id
    await asyncio.get_running_loop().run_in_executor(None, zookeeper.expire, client_id)
    await eventually_true(lambda: store.live.topic("orders").max_message_bytes == 9)
    await eventually_true(lambda: store.quotas.of(ANN) == {})
