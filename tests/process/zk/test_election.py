"""Elections against a real ZooKeeper: one wins, losers cannot write, the dead are replaced in one transaction."""

import asyncio
from typing import Any

import pytest

from tests.support.async_waiting import eventually_true
from tests.support.zk_sessions import Loss, UnluckySession
from tests.support.zookeeper import EmbeddedZookeeper
from tidelog.kafka.types import ControllerId
from tidelog.zk.election import ControllerMoved, ControllerWriter, Elected, NotElected, elect, read_active, resign
from tidelog.zk.errors import BadVersion, NodeExists, NoNode, SessionExpired
from tidelog.zk.operations import Create, Op, SetData, Stat
from tidelog.zk.session import ZkSession

ONE, TWO = ControllerId(1), ControllerId(2)


async def elected(session: ZkSession, controller_id: ControllerId, **options: Any) -> Elected:
    outcome = await elect(session, controller_id, 1_700_000_000_000, **options)
    assert isinstance(outcome, Elected), outcome
    return outcome


async def test_the_first_controller_has_epoch_one(session: ZkSession) -> None:
    assert await elected(session, ONE) == Elected(1, 1)  # type: ignore[arg-type]
    controller, epoch = await session.get("/controller"), await session.get("/controller_epoch")
    assert controller.data == b'{"version":2,"brokerid":1,"timestamp":"1700000000000","kraftControllerEpoch":-1}'
    assert controller.ephemeral_owner == session.session_id
    assert epoch.data == b"1"
    assert controller.czxid == epoch.mzxid


async def test_of_many_electors_exactly_one_wins(open_session: Any) -> None:
    sessions: list[ZkSession] = [await open_session() for _ in range(5)]
    outcomes = await asyncio.gather(*(elect(one, ControllerId(i), 0) for i, one in enumerate(sessions)))
    winners = [i for i, outcome in enumerate(outcomes) if isinstance(outcome, Elected)]
    assert len(winners) == 1
    losers = [outcome for outcome in outcomes if isinstance(outcome, NotElected)]
    assert losers == [NotElected(ControllerId(winners[0]))] * 4
    assert (await sessions[0].get("/controller_epoch")).data == b"1"


async def test_a_zombie_cannot_write(open_session: Any) -> None:
    old, new = await open_session(), await open_session()
    zombie = ControllerWriter(old, (await elected(old, ONE)).epoch_zk_version)
    await zombie.write([Create("/a")])
    await new.delete("/controller")
    second = await elected(new, TWO)
    assert second.controller_epoch == 2
    with pytest.raises(ControllerMoved):
        await zombie.write([Create("/b")])
    with pytest.raises(ControllerMoved):
        await zombie.multi([SetData("/a", b"x")])
    await resign(zombie)
    active = await read_active(new)
    assert active is not None
    assert active.controller_id == TWO
    assert await new.exists("/b") is None
    assert (await new.get("/a")).data == b""


async def test_takeover_replaces_the_dead_in_one_transaction(open_session: Any) -> None:
    dead, standby, late = [await open_session() for _ in range(3)]
    first = await elected(dead, ONE)
    assert await elect(standby, TWO, 0) == NotElected(ONE)
    second = await elected(standby, TWO, replace_epoch_zk_version=first.epoch_zk_version)
    assert second.controller_epoch == first.controller_epoch + 1
    node = await standby.get("/controller")
    assert node.ephemeral_owner == standby.session_id
    assert node.czxid == (await standby.get("/controller_epoch")).mzxid
    # Another standby that believes the first one dead comes too late.
    assert await elect(late, ControllerId(3), 0, replace_epoch_zk_version=first.epoch_zk_version) == NotElected(TWO)
    await dead.close()
    assert await read_active(standby) is not None


async def test_takeover_when_the_dead_ones_node_is_already_gone(open_session: Any) -> None:
    dead, standby = await open_session(), await open_session()
    first = await elected(dead, ONE)
    await dead.close()
    second = await elected(standby, TWO, replace_epoch_zk_version=first.epoch_zk_version)
    assert second.controller_epoch == 2


async def test_of_two_standbys_one_takes_over(open_session: Any) -> None:
    dead, *standbys = [await open_session() for _ in range(4)]
    version = (await elected(dead, ONE)).epoch_zk_version
    ids = [ControllerId(10 + i) for i in range(3)]
    outcomes = await asyncio.gather(
        *(elect(one, i, 0, replace_epoch_zk_version=version) for one, i in zip(standbys, ids, strict=True))
    )
    assert sum(isinstance(outcome, Elected) for outcome in outcomes) == 1


async def test_a_node_of_my_own_session_is_taken_over_with_a_new_epoch(session: ZkSession) -> None:
    first = await elected(session, ONE)
    second = await elected(session, ONE)
    assert second.controller_epoch == first.controller_epoch + 1
    with pytest.raises(ControllerMoved):
        await ControllerWriter(session, first.epoch_zk_version).write([Create("/a")])


@pytest.mark.parametrize("loss", Loss)
async def test_a_lost_reply_does_not_lose_the_election(connect: str, loss: Loss) -> None:
    async with UnluckySession(connect, 6_000) as session:
        await session.create("/controller_epoch", b"0")
        session.next_loss = loss
        assert await elected(session, ONE) == Elected(1, 1)  # type: ignore[arg-type]


async def test_resigning_frees_the_place(open_session: Any) -> None:
    first, second = await open_session(), await open_session()
    await resign(ControllerWriter(first, (await elected(first, ONE)).epoch_zk_version))
    assert (await elected(second, TWO)).controller_epoch == 2


async def test_a_thousand_writes_are_checked_and_packed(session: ZkSession) -> None:
    writer = ControllerWriter(session, (await elected(session, ONE)).epoch_zk_version)
    before = (await session.set("/controller", b"{}")).mzxid
    results = await writer.write(Create(f"/n{i}", b"x") for i in range(1000))
    assert results == [f"/n{i}" for i in range(1000)]
    after = (await session.set("/controller", b"{}")).mzxid
    # Sessions that other tests left behind may end meanwhile, and each end is a transaction too.
    assert after - before <= 100, "ten transactions, not a thousand"


async def test_a_failed_write_does_not_harm_its_neighbours(session: ZkSession) -> None:
    writer = ControllerWriter(session, (await elected(session, ONE)).epoch_zk_version)
    await session.create("/a")
    ops: list[Op] = [Create("/b"), SetData("/a", b"x", 7), Create("/a"), Create("/c/d"), SetData("/a", b"y", 0)]
    results = await writer.try_write(ops)
    assert [type(one) for one in results] == [str, BadVersion, NodeExists, NoNode, Stat]
    with pytest.raises(BadVersion):
        await writer.write(ops[1:2])


async def test_an_errors_index_counts_without_the_check(session: ZkSession) -> None:
    writer = ControllerWriter(session, (await elected(session, ONE)).epoch_zk_version)
    with pytest.raises(NoNode) as failed:
        await writer.multi([Create("/x"), SetData("/y", b"", 3)])
    assert (failed.value.index, failed.value.path) == (1, "/y")
    with pytest.raises(NoNode) as failed:
        await writer.multi([SetData("/y", b"", 3)])
    assert failed.value.index == 0


async def test_checked_recursive_delete(session: ZkSession, open_session: Any) -> None:
    writer = ControllerWriter(session, (await elected(session, ONE)).epoch_zk_version)
    await session.ensure_path("/t/a/b")
    await writer.delete_recursive("/t")
    assert await session.exists("/t") is None
    await session.ensure_path("/t/a")
    other: ZkSession = await open_session()
    await elected(other, TWO, replace_epoch_zk_version=writer.epoch_zk_version)
    with pytest.raises(ControllerMoved):
        await writer.delete_recursive("/t")


async def test_expiry_ends_the_term(session: ZkSession, open_session: Any, zookeeper: EmbeddedZookeeper) -> None:
    other: ZkSession = await open_session()
    first = await elected(session, ONE)
    await asyncio.to_thread(zookeeper.expire, session.client_id)
    second = await elected(other, TWO)
    assert second.controller_epoch == first.controller_epoch + 1
    await eventually_true(lambda: session.previous_session_id)
    await session.connected()
    with pytest.raises((ControllerMoved, SessionExpired)):
        await ControllerWriter(session, first.epoch_zk_version).write([Create("/a")])
