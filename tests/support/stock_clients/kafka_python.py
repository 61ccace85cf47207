"""kafka-python."""

import warnings
from collections.abc import Sequence
from typing import Any

from tests.support.stock_clients.interface import CODECS, MESSAGE_BYTES_MAX, Message
from tests.support.waiting import WAIT_S

with warnings.catch_warnings():
    # It reads the definitions of its messages by a function that Python means to drop.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka
    import kafka.admin
    import kafka.codec


class KafkaPython:
    name = "kafka-python"
    # The others need packages that it does not bring with it.
    codecs: Sequence[str] = tuple(one for one in CODECS if one == "none" or getattr(kafka.codec, f"has_{one}")())
    writes_null_headers = False

    def produce(
        self, bootstrap: str, topic: str, messages: Sequence[Message], codec: str = "none", *, idempotent: bool = False
    ) -> list[int]:
        producer = kafka.KafkaProducer(
            bootstrap_servers=bootstrap,
            compression_type=None if codec == "none" else codec,
            enable_idempotence=idempotent,
            max_request_size=MESSAGE_BYTES_MAX,
        )
        try:
            sent = [
                producer.send(topic, one.value, one.key, list(one.headers), 0, one.timestamp_ms) for one in messages
            ]
            return [future.get(WAIT_S).offset for future in sent]
        finally:
            producer.close(WAIT_S)

    def consume(self, bootstrap: str, topic: str, start: int, count: int) -> list[Message]:
        consumer = self._consumer(bootstrap)
        partition = kafka.TopicPartition(topic, 0)
        try:
            consumer.assign([partition])
            consumer.seek(partition, start)
            found: list[Message] = []
            while len(found) < count:
                got = consumer.poll(timeout_ms=int(WAIT_S * 1000), max_records=count - len(found))
                assert got, f"nothing more after {len(found)}"
                found += [
                    Message(one.key, one.value, one.timestamp, tuple(one.headers))
                    for ones in got.values()
                    for one in ones
                ]
            return found
        finally:
            consumer.close()

    def offset_at(self, bootstrap: str, topic: str, timestamp_ms: int) -> int | None:
        consumer = self._consumer(bootstrap)
        partition = kafka.TopicPartition(topic, 0)
        try:
            found = consumer.offsets_for_times({partition: timestamp_ms})[partition]
            return None if found is None else int(found.offset)
        finally:
            consumer.close()

    def ends(self, bootstrap: str, topic: str) -> tuple[int, int]:
        consumer = self._consumer(bootstrap)
        partition = kafka.TopicPartition(topic, 0)
        try:
            return (
                consumer.beginning_offsets([partition])[partition],
                consumer.end_offsets([partition])[partition],
            )
        finally:
            consumer.close()

    def create(self, bootstrap: str, topic: str, partitions: int, configs: dict[str, str]) -> None:
        new = kafka.admin.NewTopic(topic, partitions, 1, topic_configs=configs)
        self._administer(bootstrap, "create_topics", [new])

    def delete(self, bootstrap: str, topic: str) -> None:
        self._administer(bootstrap, "delete_topics", [topic])

    def topics(self, bootstrap: str) -> dict[str, int]:
        described = self._administer(bootstrap, "describe_topics")
        return {one["name"]: len(one["partitions"]) for one in described}

    def set_config(self, bootstrap: str, topic: str, name: str, value: str) -> None:
        resource = kafka.admin.ConfigResource(kafka.admin.ConfigResourceType.TOPIC, topic, {name: value})
        self._administer(bootstrap, "alter_configs", [resource])

    def config(self, bootstrap: str, topic: str, name: str) -> str | None:
        resource = kafka.admin.ConfigResource(kafka.admin.ConfigResourceType.TOPIC, topic)
        described = self._administer(bootstrap, "describe_configs", [resource], config_filter="all")
        value: str | None = described["topic"][topic][name]["value"]
        return value

    def _consumer(self, bootstrap: str) -> Any:
        return kafka.KafkaConsumer(bootstrap_servers=bootstrap, group_id=None, enable_auto_commit=False)

    def _administer(self, bootstrap: str, method: str, *arguments: Any, **named: Any) -> Any:
        admin = kafka.KafkaAdminClient(bootstrap_servers=bootstrap)
        try:
            return getattr(admin, method)(*arguments, **named)
        finally:
            admin.close()
