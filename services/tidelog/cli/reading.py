"""Reads records for the commands that print them: from where, how many, and until when."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelog.cli.parsing import datetime_ms, duration_ms
from tidelog.local.faults import WrongUsageError

if TYPE_CHECKING:
    from tidelog.client import Consumer, ConsumerRecord, TopicPartition

_POLL_MS = 500


@dataclass(frozen=True, slots=True)
class Bounds:
    """When to stop: after so many records, after so long without one, at what was the end when we began."""

    count: int | None = None
    idle_ms: int | None = None
    at_end: bool = False


@contextmanager
def until_signal() -> Iterator[asyncio.Event]:
    """An event that the first Ctrl-C (or SIGTERM) sets, so that the command ends in an orderly way."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stopped.set)
    except (ValueError, RuntimeError):
        # Only the main thread is told of signals; whoever runs us elsewhere stops us otherwise.
        yield stopped
        return
    try:
        yield stopped
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


async def read(consumer: "Consumer", bounds: Bounds, stopped: asyncio.Event) -> AsyncIterator[list["ConsumerRecord"]]:
    """Lists of records until a bound or a signal is reached."""
    ends = await _ends(consumer) if bounds.at_end else {}
    left = bounds.count
    heard = time.monotonic()
    while not stopped.is_set() and left != 0 and not (bounds.at_end and await _is_at(consumer, ends)):
        found = await consumer.poll(_POLL_MS, max_records=left if left is not None and left < 500 else None)
        records = [record for each in found.values() for record in each]
        if records:
            heard = time.monotonic()
            records = _before(records, ends)
            left = None if left is None else left - len(records)
            yield records
        elif bounds.idle_ms is not None and (time.monotonic() - heard) * 1000 >= bounds.idle_ms:
            return


def _before(records: list["ConsumerRecord"], ends: dict["TopicPartition", int]) -> list["ConsumerRecord"]:
    if not ends:
        return records
    last = {tuple(partition): end for partition, end in ends.items()}
    return [each for each in records if each.offset < last[each.topic, each.partition]]


async def _ends(consumer: "Consumer") -> dict["TopicPartition", int]:
    return await consumer.end_offsets(consumer.assignment())


async def _is_at(consumer: "Consumer", ends: dict["TopicPartition", int]) -> bool:
    for partition, end in ends.items():
        if await consumer.position(partition) < end:
            return False
    return True


async def start_at(consumer: "Consumer", partitions: list["TopicPartition"], where: str) -> None:
    """Seek to `beginning`, `end`, an offset, `-N` before the end, `@TIME` or `@-DURATION`."""
    if where in ("beginning", "earliest"):
        consumer.seek_to_beginning(*partitions)
    elif where in ("end", "latest"):
        consumer.seek_to_end(*partitions)
    elif where.startswith("@"):
        await _seek_to_time(consumer, partitions, _time_ms(where[1:]))
    elif where.lstrip("-").isdecimal():
        await _seek_to_number(consumer, partitions, int(where))
    else:
        raise WrongUsageError(
            f"{where!r} is not a place to start: beginning, end, an offset, -N (so many before the end), "
            "@TIME or @-DURATION (so long ago)."
        )


def _time_ms(text: str) -> int:
    if text.startswith("-"):
        return int(time.time() * 1000) - duration_ms(text[1:])
    return int(text) if text.isdecimal() else datetime_ms(text)


async def _seek_to_time(consumer: "Consumer", partitions: list["TopicPartition"], when_ms: int) -> None:
    found = await consumer.offsets_for_times(dict.fromkeys(partitions, when_ms))
    for partition, place in found.items():
        if place is None:
            consumer.seek_to_end(partition)
        else:
            consumer.seek(partition, place.offset)


async def _seek_to_number(consumer: "Consumer", partitions: list["TopicPartition"], number: int) -> None:
    if number >= 0:
        for partition in partitions:
            consumer.seek(partition, number)
        return
    starts = await consumer.beginning_offsets(partitions)
    for partition, end in (await consumer.end_offsets(partitions)).items():
        consumer.seek(partition, max(starts[partition], end + number))
