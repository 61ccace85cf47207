"""aiokafka, each call in an event loop of its own."""

import asyncio
from collections.abc import Sequence
from typing import Any

import aiokafka
import aiokafka.admin

from tests.support.stock_clients.interface import CODECS, MESSAGE_BYTES_MAX, Message
from tests.support.waiting import WAIT_S


class Aiokafka:
    name = "aiokafka"
    codecs: Sequence[str] = CODECS
    writes_null_headers = True

    def produce(
        self, bootstrap: str, topic: str, messages: Sequence[Message], codec: str = "none", *, idempotent: bool = False
    ) -> list[int]:
        async def run() -> list[int]:
            producer = aiokafka.AIOKafkaProducer(
                bootstrap_servers=bootstrap,
                compression_type=None if codec == "none" else codec,
                enable_idempotence=idempotent,
                max_request_size=MESSAGE_BYTES_MAX,
            )
            await producer.start()
            try:
                sent = [
                    await producer.send(
                        topic, one.value, one.key, partition=0, timestamp_ms=one.timestamp_ms, headers=list(one.headers)
                    )
                    for one in messages
                ]
                return [(await future).offset for future in sent]
            finally:
                await producer.stop()

        return asyncio.run(run())

    def consume(self, bootstrap: str, topic: str, start: int, count: int) -> list[Message]:
        partition = aiokafka.TopicPartition(topic, 0)

        async def use(consumer: aiokafka.AIOKafkaConsumer) -> list[Message]:
            consumer.assign([partition])
            consumer.seek(partition, start)
            got = [await asyncio.wait_for(consumer.getone(), WAIT_S) for _ in range(count)]
            return [Message(one.key, one.value, one.timestamp, tuple(one.headers)) for one in got]

        found: list[Message] = _with_consumer(bootstrap, use)
        return found

    def offset_at(self, bootstrap: str, topic: str, timestamp_ms: int) -> int | None:
        partition = aiokafka.TopicPartition(topic, 0)

        async def use(consumer: aiokafka.AIOKafkaConsumer) -> int | None:
            found = (await consumer.offsets_for_times({partition: timestamp_ms}))[partition]
            return None if found is None else int(found.offset)

        offset: int | None = _with_consumer(bootstrap, use)
        return offset

    def ends(self, bootstrap: str, topic: str) -> tuple[int, int]:
        partition = aiokafka.TopicPartition(topic, 0)

        async def use(consumer: aiokafka.AIOKafkaConsumer) -> tuple[int, int]:
            low = (await consumer.beginning_offsets([partition]))[partition]
            return low, (await consumer.end_offsets([partition]))[partition]

        both: tuple[int, int] = _with_consumer(bootstrap, use)
        return both

    def create(self, bootstrap: str, topic: str, partitions: int, configs: dict[str, str]) -> None:
        new = aiokafka.admin.NewTopic(topic, partitions, 1, topic_configs=configs)
        answer = _administered(bootstrap, "create_topics", [new])
        assert [one[1] for one in answer.topic_errors] == [0], answer

    def delete(self, bootstrap: str, topic: str) -> None:
        answer = _administered(bootstrap, "delete_topics", [topic])
        assert [one[1] for one in answer.topic_error_codes] == [0], answer

    def topics(self, bootstrap: str) -> dict[str, int]:
        described = _administered(bootstrap, "describe_topics")
        return {one["topic"]: len(one["partitions"]) for one in described}

    def set_config(self, bootstrap: str, topic: str, name: str, value: str) -> None:
        resource = aiokafka.admin.config_resource.ConfigResource(
            aiokafka.admin.config_resource.ConfigResourceType.TOPIC, topic, {name: value}
        )
        _administered(bootstrap, "alter_configs", [resource])

    def config(self, bootstrap: str, topic: str, name: str) -> str | None:
        resource = aiokafka.admin.config_resource.ConfigResource(
            aiokafka.admin.config_resource.ConfigResourceType.TOPIC, topic
        )
        (answer,) = _administered(bootstrap, "describe_configs", [resource])
        value: str | None = next(entry[1] for entry in answer.resources[0][4] if entry[0] == name)
        return value


def _with_consumer(bootstrap: str, use: Any) -> Any:
    async def run() -> Any:
        consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=bootstrap, check_crcs=True)
        await consumer.start()
        try:
            return await use(consumer)
        finally:
            await consumer.stop()

    return asyncio.run(run())


def _administered(bootstrap: str, method: str, *arguments: Any) -> Any:
    async def run() -> Any:
        admin = aiokafka.admin.AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        await admin.start()
        try:
            return await getattr(admin, method)(*arguments)
        finally:
            await admin.close()

    return asyncio.run(run())
