"""The job of the `pipeline` profile: counts records by minute, from one topic into another, in small batches.

    pipeline.py BOOTSTRAP FROM TO CHECKPOINT

Each batch takes what has come since the last one, every partition's part in a task of its own, and adds the counts to what
is there. Where a batch ends is written down after its results were produced: after a crash the last batch is counted again.
"""

import asyncio
import json
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from pyspark.sql import SparkSession

from tidelog.client.consumer import Consumer
from tidelog.client.producer import Producer
from tidelog.client.records import TopicPartition

_PAUSE_S = 5.0
_MINUTE_MS = 60_000


@dataclass(frozen=True)
class Part:
    """Records of one partition that one task reads."""

    topic: str
    partition: int
    start: int
    end: int


class Stop:
    """SIGTERM ends the job after the batch that is under way."""

    def __init__(self) -> None:
        self.wanted = False
        signal.signal(signal.SIGTERM, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002  Python's signature
        self.wanted = True


def main(bootstrap: str, source: str, target: str, checkpoint: Path) -> None:
    spark = SparkSession.builder.appName("tidelog-pipeline").getOrCreate()
    stop, done = Stop(), _read_checkpoint(checkpoint)
    while not stop.wanted:
        parts = asyncio.run(_new_parts(bootstrap, source, done))
        if parts:
            tasks = spark.sparkContext.parallelize(parts, len(parts))
            counts = tasks.flatMap(lambda part: _minutes(bootstrap, part)).reduceByKey(lambda a, b: a + b).collect()
            asyncio.run(_produce(bootstrap, target, counts))
            done |= {str(part.partition): part.end for part in parts}
            checkpoint.write_text(json.dumps(done))
            print(f"{sum(part.end - part.start for part in parts)} records in {len(counts)} minutes", flush=True)
        else:
            time.sleep(_PAUSE_S)
    spark.stop()


def _read_checkpoint(file: Path) -> dict[str, int]:
    found: dict[str, int] = json.loads(file.read_text()) if file.exists() else {}
    return found


async def _new_parts(bootstrap: str, topic: str, done: dict[str, int]) -> list[Part]:
    async with Consumer(bootstrap_servers=bootstrap) as consumer:
        places = [TopicPartition(topic, each.partition) for each in await consumer.partitions_for(topic)]
        starts, ends = await consumer.beginning_offsets(places), await consumer.end_offsets(places)
    parts = [
        Part(topic, place.partition, max(done.get(str(place.partition), 0), starts[place]), ends[place])
        for place in places
    ]
    return [part for part in parts if part.end > part.start]


def _minutes(bootstrap: str, part: Part) -> Iterator[tuple[int, int]]:
    for timestamp in asyncio.run(_timestamps(bootstrap, part)):
        yield timestamp // _MINUTE_MS, 1


async def _timestamps(bootstrap: str, part: Part) -> list[int]:
    place = TopicPartition(part.topic, part.partition)
    found: list[int] = []
    async with Consumer(bootstrap_servers=bootstrap) as consumer:
        consumer.assign([place])
        consumer.seek(place, part.start)
        while await consumer.position(place) < part.end:
            records = (await consumer.poll(timeout_ms=1000)).get(place, [])
            found.extend(record.timestamp for record in records if record.offset < part.end)
    return found


async def _produce(bootstrap: str, topic: str, counts: list[tuple[int, int]]) -> None:
    async with Producer(bootstrap_servers=bootstrap, acks="all") as producer:
        for minute, count in sorted(counts):
            value = json.dumps({"minute": minute * _MINUTE_MS, "count": count}).encode()
            await producer.send(topic, value, key=str(minute).encode())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4]))
