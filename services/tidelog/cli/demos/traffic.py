"""Sends visits and logs at a steady rate, so that pipelines have something to count."""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

from tidelog.cli.demos.visits import PAGEVIEWS, SERVICE_LOGS, message
from tidelog.cli.reading import until_signal
from tidelog.cli.target import Target
from tidelog.client import KafkaCode, KafkaError, NewTopic

_TELL_S = 10.0


@dataclass(frozen=True, slots=True)
class Wishes:
    """So many messages a second for so long, always the same ones for a seed, and partitions of topics that are made."""

    rate: float
    seconds: float | None
    seed: int | None
    partitions: int


async def run(target: Target, wishes: Wishes) -> None:
    """Send until the time is over, or until a signal; tell how many every now and then."""
    await _make_topics(target, wishes.partitions)
    chance = random.Random(wishes.seed)  # noqa: S311  no secret
    sent, told_at = 0, time.monotonic()
    with until_signal() as stopped:
        async with target.producer({"linger.ms": 20}) as producer:
            async for now_s in _paced(wishes, stopped):
                made = message(chance, now_s)
                await producer.enqueue(made.topic, made.value.encode(), made.key.encode())
                sent += 1
                if time.monotonic() - told_at >= _TELL_S:
                    told_at = time.monotonic()
                    print(f"Sent {sent} messages.", flush=True)
            await producer.flush()
    print(f"Sent {sent} messages.", flush=True)


async def _paced(wishes: Wishes, stopped: asyncio.Event) -> AsyncIterator[float]:
    """The present, so many times a second."""
    start, number = time.monotonic(), 0
    while not stopped.is_set() and (wishes.seconds is None or number < wishes.rate * wishes.seconds):
        ahead_s = start + number / wishes.rate - time.monotonic()
        if ahead_s > 0:
            await asyncio.sleep(ahead_s)
        number += 1
        yield time.time()


async def _make_topics(target: Target, partitions: int) -> None:
    async with target.admin() as admin:
        for topic in (PAGEVIEWS, SERVICE_LOGS):
            try:
                await admin.create_topics([NewTopic(topic, partitions)])
            except KafkaError as error:
                if error.code is not KafkaCode.TOPIC_ALREADY_EXISTS:
                    raise
