"""Proposed in-sync sets are written under the version that their leader knows, and announced together."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.async_waiting import eventually_true
from tests.support.replica_pair import TOPIC_ID, Pair
from tidelog.broker.shell.catching_up import lacking
from tidelog.broker.shell.isr_changes import IsrChanges
from tidelog.kafka.cluster import ClusterView, Member, PartitionView, TopicView
from tidelog.kafka.types import BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch
from tidelog.runtime.clock import ManualClock
from tidelog.zk.errors import BadVersion, ConnectionLost, NoNode, ZkError
from tidelog.zk.operations import Stat, Znode
from tidelog.zk.znodes import IsrChangeZnode, PartitionState, PartitionStateZnode

PATH = "/brokers/topics/t/partitions/0/state"


class Zk:
    """One state znode, and errors in the way of writes to it."""

    def __init__(self, version: int = 0) -> None:
        self.data = b""
        self.version = version
        self.errors: list[ZkError] = []
        self.writes_before_error = False
        self.announced: list[bytes] = []

    async def set(self, path: str, data: bytes, version: int) -> Stat:
        assert path == PATH
        if version != self.version:
            raise BadVersion("", path=path)
        if not self.errors or self.writes_before_error:
            self.data = data
            self.version += 1
        if self.errors:
            raise self.errors.pop()
        return self._stat()

    async def get(self, path: str) -> Znode:
        return Znode(self.data, self._stat())

    async def create(self, path: str, data: bytes, *, sequence: bool) -> str:
        assert (path, sequence) == (IsrChangeZnode.CREATE_PATH, True)
        self.announced.append(data)
        return f"{path}0000000000"

    async def pipeline(self, calls: Any) -> list[Any]:
        return [await call() for call in calls]

    def _stat(self) -> Stat:
        return Stat(0, 0, 0, 0, self.version, 0, 0, 0, 0)


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    """Broker 2 is out of sync and has just caught up."""
    made = Pair(tmp_path)
    made.told(leader=1, epoch=1, isr=(1,))
    made.fetch()
    assert made.leader.proposed == [(1, 2)]
    made.leader.partition.controller_epoch = ControllerEpoch(5)
    return made


@asynccontextmanager
async def writing(zk: Zk) -> AsyncIterator[IsrChanges]:
    changes = IsrChanges(zk, ManualClock())  # type: ignore[arg-type]
    tasks = [asyncio.ensure_future(changes.write_proposals()), asyncio.ensure_future(changes.announce())]
    yield changes
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def isr(pair: Pair) -> tuple[int, ...]:
    return pair.leader.partition.led().isr


async def test_a_proposal_is_written_and_announced(pair: Pair) -> None:
    zk = Zk()
    async with writing(zk) as changes:
        changes.on_isr_proposed(pair.leader.partition)
        await eventually_true(lambda: isr(pair) == (1, 2))
        await eventually_true(lambda: zk.announced)
    written = PartitionStateZnode.decode(zk.data)
    assert written == PartitionState(BrokerId(1), LeaderEpoch(1), (BrokerId(1), BrokerId(2)), ControllerEpoch(5)), (
        "with the epoch of the controller that made it leader"
    )
    assert IsrChangeZnode.decode(zk.announced[0]) == (pair.leader.partition.name,)
    assert (pair.leader.partition.partition_epoch, changes.expansions) == (1, 1)


async def test_a_write_whose_answer_was_lost_is_recognised(pair: Pair) -> None:
    zk = Zk()
    zk.errors, zk.writes_before_error = [ConnectionLost("")], True
    async with writing(zk) as changes:
        changes.on_isr_proposed(pair.leader.partition)
        await eventually_true(lambda: isr(pair) == (1, 2))
    assert (zk.version, pair.leader.partition.partition_epoch) == (1, 1), "it was written once"


async def test_a_write_that_did_not_get_through_is_repeated(pair: Pair) -> None:
    zk = Zk()
    zk.errors = [ConnectionLost("")]
    async with writing(zk) as changes:
        changes.on_isr_proposed(pair.leader.partition)
        await eventually_true(lambda: isr(pair) == (1, 2))
    assert changes.failures == 1


@pytest.mark.parametrize("errors", [[], [NoNode("")]], ids=["the controller wrote before", "the topic is gone"])
async def test_an_outdated_leader_changes_nothing_and_waits_for_the_controller(
    pair: Pair, errors: list[ZkError]
) -> None:
    zk = Zk(version=0 if errors else 3)
    zk.errors = errors
    before = zk.version
    async with writing(zk) as changes:
        changes.on_isr_proposed(pair.leader.partition)
        await eventually_true(lambda: changes.failures == 1)
    assert isr(pair) == (1,)
    assert pair.leader.partition.led().proposal is not None, "until then either set may be the true one"
    assert (zk.version, zk.announced) == (before, [])


def test_a_broker_lacks_only_what_it_could_have() -> None:
    def partition(index: int, leader: int, replicas: tuple[int, ...], isr: tuple[int, ...]) -> PartitionView:
        return PartitionView(index, leader, LeaderEpoch(0), isr, replicas)

    shown = [
        partition(0, 1, (1, 2), (1, 2)),
        partition(1, 1, (1, 2), (1,)),
        partition(2, -1, (1, 2), (1,)),
        partition(3, 3, (3, 2), (3,)),
        partition(4, 1, (1,), (1,)),
    ]
    view = ClusterView(brokers={id: Member(id, BrokerEpoch(id), ()) for id in (1, 2)})
    view.topics["t"] = TopicView("t", TOPIC_ID, {each.index: each for each in shown})
    assert lacking(view, 2) == ["t-1"]
