"""A producer sends numbered messages, a consumer reads them, and both say what they do."""

import asyncio
import time

from tidelog.cli.reading import until_signal
from tidelog.cli.target import Target
from tidelog.client import KafkaCode, KafkaError, NewTopic, RecordMetadata, TopicPartition

_PAUSE_S = 0.2


async def run(target: Target, topic: str, *, sync: bool, records: int | None) -> None:
    """Send until there are enough, or until a signal; the consumer ends when it has read all of them."""
    await _make_topic(target, topic)
    sent: list[int] = []
    with until_signal() as stopped:
        async with target.consumer() as consumer:
            numbers = [each.partition for each in await consumer.partitions_for(topic)]
            consumer.assign([TopicPartition(topic, number) for number in numbers])
            consumer.seek_to_end()
            for each in consumer.assignment():
                await consumer.position(each)
            sending = asyncio.create_task(_send(target, topic, sync, records, sent, stopped))
            seen = 0
            deadline = None
            while not sending.done() or seen < len(sent):
                for found in (await consumer.poll(200)).values():
                    for record in found:
                        seen += 1
                        print(
                            f"Received message: ({record.key.decode()}, {record.value.decode()}) at offset {record.offset}"
                        )
                if sending.done():
                    deadline = deadline or time.monotonic() + target.timeout_s
                    if time.monotonic() > deadline:
                        break
            await sending
    print(f"Sent {len(sent)}, received {seen}.")
    if seen < len(sent):
        raise KafkaError(KafkaCode.REQUEST_TIMED_OUT, f"{len(sent) - seen} messages did not come back")


async def _send(
    target: Target, topic: str, sync: bool, records: int | None, sent: list[int], stopped: asyncio.Event
) -> None:
    async with target.producer() as producer:
        number = 0
        while not stopped.is_set() and number != records:
            number += 1
            begun = time.perf_counter()
            delivery = producer.send(topic, f"Message_{number}".encode(), str(number).encode())

            def tell(
                metadata: RecordMetadata | None, _: BaseException | None, number: int = number, begun: float = begun
            ) -> None:
                if metadata is not None:
                    sent.append(number)
                    took_ms = (time.perf_counter() - begun) * 1000
                    place = f"partition({metadata.partition}), offset({metadata.offset})"
                    print(f"Sent message ({number}, Message_{number}) to {place} in {took_ms:.0f} ms")

            delivery.add_callback(tell)
            if sync:
                await delivery
            if records is None:
                await asyncio.sleep(_PAUSE_S)


async def _make_topic(target: Target, topic: str) -> None:
    async with target.admin() as admin:
        try:
            await admin.create_topics([NewTopic(topic)])
        except KafkaError as error:
            if error.code is not KafkaCode.TOPIC_ALREADY_EXISTS:
                raise
