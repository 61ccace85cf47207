"""Measures a cluster with one client: how fast records go in and out, and how long one takes from end to end."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tidelog.cli.figures import Measured

if TYPE_CHECKING:
    from tidelog.client import Consumer, Producer

Advance = Callable[[int], None]
# The pace is kept by pauses at every so many records; a pause for each would be the measurement itself.
_RECORDS_A_STEP = 100


async def bench_produce(
    producer: "Producer", topic: str, payloads: Sequence[bytes], count: int, throughput: float, advance: Advance
) -> Measured:
    """Send `count` records, at most `throughput` a second if that is positive."""
    measured = Measured()
    failures: list[BaseException] = []
    begun = time.perf_counter()

    def on_done(sent_at: float, size_bytes: int) -> Callable[[Any, BaseException | None], None]:
        def done(_: Any, error: BaseException | None) -> None:
            if error is not None:
                failures.append(error)
                return
            measured.records += 1
            measured.size_bytes += size_bytes
            measured.latencies_ms.append((time.perf_counter() - sent_at) * 1000)

        return done

    for number in range(count):
        payload = payloads[number % len(payloads)]
        await producer.enqueue(topic, payload, callback=on_done(time.perf_counter(), len(payload)))
        if number % _RECORDS_A_STEP == _RECORDS_A_STEP - 1:
            advance(_RECORDS_A_STEP)
            await _keep_pace(begun, number + 1, throughput)
    await producer.flush()
    advance(count % _RECORDS_A_STEP)
    measured.seconds = time.perf_counter() - begun
    if failures:
        raise failures[0]
    return measured


async def _keep_pace(begun: float, sent: int, throughput: float) -> None:
    ahead_s = sent / throughput - (time.perf_counter() - begun) if throughput > 0 else 0.0
    await asyncio.sleep(max(0.0, ahead_s))


async def bench_consume(consumer: "Consumer", count: int, patience_s: float, advance: Advance) -> Measured:
    """Read up to `count` records; ends early if none comes for `patience_s`."""
    measured = Measured()
    begun = heard = time.perf_counter()
    while measured.records < count and time.perf_counter() - heard < patience_s:
        for records in (await consumer.poll(200)).values():
            heard = time.perf_counter()
            taken = records[: count - measured.records]
            measured.records += len(taken)
            measured.size_bytes += sum(len(each.value or b"") + len(each.key or b"") for each in taken)
            advance(len(taken))
    measured.seconds = (heard if measured.records else time.perf_counter()) - begun
    return measured


async def bench_latency(
    producer: "Producer",
    consumer: "Consumer",
    topic: str,
    payload: bytes,
    count: int,
    patience_s: float,
    advance: Advance,
) -> Measured:
    """Send records one by one, each when the one before it was read."""
    measured = Measured()
    begun = time.perf_counter()
    for _ in range(count):
        sent_at = time.perf_counter()
        await producer.send(topic, payload)
        while not await consumer.poll(100):
            if time.perf_counter() - sent_at > patience_s:
                raise TimeoutError
        measured.latencies_ms.append((time.perf_counter() - sent_at) * 1000)
        measured.records += 1
        measured.size_bytes += len(payload)
        advance(1)
    measured.seconds = time.perf_counter() - begun
    return measured
