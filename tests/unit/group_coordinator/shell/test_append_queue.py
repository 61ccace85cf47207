"""What a shard writes: in order, together where possible, and given up as a whole when an append is in doubt."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from tidelog.group_coordinator.core.groups.effects import Producer
from tidelog.group_coordinator.core.records import CoordinatorRecord
from tidelog.group_coordinator.shell.append_queue import Append, AppendQueue
from tidelog.group_coordinator.shell.shard_log import Appended, InDoubtError
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.records.control import EndTransactionMarker, MarkerType, read_marker
from tidelog.kafka.records.header import read_header
from tidelog.kafka.records.record import read_records
from tidelog.runtime.clock import ManualClock

FENCE = 7


class FakeLog:
    """Takes batches when it is let; answers as it was told."""

    def __init__(self) -> None:
        self.batches: list[bytes] = []
        self.answers: list[KafkaCode | Exception] = []
        self.let = asyncio.Event()
        self.let.set()

    async def append(self, batch: bytearray, fence: int) -> Appended:
        assert fence == FENCE
        await self.let.wait()
        answer = self.answers.pop(0) if self.answers else KafkaCode.NONE
        if isinstance(answer, Exception):
            raise answer
        if answer is KafkaCode.NONE:
            self.batches.append(bytes(batch))
        return Appended(answer, len(self.batches))

    @property
    def keys(self) -> list[list[bytes | None]]:
        return [[record.key for record in read_records(batch)] for batch in self.batches]


class Scene:
    def __init__(self) -> None:
        self.log = FakeLog()
        self.told: list[tuple[str, KafkaCode]] = []
        self.doubts: list[str] = []
        self.tasks: set[asyncio.Task[None]] = set()
        self.queue = AppendQueue(self.log, FENCE, ManualClock(), self.spawn, self.doubts.append)  # type: ignore[arg-type]

    def spawn(self, coroutine: Coroutine[Any, Any, None], name: str) -> None:
        self.tasks.add(asyncio.get_running_loop().create_task(coroutine, name=name))

    def put(
        self,
        name: str,
        size: int = 1,
        producer: Producer | None = None,
        marker: EndTransactionMarker | None = None,
    ) -> None:
        self.queue.put(
            Append(
                () if marker else (CoordinatorRecord(name.encode(), b"x" * size),),
                lambda: self.told.append((name, KafkaCode.NONE)),
                lambda code: self.told.append((name, code)),
                producer,
                marker,
            )
        )

    async def done(self) -> None:
        await asyncio.gather(*self.tasks)


@pytest.fixture
async def scene() -> Scene:
    return Scene()


async def test_what_comes_while_a_batch_is_on_its_way_shares_the_next_one(scene: Scene) -> None:
    scene.log.let.clear()
    scene.put("a")
    await asyncio.sleep(0)
    for name in "bcd":
        scene.put(name)
    scene.log.let.set()
    await scene.done()
    assert scene.log.keys == [[b"a"], [b"b", b"c", b"d"]]
    assert scene.told == [(name, KafkaCode.NONE) for name in "abcd"]


async def test_transactional_records_and_markers_have_batches_of_their_own(scene: Scene) -> None:
    scene.put("a")
    scene.put("t", producer=Producer(5, 1))
    scene.put("m", producer=Producer(5, 1), marker=EndTransactionMarker(MarkerType.COMMIT, 3))
    scene.put("b")
    await scene.done()
    plain, transactional, marker, last = scene.log.batches
    assert [read_header(batch).producer_id for batch in (plain, transactional, marker, last)] == [-1, 5, 5, -1]
    assert read_header(transactional).is_transactional
    assert read_marker(marker) == EndTransactionMarker(MarkerType.COMMIT, 3)
    assert [name for name, _ in scene.told] == ["a", "t", "m", "b"]


async def test_a_large_write_goes_alone(scene: Scene) -> None:
    for name in "abc":
        scene.put(name, size=200 * 1024)
    await scene.done()
    assert scene.log.keys == [[b"a"], [b"b"], [b"c"]]


async def test_writes_that_are_too_large_together_are_tried_one_by_one(scene: Scene) -> None:
    scene.log.answers = [KafkaCode.MESSAGE_TOO_LARGE, KafkaCode.NONE, KafkaCode.MESSAGE_TOO_LARGE]
    scene.put("a")
    scene.put("b")
    await scene.done()
    assert scene.told == [("a", KafkaCode.NONE), ("b", KafkaCode.MESSAGE_TOO_LARGE)]
    assert not scene.doubts


async def test_nothing_is_tried_after_a_doubt_among_those_that_are_tried_one_by_one(scene: Scene) -> None:
    scene.log.answers = [KafkaCode.MESSAGE_TOO_LARGE, InDoubtError("the leader is gone")]
    scene.put("a")
    scene.put("b")
    await scene.done()
    assert scene.told == [(name, KafkaCode.NOT_LEADER_OR_FOLLOWER) for name in "ab"]
    assert scene.doubts == ["the leader is gone"]
    assert not scene.log.batches


async def test_a_refusal_is_told_to_whom_it_concerns_and_the_queue_goes_on(scene: Scene) -> None:
    scene.log.answers = [KafkaCode.NOT_ENOUGH_REPLICAS]
    scene.put("a", size=300 * 1024)
    scene.put("b")
    await scene.done()
    assert scene.told == [("a", KafkaCode.NOT_ENOUGH_REPLICAS), ("b", KafkaCode.NONE)]


async def test_an_append_in_doubt_ends_everything_in_order(scene: Scene) -> None:
    scene.log.answers = [InDoubtError("the leader is gone")]
    for name in "abc":
        scene.put(name, size=200 * 1024)
    await scene.done()
    assert scene.doubts == ["the leader is gone"]
    assert scene.told == [(name, KafkaCode.NOT_LEADER_OR_FOLLOWER) for name in "abc"]
    scene.put("late")
    assert scene.told[-1] == ("late", KafkaCode.NOT_LEADER_OR_FOLLOWER)
    assert not scene.log.batches


async def test_a_refused_fence_ends_everything_but_a_refused_producer_only_its_own_append(scene: Scene) -> None:
    scene.log.answers = [KafkaCode.INVALID_PRODUCER_EPOCH, KafkaCode.NONE, KafkaCode.INVALID_PRODUCER_EPOCH]
    scene.put("t", producer=Producer(5, 1))
    scene.put("a")
    scene.put("u", producer=Producer(6, 1))
    await scene.done()
    assert scene.told == [
        ("t", KafkaCode.INVALID_PRODUCER_EPOCH),
        ("a", KafkaCode.NONE),
        ("u", KafkaCode.INVALID_PRODUCER_EPOCH),
    ]
    scene.log.answers = [KafkaCode.INVALID_PRODUCER_EPOCH]
    scene.put("b")
    await scene.done()
    assert scene.doubts
    assert scene.told[-1] == ("b", KafkaCode.NOT_LEADER_OR_FOLLOWER)


async def test_closing_refuses_what_waits_and_still_reports_what_is_on_its_way(scene: Scene) -> None:
    scene.log.let.clear()
    scene.put("a")
    await asyncio.sleep(0)
    scene.put("b")
    scene.queue.close()
    assert scene.told == [("b", KafkaCode.NOT_LEADER_OR_FOLLOWER)]
    scene.log.let.set()
    await scene.done()
    assert scene.told[-1] == ("a", KafkaCode.NONE)
