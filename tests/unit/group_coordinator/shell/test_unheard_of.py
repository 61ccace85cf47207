"""Commits for partitions that this process has not heard of wait for the news, and their group behind them."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from tidelog.group_coordinator.shell import unheard_of
from tidelog.group_coordinator.shell.unheard_of import UnheardOf
from tidelog.kafka.wire.messages.heartbeat import HeartbeatRequest
from tidelog.kafka.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.kafka.wire.schema import Request
from tidelog.rpc import types_pb2
from tidelog.runtime.cluster_mirror import ClusterMirror
from tidelog.runtime.readiness import Readiness

pytestmark = pytest.mark.asyncio


class Scene:
    def __init__(self) -> None:
        self.mirror = ClusterMirror(Readiness())
        self.unheard_of = UnheardOf(self.mirror, self.exists, self.spawn)
        self.served: list[str] = []
        self.tasks: list[asyncio.Task[Any]] = []
        self.topics: set[str] = {"known"}

    def exists(self, topic: str, partition: int) -> bool:
        return topic in self.topics and partition == 0

    def spawn(self, coroutine: Coroutine[Any, Any, None], name: str) -> asyncio.Task[Any]:
        self.tasks.append(asyncio.get_running_loop().create_task(coroutine, name=name))
        return self.tasks[-1]

    def ask(self, name: str, request: Request[Any]) -> None:
        if not self.unheard_of.keeps(request, lambda: self.serve(name)):
            self.serve(name)

    def serve(self, name: str) -> None:
        if name == "broken":
            raise RuntimeError(name)
        self.served.append(name)

    async def hear_of(self, topic: str) -> None:
        self.topics.add(topic)
        self.mirror.take(types_pb2.UpdateMetadataRequest(controller_epoch=1))
        await asyncio.sleep(0.01)


def commit(group: str, topic: str) -> OffsetCommitRequest:
    partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=1)]
    topics = [OffsetCommitRequestTopic(name=topic, partitions=partitions)]
    return OffsetCommitRequest(group_id=group, topics=topics)


async def test_what_is_known_does_not_wait() -> None:
    scene = Scene()
    scene.ask("commit", commit("g", "known"))
    scene.ask("heartbeat", HeartbeatRequest(group_id="g"))
    assert scene.served == ["commit", "heartbeat"]
    assert not scene.tasks


async def test_a_commit_waits_for_the_news_and_its_group_behind_it() -> None:
    scene = Scene()
    scene.ask("first", commit("g", "new"))
    scene.ask("second", commit("g", "known"))
    scene.ask("beat", HeartbeatRequest(group_id="g"))
    scene.ask("another group's", commit("h", "known"))
    await scene.hear_of("something else")
    assert scene.served == ["another group's"]
    await scene.hear_of("new")
    assert scene.served == ["another group's", "first", "second", "beat"]
    scene.ask("third", commit("g", "new"))
    assert scene.served[-1] == "third"


async def test_it_does_not_wait_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unheard_of, "_WAIT_MS", 10)
    scene = Scene()
    scene.ask("in vain", commit("g", "never was"))
    assert scene.served == []
    await scene.tasks[0]
    assert scene.served == ["in vain"]


async def test_a_crowd_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unheard_of, "_GROUPS_MAX", 2)
    scene = Scene()
    for number in range(3):
        scene.ask(f"{number}", commit(f"g{number}", "new"))
    assert scene.served == ["2"]
    await scene.hear_of("new")
    assert sorted(scene.served) == ["0", "1", "2"]


async def test_one_that_breaks_does_not_hold_up_those_behind_it() -> None:
    scene = Scene()
    scene.ask("broken", commit("g", "new"))
    scene.ask("behind", commit("g", "known"))
    await scene.hear_of("new")
    assert scene.served == ["behind"]
