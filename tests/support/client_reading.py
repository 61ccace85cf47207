"""Reading what a test has written, with the SDK's own consumer."""

import asyncio
import time
from typing import Any

from tests.support.waiting import WAIT_S
from tidelog.client import Consumer, ConsumerRecord, TopicPartition


async def read_all(
    bootstrap: str, topic: str, count: int, isolation_level: str = "read_uncommitted"
) -> list[ConsumerRecord]:
    """All records of a topic, partition by partition; fails unless there are so many in the end."""
    settings: dict[str, Any] = {"auto_offset_reset": "earliest", "isolation_level": isolation_level}
    async with Consumer(bootstrap_servers=bootstrap, **settings) as consumer:
        partitions = [TopicPartition(topic, each.partition) for each in await consumer.partitions_for(topic)]
        consumer.assign(partitions)
        found: dict[TopicPartition, list[ConsumerRecord]] = {each: [] for each in partitions}
        end = time.monotonic() + WAIT_S
        while sum(map(len, found.values())) < count:
            assert time.monotonic() < end, f"{sum(map(len, found.values()))} of {count} records"
            for partition, records in (await consumer.poll(200)).items():
                found[partition] += records
        await asyncio.sleep(0)
        for partition, records in (await consumer.poll(50)).items():
            found[partition] += records
    everything = [record for records in found.values() for record in records]
    assert len(everything) == count
    return everything
