"""Sends the lines of a stream as records, however long the stream lasts."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidelog.cli.record_text import Headers, LineFormat

if TYPE_CHECKING:
    from tidelog.client import Producer, RecordMetadata

_READ_BYTES = 1 << 16


@dataclass(slots=True)
class Sent:
    """What became of the lines."""

    count: int = 0
    first_error: BaseException | None = None

    def take(self, error: BaseException | None) -> None:
        """One record is written, or has failed."""
        if error is None:
            self.count += 1
        elif self.first_error is None:
            self.first_error = error


async def send_lines(
    producer: "Producer",
    topic: str,
    form: LineFormat,
    *,
    partition: int | None = None,
    headers: Headers | None = None,
    on_sent: Callable[["RecordMetadata"], None] | None = None,
) -> Sent:
    """Send each line of the standard input; ends with the stream, or with the first record that fails."""
    sent = Sent()

    def on_done(metadata: Any, error: BaseException | None) -> None:
        sent.take(error)
        if metadata is not None and on_sent is not None:
            on_sent(metadata)

    number = 0
    async for line in stdin_lines():
        number += 1
        key, value, found = form.parse(line, number)
        await producer.enqueue(
            topic, value, key, partition=partition, headers=[*(headers or []), *found], callback=on_done
        )
        if sent.first_error is not None:
            break
    await producer.flush()
    if sent.first_error is not None:
        raise sent.first_error
    return sent


async def stdin_lines() -> AsyncIterator[str]:
    """The lines of the standard input as they come; a thread waits for them, so that what was sent is answered."""
    while block := await asyncio.to_thread(_read_lines):
        for line in block:
            yield line.rstrip("\n").removesuffix("\r")


def _read_lines() -> list[str]:
    """At least one line, and more if they are there: a thread for every line would be slow."""
    first = sys.stdin.readline()
    if not first:
        return []
    return [first, *(sys.stdin.readlines(_READ_BYTES) if not sys.stdin.isatty() and _has_end() else [])]


def _has_end() -> bool:
    """Whether the input is a file, whose further lines are there without waiting."""
    import os
    import stat

    try:
        return stat.S_ISREG(os.fstat(sys.stdin.fileno()).st_mode)
    except (OSError, ValueError):
        return True
