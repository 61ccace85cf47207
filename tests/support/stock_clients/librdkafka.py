"""librdkafka, in the shape of confluent-kafka."""

from collections.abc import Sequence
from typing import Any

import confluent_kafka
import confluent_kafka.admin

from tests.support.stock_clients.interface import CODECS, MESSAGE_BYTES_MAX, Message
from tests.support.waiting import WAIT_S

# Its stubs do not tell what it exports.
confluent_admin: Any = confluent_kafka.admin


class Confluent:
    """librdkafka, as confluent-kafka has it."""

    name = "confluent-kafka"
    codecs: Sequence[str] = CODECS
    writes_null_headers = True

    def produce(
        self, bootstrap: str, topic: str, messages: Sequence[Message], codec: str = "none", *, idempotent: bool = False
    ) -> list[int]:
        offsets: list[int] = []

        def delivered(error: Any, message: Any) -> None:
            assert error is None, error
            offsets.append(message.offset())

        producer = confluent_kafka.Producer(
            _rdkafka(
                bootstrap,
                **{
                    "compression.codec": codec,
                    "enable.idempotence": idempotent,
                    "message.max.bytes": MESSAGE_BYTES_MAX,
                },
            )
        )
        for one in messages:
            producer.produce(
                topic,
                one.value,
                one.key,
                partition=0,
                headers=list(one.headers),
                timestamp=one.timestamp_ms,
                on_delivery=delivered,
            )
        assert producer.flush(WAIT_S) == 0
        return offsets

    def consume(self, bootstrap: str, topic: str, start: int, count: int) -> list[Message]:
        consumer = _consumer(bootstrap)
        try:
            consumer.assign([confluent_kafka.TopicPartition(topic, 0, start)])
            found: list[Message] = []
            while len(found) < count:
                got = consumer.consume(count - len(found), WAIT_S)
                assert got, f"nothing more after {len(found)}"
                assert not [one.error() for one in got if one.error()]
                found += [
                    Message(one.key(), one.value(), one.timestamp()[1], tuple(one.headers() or ())) for one in got
                ]
            return found
        finally:
            consumer.close()

    def offset_at(self, bootstrap: str, topic: str, timestamp_ms: int) -> int | None:
        consumer = _consumer(bootstrap)
        try:
            asked = confluent_kafka.TopicPartition(topic, 0, timestamp_ms)
            offset = consumer.offsets_for_times([asked], WAIT_S)[0].offset
            return int(offset) if offset >= 0 else None
        finally:
            consumer.close()

    def ends(self, bootstrap: str, topic: str) -> tuple[int, int]:
        consumer = _consumer(bootstrap)
        try:
            low, high = consumer.get_watermark_offsets(confluent_kafka.TopicPartition(topic, 0), WAIT_S)
            return low, high
        finally:
            consumer.close()

    def create(self, bootstrap: str, topic: str, partitions: int, configs: dict[str, str]) -> None:
        new = confluent_admin.NewTopic(topic, partitions, 1, config=configs)
        admin = confluent_admin.AdminClient(_rdkafka(bootstrap))
        admin.create_topics([new])[topic].result(WAIT_S)

    def delete(self, bootstrap: str, topic: str) -> None:
        admin = confluent_admin.AdminClient(_rdkafka(bootstrap))
        admin.delete_topics([topic])[topic].result(WAIT_S)

    def topics(self, bootstrap: str) -> dict[str, int]:
        listed = confluent_admin.AdminClient(_rdkafka(bootstrap)).list_topics(timeout=WAIT_S).topics
        return {name: len(topic.partitions) for name, topic in listed.items()}

    def set_config(self, bootstrap: str, topic: str, name: str, value: str) -> None:
        entry = confluent_admin.ConfigEntry(name, value, incremental_operation=confluent_admin.AlterConfigOpType.SET)
        resource = confluent_admin.ConfigResource(
            confluent_admin.ConfigResource.Type.TOPIC, topic, incremental_configs=[entry]
        )
        admin = confluent_admin.AdminClient(_rdkafka(bootstrap))
        admin.incremental_alter_configs([resource])[resource].result(WAIT_S)

    def config(self, bootstrap: str, topic: str, name: str) -> str | None:
        resource = confluent_admin.ConfigResource(confluent_admin.ConfigResource.Type.TOPIC, topic)
        admin = confluent_admin.AdminClient(_rdkafka(bootstrap))
        found = admin.describe_configs([resource])[resource].result(WAIT_S)
        value: str | None = found[name].value
        return value


def _rdkafka(bootstrap: str, **more: Any) -> dict[str, Any]:
    return {"bootstrap.servers": bootstrap, "broker.address.family": "v4", **more}


def _consumer(bootstrap: str) -> Any:
    return confluent_kafka.Consumer(
        _rdkafka(bootstrap, **{"group.id": "unused", "enable.auto.commit": False, "check.crcs": True})
    )
