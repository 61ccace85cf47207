"""Watches against a real ZooKeeper: nothing is missed, over restarts and expired sessions."""

import asyncio
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from tests.support.async_waiting import eventually_true
from tests.support.zookeeper import EmbeddedZookeeper
from tidelog.kafka.types import Endpoint
from tidelog.zk.operations import Znode
from tidelog.zk.registration import register
from tidelog.zk.session import ZkSession, ZkState
from tidelog.zk.watches import ChildrenWatch, DataWatch, Member, NotificationWatch, RegistrationsWatch
from tidelog.zk.znodes import BROKER_IDS, BrokerRegistration, encode_registration


def registration(port: int) -> bytes:
    endpoint = Endpoint("PLAINTEXT", "localhost", port)
    return encode_registration(BrokerRegistration.of([endpoint], {"PLAINTEXT": "PLAINTEXT"}, timestamp_ms=1))


async def test_children_watch_ends_at_the_latest_and_stops(session: ZkSession) -> None:
    seen: list[tuple[str, ...]] = []
    watch = ChildrenWatch(session, "/parent", seen.append)
    await eventually_true(lambda: seen == [()])
    for number in range(50):
        await session.create(f"/parent/{number:02}")
    await eventually_true(lambda: len(seen[-1]) == 50)
    assert all(set(earlier) < set(later) for earlier, later in pairwise(seen))
    watch.stop()
    count = len(seen)
    await session.create("/parent/more")
    await asyncio.sleep(0.1)
    assert len(seen) == count


async def test_children_watch_sees_a_child_that_was_replaced(session: ZkSession) -> None:
    seen: list[tuple[str, ...]] = []
    ChildrenWatch(session, "/parent", seen.append)
    await eventually_true(lambda: seen)
    await session.create("/parent/a")
    await eventually_true(lambda: seen[-1] == ("a",))
    count = len(seen)
    await session.delete("/parent/a")
    await session.create("/parent/a")
    await eventually_true(lambda: len(seen) > count and seen[-1] == ("a",))


async def test_data_watch_follows_creation_change_and_deletion(session: ZkSession) -> None:
    seen: list[bytes | None] = []
    DataWatch(session, "/n", lambda node: seen.append(None if node is None else node.data))
    await eventually_true(lambda: seen == [None])
    await session.create("/n", b"1")
    await eventually_true(lambda: seen[-1] == b"1")
    await session.set("/n", b"2")
    await eventually_true(lambda: seen[-1] == b"2")
    await session.delete("/n")
    await eventually_true(lambda: seen[-1] is None)


async def test_a_fault_in_the_receiver_does_not_end_the_watch(session: ZkSession) -> None:
    faults: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
    seen: list[Znode | None] = []

    def receive(node: Znode | None) -> None:
        seen.append(node)
        if node is None:
            raise AssertionError("a bug")

    DataWatch(session, "/n", receive)
    await eventually_true(lambda: faults)
    await session.create("/n")
    await eventually_true(lambda: len(seen) == 2)


async def test_registrations_are_complete_with_epochs(session: ZkSession, open_session: Any) -> None:
    await session.ensure_path(BROKER_IDS)
    seen: list[dict[int, Member]] = []
    RegistrationsWatch(session, BROKER_IDS, seen.append)
    others: list[ZkSession] = [await open_session() for _ in range(3)]
    epochs = {one: await register(other, BROKER_IDS, one, registration(9000 + one)) for one, other in enumerate(others)}
    await eventually_true(lambda: seen and len(seen[-1]) == 3)
    assert {one: member.epoch for one, member in seen[-1].items()} == epochs
    assert seen[-1][2].registration.port == 9002
    await others[2].set(f"{BROKER_IDS}/2", registration(9999))
    await eventually_true(lambda: seen[-1][2].registration.port == 9999)
    await others[0].close()
    await eventually_true(lambda: set(seen[-1]) == {1, 2})


async def test_an_unreadable_registration_hides_no_other(session: ZkSession) -> None:
    await session.ensure_path(BROKER_IDS)
    seen: list[dict[int, Member]] = []
    RegistrationsWatch(session, BROKER_IDS, seen.append)
    await session.create(f"{BROKER_IDS}/7", b"{")
    await register(session, BROKER_IDS, 1, registration(9001))
    await eventually_true(lambda: seen and set(seen[-1]) == {1})


async def test_watches_survive_a_restart_of_zookeeper(own_zookeeper: EmbeddedZookeeper) -> None:
    await asyncio.to_thread(own_zookeeper.start_ready)
    async with ZkSession(own_zookeeper.connect, 20_000) as session, ZkSession(own_zookeeper.connect, 20_000) as other:
        children: list[tuple[str, ...]] = []
        data: list[Znode | None] = []
        ChildrenWatch(session, "/parent", children.append)
        DataWatch(session, "/parent/n", data.append)
        await eventually_true(lambda: children and data)
        await asyncio.to_thread(own_zookeeper.restart)
        await other.ensure_path("/parent/n")
        await eventually_true(lambda: children[-1] == ("n",) and data[-1] is not None)


@pytest.mark.parametrize("changed_meanwhile", [False, True])
async def test_watches_survive_an_expired_session(
    session: ZkSession, open_session: Any, zookeeper: EmbeddedZookeeper, changed_meanwhile: bool
) -> None:
    other: ZkSession = await open_session()
    seen: list[tuple[str, ...]] = []
    ChildrenWatch(session, "/parent", seen.append)
    await eventually_true(lambda: seen)
    lost: list[ZkState] = []
    session.add_state_listener(lambda state: lost.append(state) if state is ZkState.LOST else None)
    await asyncio.to_thread(zookeeper.expire, session.client_id)
    if not changed_meanwhile:
        await eventually_true(lambda: lost and session.state is ZkState.CONNECTED)
    await other.create("/parent/a")
    await eventually_true(lambda: seen[-1] == ("a",))


def clock(now_ms: int) -> Callable[[], int]:
    return lambda: now_ms


async def test_notifications_come_once_and_in_order(
    session: ZkSession, open_session: Any, zookeeper: EmbeddedZookeeper
) -> None:
    writer: ZkSession = await open_session()
    await writer.ensure_path("/changes")
    expected = [str(number).encode() for number in range(30)]
    for data in expected[:10]:
        await writer.create("/changes/change_", data, sequence=True)
    seen: list[bytes] = []
    NotificationWatch(session, "/changes", "change_", seen.append, clock(0))
    for data in expected[10:20]:
        await writer.create("/changes/change_", data, sequence=True)
    await asyncio.to_thread(zookeeper.expire, session.client_id)
    for data in expected[20:]:
        await writer.create("/changes/change_", data, sequence=True)
    await eventually_true(lambda: len(seen) >= 30)
    assert seen == expected


async def test_old_notifications_are_deleted(session: ZkSession) -> None:
    await session.ensure_path("/changes")
    await session.create("/changes/change_", b"old", sequence=True)
    seen: list[bytes] = []
    NotificationWatch(session, "/changes", "change_", seen.append, clock(1 << 62))
    await eventually_true(lambda: seen == [b"old"])
    assert (await session.children("/changes")).names == ()
