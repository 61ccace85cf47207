"""`helm test`: produces, consumes what was produced, and reads it again as a member of a group.

smoke_test.py BOOTSTRAP
"""

import asyncio
import sys
import uuid

from tidelog.client.consumer import Consumer
from tidelog.client.producer import Producer
from tidelog.client.records import TopicPartition

TOPIC = "helm-test"
COUNT = 100
_S_MAX = 60.0


async def main(bootstrap: str) -> None:
    run = uuid.uuid4().hex[:8]
    values = {f"{run}-{number}".encode() for number in range(COUNT)}
    async with asyncio.timeout(_S_MAX):
        places = await _produce(bootstrap, sorted(values))
        print(f"produced {COUNT} records to {TOPIC}")
        await _consume(bootstrap, places, set(values))
        print("consumed them by offset")
        await _join(bootstrap, run, set(values))
        print("consumed them as a member of a group, and committed")


async def _produce(bootstrap: str, values: list[bytes]) -> dict[TopicPartition, int]:
    """The first offset of ours in each partition."""
    places: dict[TopicPartition, int] = {}
    async with Producer(bootstrap_servers=bootstrap, acks="all") as producer:
        for written in await asyncio.gather(*[producer.send(TOPIC, value) for value in values]):
            place = TopicPartition(written.topic, written.partition)
            places[place] = min(places.get(place, written.offset), written.offset)
    return places


async def _consume(bootstrap: str, places: dict[TopicPartition, int], missing: set[bytes]) -> None:
    async with Consumer(bootstrap_servers=bootstrap) as consumer:
        consumer.assign(list(places))
        for place, offset in places.items():
            consumer.seek(place, offset)
        async for record in consumer:
            missing.discard(record.value)
            if not missing:
                return


async def _join(bootstrap: str, run: str, missing: set[bytes]) -> None:
    async with Consumer(
        bootstrap_servers=bootstrap, group_id=f"helm-test-{run}", auto_offset_reset="earliest"
    ) as consumer:
        consumer.subscribe([TOPIC])
        async for record in consumer:
            missing.discard(record.value)
            if not missing:
                await consumer.commit()
                return


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
