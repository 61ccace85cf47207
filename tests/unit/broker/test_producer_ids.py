"""Producer ids: each given out once, and the next block asked for before the present one is used up."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.runtime.producer_ids import ProducerIds


class Blocks:
    """The controller: blocks of ten, or a refusal."""

    def __init__(self) -> None:
        self.asked = 0
        self.refuses = False
        self._spawned: list[Coroutine[Any, Any, None]] = []

    async def allocate(self) -> tuple[int, int]:
        self.asked += 1
        if self.refuses:
            raise KafkaError(KafkaCode.NOT_CONTROLLER)
        return (self.asked - 1) * 10, 10

    def spawn(self, coroutine: Coroutine[Any, Any, None], name: str) -> None:
        assert name
        self._spawned.append(coroutine)

    async def run(self) -> None:
        spawned, self._spawned = self._spawned, []
        await asyncio.gather(*spawned)


@pytest.fixture
def blocks() -> Blocks:
    return Blocks()


@pytest.fixture
def ids(blocks: Blocks) -> ProducerIds:
    return ProducerIds(blocks.allocate, blocks.spawn)


def refused(ids: ProducerIds) -> bool:
    with pytest.raises(KafkaError) as refusal:
        ids.next()
    return refusal.value.code is KafkaCode.COORDINATOR_LOAD_IN_PROGRESS


async def test_the_first_id_is_refused_until_there_is_a_block(ids: ProducerIds, blocks: Blocks) -> None:
    assert refused(ids)
    assert refused(ids)
    await blocks.run()
    assert (ids.next(), blocks.asked) == (0, 1)


async def test_the_next_block_is_there_before_it_is_needed(ids: ProducerIds, blocks: Blocks) -> None:
    assert refused(ids)
    await blocks.run()
    given = [ids.next() for _ in range(9)]
    assert blocks.asked == 1
    given.append(ids.next())
    await blocks.run()
    assert blocks.asked == 2
    given += [ids.next() for _ in range(5)]
    assert given == list(range(15))


async def test_a_block_that_is_late_is_asked_for_once(ids: ProducerIds, blocks: Blocks) -> None:
    assert refused(ids)
    await blocks.run()
    for _ in range(10):
        ids.next()
    assert refused(ids)
    assert refused(ids)
    await blocks.run()
    assert (ids.next(), blocks.asked) == (10, 2)


async def test_a_refusal_is_followed_by_another_attempt(ids: ProducerIds, blocks: Blocks) -> None:
    blocks.refuses = True
    assert refused(ids)
    await blocks.run()
    blocks.refuses = False
    assert refused(ids)
    await blocks.run()
    assert ids.next() == 10, "the second block that the controller was asked for"


async def test_who_can_wait_gets_an_id_of_the_block_that_is_fetched(blocks: Blocks) -> None:
    ids = ProducerIds(blocks.allocate, blocks.spawn)
    waiting = [asyncio.create_task(ids.next_fetched()) for _ in range(3)]
    await asyncio.sleep(0)
    await blocks.run()
    assert [await one for one in waiting] == [0, 1, 2]
    assert await ids.next_fetched() == 3


async def test_who_waits_for_a_block_that_is_refused_is_refused(blocks: Blocks) -> None:
    blocks.refuses = True
    ids = ProducerIds(blocks.allocate, blocks.spawn)
    waiting = asyncio.create_task(ids.next_fetched())
    await asyncio.sleep(0)
    await blocks.run()
    with pytest.raises(KafkaError) as refused:
        await waiting
    assert refused.value.code is KafkaCode.COORDINATOR_LOAD_IN_PROGRESS
    blocks.refuses = False
    await blocks.run()
    assert await ids.next_fetched() == 10
