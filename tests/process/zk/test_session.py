"""The session against a real ZooKeeper: operations, errors, pipelines, and how it lives through broken connections."""

import asyncio
import time
from functools import partial
from typing import Any

import pytest

from tests.support.async_waiting import eventually_true
from tests.support.zookeeper import EmbeddedZookeeper
from tidelog.zk.connection import IN_FLIGHT_MAX, ZkState
from tidelog.zk.errors import BadVersion, ConnectionLost, NodeExists, NoNode, NotEmpty, SessionExpired, ZkError
from tidelog.zk.operations import Check, Create, Delete, SetData, Stat, WatchEvent, WatchKind, pack
from tidelog.zk.session import ZkSession


async def test_create_get_set_delete(session: ZkSession) -> None:
    assert await session.create("/a", b"1") == "/a"
    assert (await session.set("/a", b"2", 0)).version == 1
    node = await session.get("/a")
    assert (node.data, node.version, node.ephemeral_owner) == (b"2", 1, 0)
    assert node.mzxid > node.czxid
    await session.delete("/a", 1)
    assert await session.exists("/a") is None


async def test_errors_are_ours_and_name_the_path(session: ZkSession) -> None:
    await session.create("/a")
    await session.create("/a/b")
    with pytest.raises(NodeExists, match="/a"):
        await session.create("/a")
    with pytest.raises(NoNode, match="/x"):
        await session.get("/x")
    with pytest.raises(BadVersion, match="/a"):
        await session.set("/a", b"", 7)
    with pytest.raises(NotEmpty, match="/a"):
        await session.delete("/a")


async def test_null_data_stays_null(session: ZkSession) -> None:
    await session.multi([Create("/null"), Create("/empty", b"")])
    null, _ = await session.send(lambda client: client.get_async(f"{session.chroot}/null"))
    empty, _ = await session.send(lambda client: client.get_async(f"{session.chroot}/empty"))
    assert (null, empty) == (None, b"")
    assert (await session.get("/null")).data == b""


async def test_sequential_nodes_get_ten_digits(session: ZkSession) -> None:
    assert await session.create("/n_", sequence=True) == "/n_0000000000"
    assert await session.create("/n_", sequence=True) == "/n_0000000001"


async def test_multi_is_all_or_nothing_and_tells_which_operation_failed(session: ZkSession) -> None:
    await session.create("/a")
    with pytest.raises(BadVersion) as failed:
        await session.multi([Create("/b"), Check("/a", 0), SetData("/a", b"x", 5), Delete("/b")])
    assert (failed.value.index, failed.value.path) == (2, "/a")
    assert await session.exists("/b") is None
    results = await session.multi([Create("/b"), SetData("/a", b"x", 0), Check("/a", 1), Delete("/b")])
    assert results[0] == "/b"
    assert isinstance(results[1], Stat)
    assert results[2:] == [None, None]


async def test_a_request_beyond_the_servers_limit_is_refused_here(session: ZkSession) -> None:
    with pytest.raises(ZkError, match="larger than ZooKeeper accepts"):
        await session.create("/big", bytes(1 << 20))
    assert session.state is ZkState.CONNECTED


async def test_a_thousand_creates_in_one_pipeline(session: ZkSession) -> None:
    ops = [Create(f"/n{number}", b"x") for number in range(1000)]
    results = await session.pipeline(partial(session.multi, batch) for batch in pack(ops))
    assert [paths for batch in results for paths in batch] == [op.path for op in ops]  # type: ignore[union-attr]
    found = await session.get_many([op.path for op in ops])
    assert all(node is not None and node.data == b"x" for node in found)


async def test_a_pipeline_puts_each_error_in_its_place(session: ZkSession) -> None:
    await session.create("/a")
    results = await session.pipeline(partial(session.create, path) for path in ("/a", "/b", "/c/d", "/e"))
    assert [type(one) for one in results] == [NodeExists, str, NoNode, str]


async def test_more_calls_at_once_than_kazoo_can_hold(session: ZkSession) -> None:
    """The loop must never wait for kazoo's thread, however many tasks call at the same time."""
    await session.create("/a")
    nodes = await asyncio.gather(*(session.get("/a") for _ in range(IN_FLIGHT_MAX * 8)))
    assert len(nodes) == IN_FLIGHT_MAX * 8


async def test_delete_recursive(session: ZkSession) -> None:
    await session.ensure_path("/t/a/b")
    await session.ensure_path("/t/c")
    await session.delete_recursive("/t")
    assert await session.exists("/t") is None
    await session.delete_recursive("/t")


async def test_watches_come_on_the_loop_with_paths_below_the_chroot(session: ZkSession) -> None:
    events: list[WatchEvent] = []
    await session.create("/a")
    await session.get("/a", events.append)
    await session.exists("/b", events.append)
    await session.children("/", events.append)
    await session.set("/a", b"1")
    await session.create("/b")
    await eventually_true(lambda: len(events) == 3)
    expected = {(WatchKind.CHANGED, "/a"), (WatchKind.CREATED, "/b"), (WatchKind.CHILD, "/")}
    assert {(event.kind, event.path) for event in events} == expected


async def test_arming_a_watch_twice_fires_it_once(session: ZkSession) -> None:
    events: list[WatchEvent] = []
    await session.create("/a")
    for _ in range(2):
        await session.get("/a", events.append)
    await session.set("/a", b"1")
    await session.set("/a", b"2")
    await eventually_true(lambda: events)
    await session.get("/a")
    assert len(events) == 1


async def test_an_expired_session_ends_calls_and_another_follows(
    session: ZkSession, zookeeper: EmbeddedZookeeper
) -> None:
    states: list[tuple[ZkState, int]] = []
    session.add_state_listener(lambda state: states.append((state, session.session_id)))
    first = session.session_id
    await session.create("/mine", ephemeral=True)
    await asyncio.to_thread(zookeeper.expire, session.client_id)
    await eventually_true(lambda: states and states[-1][0] is ZkState.CONNECTED and session.session_id != first)
    kinds = [state for state, _ in states]
    assert kinds[-2:] == [ZkState.LOST, ZkState.CONNECTED]
    assert session.session_id not in (0, first)
    assert session.previous_session_id == first
    assert await session.exists("/mine") is None


async def test_a_listener_that_fails_silences_no_other(session: ZkSession, zookeeper: EmbeddedZookeeper) -> None:
    def fail(_: ZkState) -> None:
        raise AssertionError("a bug")

    states: list[ZkState] = []
    session.add_state_listener(fail)
    session.add_state_listener(states.append)
    await asyncio.to_thread(zookeeper.expire, session.client_id)
    await eventually_true(lambda: ZkState.LOST in states)


async def test_close_removes_ephemerals_at_once(open_session: Any, session: ZkSession) -> None:
    other: ZkSession = await open_session()
    await other.create("/mine", ephemeral=True)
    await other.close()
    assert await session.exists("/mine") is None
    with pytest.raises(SessionExpired):
        await other.get("/mine")


async def test_zookeeper_absent_at_start_then_appears(own_zookeeper: EmbeddedZookeeper) -> None:
    async with ZkSession(f"{own_zookeeper.connect}/deep/chroot", 6_000, operation_timeout_ms=300) as session:
        assert session.state is ZkState.SUSPENDED
        began = time.monotonic()
        with pytest.raises(ConnectionLost):
            await session.get("/a")
        assert time.monotonic() - began < 5
        await asyncio.to_thread(own_zookeeper.start_ready)
        await asyncio.wait_for(session.connected(), 20)
        await session.create("/a", b"1")
    async with ZkSession(own_zookeeper.connect, 6_000) as plain:
        assert (await plain.get("/deep/chroot/a")).data == b"1"


async def test_a_crash_of_zookeeper_suspends_and_the_session_survives(own_zookeeper: EmbeddedZookeeper) -> None:
    await asyncio.to_thread(own_zookeeper.start_ready)
    async with ZkSession(own_zookeeper.connect, 20_000) as session:
        await session.create("/mine", b"1", ephemeral=True)
        states: list[ZkState] = []
        session.add_state_listener(states.append)
        await asyncio.to_thread(own_zookeeper.kill)
        await eventually_true(lambda: session.state is ZkState.SUSPENDED)
        reading = asyncio.create_task(session.get("/mine"))
        await asyncio.to_thread(own_zookeeper.start_ready)
        node = await asyncio.wait_for(reading, 20)
        assert node.ephemeral_owner == session.session_id
        assert states == [ZkState.SUSPENDED, ZkState.CONNECTED]


async def test_writes_in_flight_are_not_repeated(own_zookeeper: EmbeddedZookeeper) -> None:
    await asyncio.to_thread(own_zookeeper.start_ready)
    async with ZkSession(own_zookeeper.connect, 20_000) as session:
        await session.create("/n")
        own_zookeeper.pause()
        writing = asyncio.create_task(session.set("/n", b"1"))
        await asyncio.sleep(0.2)
        await asyncio.to_thread(own_zookeeper.kill)
        with pytest.raises(ConnectionLost):
            await asyncio.wait_for(writing, 20)


@pytest.mark.parametrize("how", ["killed", "hung"])
async def test_close_is_bounded_when_zookeeper_is_dead(own_zookeeper: EmbeddedZookeeper, how: str) -> None:
    await asyncio.to_thread(own_zookeeper.start_ready)
    session = ZkSession(own_zookeeper.connect, 20_000, close_timeout_ms=500)
    session.start()
    await session.connected()
    if how == "killed":
        await asyncio.to_thread(own_zookeeper.kill)
    else:
        own_zookeeper.pause()
    hanging = asyncio.create_task(session.get("/"))
    await asyncio.sleep(0.1)
    began = time.monotonic()
    await session.close()
    assert time.monotonic() - began < 5
    with pytest.raises(SessionExpired):
        await hanging


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_client_that_died_of_a_surprise_is_started_again(session: ZkSession) -> None:
    first = session.session_id
    kazoo: Any = session._client._connection
    whole = kazoo._read_socket

    def surprise(*_: object) -> None:
        kazoo._read_socket = whole
        raise RuntimeError("a reply that nobody understands")

    kazoo._read_socket = surprise
    with pytest.raises(ZkError):
        await session.create("/a")
    await eventually_true(lambda: session.session_id not in (0, first))
    await session.ensure_path("/b")
