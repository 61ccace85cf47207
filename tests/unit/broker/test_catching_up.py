"""A starting broker is ready once its replicas are in sync, or when the bound that it was given has passed."""

import asyncio
import uuid

import pytest

from tidelog.broker.shell.catching_up import CONDITION, CatchingUp
from tidelog.kafka.cluster import Member, PartitionView, TopicView
from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.configs.reading import read_config
from tidelog.kafka.types import BrokerEpoch, LeaderEpoch
from tidelog.runtime.cluster_mirror import ClusterMirror
from tidelog.runtime.readiness import Readiness

US, OTHER = 1, 0


class Scene:
    """A broker and what it was told of the cluster."""

    def __init__(self, timeout_ms: int) -> None:
        self.readiness = Readiness()
        self.mirror = ClusterMirror(self.readiness)
        self.readiness.ok("metadata")
        texts = {
            "zookeeper.connect": "z:1",
            "log.dirs": "/l",
            "broker.id": str(US),
            "replica.catch.up.timeout.ms": str(timeout_ms),
        }
        self.catching_up = CatchingUp(read_config(BrokerConfig, texts), self.mirror, self.readiness)

    def tell(self, isr: tuple[int, ...], live: tuple[int, ...] = (US, OTHER)) -> None:
        """The controller says who is in sync."""
        view = self.mirror.view
        view.brokers = {each: Member(each, BrokerEpoch(1), ()) for each in live}
        partition = PartitionView(0, OTHER, LeaderEpoch(1), isr, (OTHER, US))
        view.topics = {"t": TopicView("t", uuid.uuid4(), {0: partition})}
        view.knows_topics = True
        changed, self.mirror._changed = self.mirror._changed, asyncio.Event()
        changed.set()

    def why(self) -> str:
        return self.readiness.reasons.get(CONDITION, "")


async def _a_few_turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_without_a_bound_it_waits_until_it_is_in_sync() -> None:
    scene = Scene(timeout_ms=-1)
    scene.tell(isr=(OTHER,))
    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(scene.catching_up.watch())
        await _a_few_turns()
        assert "1 replicas are not in sync yet, such as t-0" in scene.why()
        assert not watching.done()
        scene.tell(isr=(OTHER, US))
    assert scene.readiness.ready


async def test_a_bound_that_has_passed_makes_it_ready() -> None:
    scene = Scene(timeout_ms=0)
    scene.tell(isr=(OTHER,))
    await scene.catching_up.watch()
    assert scene.readiness.ready


@pytest.mark.parametrize(("isr", "live"), [((OTHER, US), (US, OTHER)), ((OTHER,), (US,))])
async def test_it_is_ready_at_once_if_in_sync_or_if_there_is_nobody_to_copy_from(
    isr: tuple[int, ...], live: tuple[int, ...]
) -> None:
    scene = Scene(timeout_ms=-1)
    scene.tell(isr, live)
    await scene.catching_up.watch()
    assert scene.readiness.ready
