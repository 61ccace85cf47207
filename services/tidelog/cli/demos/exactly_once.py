"""Several instances copy a topic to another one, reading, writing and committing in one transaction; then all is counted."""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from tidelog.cli.printing import note, print_json
from tidelog.cli.target import Target
from tidelog.client import KafkaError, NewTopic, TopicPartition, TransactionAbortedError
from tidelog.local.faults import LocalError

_INPUT = "demo-input"
_OUTPUT = "demo-output"
_GROUP = "demo-exactly-once"
_PATIENCE_S = 120.0


@dataclass(frozen=True, slots=True)
class Wishes:
    """So many partitions, instances and records."""

    partitions: int
    instances: int
    records: int


async def run(target: Target, wishes: Wishes, *, json_output: bool) -> None:
    """Pre-populate, copy, verify, and tell the verdict; LocalError if a record is missing or there twice."""
    # Each run has topics of its own, so that what an earlier one left does not count.
    run_id = int(time.time() * 1000)
    names = [f"{name}-{run_id}" for name in (_INPUT, _OUTPUT, _GROUP)]
    note(f"Pre-populating {names[0]} with {wishes.records} records in {wishes.partitions} partitions.")
    await _populate(target, names, wishes)
    note(f"Running {wishes.instances} instances.")
    copied: Counter[int] = Counter()
    await _copy_all(target, names, wishes, copied)
    note("Verifying.")
    document = await _verify(target, names[1], wishes) | {"by_instance": [copied[n] for n in range(wishes.instances)]}
    async with target.admin() as admin:
        await admin.delete_topics(names[:2])
    if json_output:
        print_json(document)
    else:
        _tell(document)
    if not document["exactly_once"]:
        raise LocalError("Not every record was copied exactly once.")


async def _populate(target: Target, names: list[str], wishes: Wishes) -> None:
    async with target.admin() as admin:
        await admin.create_topics([NewTopic(name, wishes.partitions) for name in names[:2]])
    async with target.producer({"linger.ms": 5}) as producer:
        for number in range(wishes.records):
            text = str(number).encode()
            await producer.enqueue(names[0], b"value-" + text, text, partition=number % wishes.partitions)
        await producer.flush()


async def _copy_all(target: Target, names: list[str], wishes: Wishes, copied: Counter[int]) -> None:
    done = asyncio.Event()
    instances = [
        asyncio.create_task(_instance(target, names, number, copied, wishes.records, done))
        for number in range(wishes.instances)
    ]
    try:
        async with asyncio.timeout(_PATIENCE_S + wishes.records / 500):
            await asyncio.gather(*instances)
    except TimeoutError:
        raise LocalError(f"Only {copied.total()} of {wishes.records} records were copied in time.") from None
    finally:
        for each in instances:
            each.cancel()
        await asyncio.gather(*instances, return_exceptions=True)


async def _instance(
    target: Target, names: list[str], number: int, copied: Counter[int], wanted: int, done: asyncio.Event
) -> None:
    """One member of the group, with a transactional id of its own."""
    reading = {
        "group.id": names[2],
        "auto.offset.reset": "earliest",
        "enable.auto.commit": "false",
        "isolation.level": "read_committed",
    }
    async with (
        target.producer({"transactional.id": f"{names[2]}-{number}"}) as producer,
        target.consumer(reading) as consumer,
    ):
        consumer.subscribe([names[0]])
        while not done.is_set():
            found = await consumer.poll(200)
            if not found:
                continue
            try:
                count = await _copy(producer, consumer, names[1], found)
            except (KafkaError, TransactionAbortedError) as error:
                note(f"Instance {number} tries again: {error}")
                await _rewind(consumer)
                continue
            copied[number] += count
            if copied.total() >= wanted:
                done.set()


async def _copy(producer: Any, consumer: Any, output: str, found: dict[TopicPartition, list[Any]]) -> int:
    """One transaction: write what was read, and commit how far that was."""
    async with producer.transaction():
        for records in found.values():
            for record in records:
                await producer.enqueue(output, record.value, record.key, partition=record.partition)
        offsets = {partition: records[-1].offset + 1 for partition, records in found.items()}
        await producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
    return sum(map(len, found.values()))


async def _rewind(consumer: Any) -> None:
    """After an aborted transaction, go on from what is committed."""
    for partition, place in (await consumer.committed(consumer.assignment())).items():
        if place is None:
            consumer.seek_to_beginning(partition)
        else:
            consumer.seek(partition, place.offset)


async def _verify(target: Target, output: str, wishes: Wishes) -> dict[str, Any]:
    """Read the copy with read_committed: every record is there once, and in order within its partition."""
    seen: Counter[int] = Counter()
    in_order = True
    last: dict[int, int] = {}
    async with target.consumer({"isolation.level": "read_committed"}) as consumer:
        partitions = [TopicPartition(output, number) for number in range(wishes.partitions)]
        consumer.assign(partitions)
        consumer.seek_to_beginning()
        ends = await consumer.end_offsets(partitions)
        while any([await consumer.position(each) < ends[each] for each in partitions]):
            for partition, records in (await consumer.poll(500)).items():
                for record in records:
                    number = int(record.key)
                    seen[number] += 1
                    in_order &= number > last.get(partition.partition, -1)
                    last[partition.partition] = number
    missing = wishes.records - len(seen)
    twice = sum(1 for count in seen.values() if count > 1)
    return {
        "records": wishes.records,
        "copied": seen.total(),
        "missing": missing,
        "duplicates": twice,
        "in_order": in_order,
        "exactly_once": missing == 0 and twice == 0 and in_order,
    }


def _tell(document: dict[str, Any]) -> None:
    parts = ", ".join(f"instance {number}: {count}" for number, count in enumerate(document["by_instance"]))
    print(f"{document['copied']} records copied ({parts}).")
    print(
        f"{document['missing']} missing, {document['duplicates']} there twice, "
        f"{'in' if document['in_order'] else 'NOT in'} order within partitions."
    )
    print(f"Exactly once: {'yes' if document['exactly_once'] else 'NO'}")
