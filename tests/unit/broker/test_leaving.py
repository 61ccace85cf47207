"""A broker that is told to stop waits for replicas of others that are missing, but not for ever."""

import asyncio
import uuid

import pytest

from tidelog.broker.shell import leaving
from tidelog.broker.shell.leaving import lacking_others, wait_for_the_others
from tidelog.kafka.cluster import ClusterView, PartitionView, TopicView
from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.configs.reading import read_config
from tidelog.kafka.types import LeaderEpoch
from tidelog.runtime.cluster_mirror import ClusterMirror
from tidelog.runtime.readiness import Readiness

US, OTHER, THIRD = 1, 0, 2
LONG_MS = 3_600_000


class Scene:
    """A broker and what it was told of one partition."""

    def __init__(self, wait_ms: int = LONG_MS) -> None:
        self.mirror = ClusterMirror(Readiness())
        texts = {"zookeeper.connect": "z:1", "log.dirs": "/l", "broker.id": str(US)}
        texts["controlled.shutdown.replicas.wait.ms"] = str(wait_ms)
        self.config = read_config(BrokerConfig, texts)
        self.is_controlled = True

    def tell(
        self, isr: tuple[int, ...], replicas: tuple[int, ...] = (OTHER, US, THIRD), adding: tuple[int, ...] = ()
    ) -> None:
        partition = PartitionView(0, OTHER, LeaderEpoch(1), isr, replicas, adding_replicas=adding)
        self.mirror.view.topics = {"t": TopicView("t", uuid.uuid4(), {0: partition})}
        changed, self.mirror._changed = self.mirror._changed, asyncio.Event()
        changed.set()

    async def wait(self) -> None:
        await wait_for_the_others(self.config, self.mirror, self._is_controlled)

    async def _is_controlled(self, _view: ClusterView) -> bool:
        return self.is_controlled


async def _is_over_soon(waiting: asyncio.Task[None]) -> bool:
    for _ in range(5):
        await asyncio.sleep(0)
    return waiting.done()


async def test_it_waits_until_the_missing_replica_is_back() -> None:
    scene = Scene()
    scene.tell(isr=(OTHER, US))
    waiting = asyncio.create_task(scene.wait())
    assert not await _is_over_soon(waiting)
    scene.tell(isr=(US,))
    assert not await _is_over_soon(waiting)
    scene.tell(isr=(US, OTHER, THIRD))
    assert await _is_over_soon(waiting)


@pytest.mark.parametrize(
    ("isr", "replicas", "adding"),
    [
        ((OTHER, US, THIRD), (OTHER, US, THIRD), ()),
        ((OTHER, THIRD), (OTHER, US, THIRD), ()),  # it is we who are missing
        ((OTHER,), (OTHER, THIRD), ()),  # none of ours
        ((US,), (US,), ()),  # the only replica: nobody to wait for
        ((OTHER, US), (OTHER, US, THIRD), (THIRD,)),  # a reassignment takes as long as it takes
    ],
)
async def test_it_stops_at_once_if_nobody_else_is_missing(
    isr: tuple[int, ...], replicas: tuple[int, ...], adding: tuple[int, ...]
) -> None:
    scene = Scene()
    scene.tell(isr, replicas, adding)
    assert lacking_others(scene.mirror.view, US) == []
    await scene.wait()


async def test_it_does_not_wait_unless_told_to() -> None:
    scene = Scene(wait_ms=0)
    scene.tell(isr=(US,))
    await scene.wait()


async def test_it_does_not_wait_longer_than_told() -> None:
    scene = Scene(wait_ms=1)
    scene.tell(isr=(US,))
    await scene.wait()
    assert lacking_others(scene.mirror.view, US) == ["t-0"]


async def test_it_does_not_wait_for_a_cluster_that_is_going_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaving, "_LOOK_AGAIN_S", 0.0)
    monkeypatch.setattr(leaving, "_NO_CONTROLLER_S", 0.01)
    scene = Scene()
    scene.tell(isr=(US,))
    scene.is_controlled = False
    await scene.wait()
