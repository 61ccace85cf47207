"""A replicated cluster in the hands of a test: topics with chosen replicas, what ZooKeeper says of them, real clients."""

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from tests.support.batches import batch
from tests.support.cluster_view import Zookeeper
from tests.support.kafka_calls import call
from tests.support.services import Service
from tests.support.waiting import WAIT_S, eventually
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.records.record import Record
from tidelog.kafka.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tidelog.kafka.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tidelog.kafka.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

TIMEOUT_MS = 20_000


@dataclass
class Replicated:
    """The brokers by id, and ZooKeeper beside them."""

    brokers: dict[int, Service]
    zk: Zookeeper
    bootstrap: str = field(init=False)

    def __post_init__(self) -> None:
        self.bootstrap = ",".join(broker.kafka for broker in self.brokers.values())

    def create(self, name: str, *replicas: int, configs: dict[str, str] | None = None) -> str:
        """A topic of one partition on these brokers, the first of which leads; gives its name."""
        asked = CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=list(replicas))],
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()],
        )
        request = CreateTopicsRequest(topics=[asked], timeout_ms=TIMEOUT_MS)
        assert [topic.error_code for topic in call(self._any_live(), request, 7).topics] == [KafkaCode.NONE]
        return name

    def state(self, topic: str) -> dict[str, Any]:
        """The state znode of partition 0."""
        data, _ = self.zk.client.get(f"/brokers/topics/{topic}/partitions/0/state")
        return dict(json.loads(data))

    def leader(self, topic: str) -> int:
        return int(self.state(topic)["leader"])

    def isr(self, topic: str) -> set[int]:
        return set(self.state(topic)["isr"])

    def isr_known_to(self, broker_id: int, topic: str) -> set[int]:
        """The in-sync set that a broker tells clients. It hears of it after it has acted on it as a leader."""
        request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
        return set(call(self.brokers[broker_id], request, 12).topics[0].partitions[0].isr_nodes)

    def produce(self, topic: str, value: bytes, *, acks: int = -1, timeout_ms: int = TIMEOUT_MS) -> KafkaCode:
        """One record through whoever leads at the moment; what became of it."""
        data = PartitionProduceData(index=0, records=batch(Record(None, value)))
        request = ProduceRequest(
            acks=acks, timeout_ms=timeout_ms, topic_data=[TopicProduceData(name=topic, partition_data=[data])]
        )
        answer = call(self.brokers[self.leader(topic)], request, 9)
        return KafkaCode(answer.responses[0].partition_responses[0].error_code)

    def read(self, topic: str, count: int) -> list[bytes]:
        """The first so many values of partition 0, by a real client."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "none",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
            }
        )
        consumer.assign([TopicPartition(topic, 0, 0)])
        try:
            return _values(consumer, count)
        finally:
            consumer.close()

    def logs(self, topic: str) -> set[bytes]:
        """What is in the log files of all brokers: one content if they agree."""
        folders = [Path(broker.settings["log.dirs"]) / f"{topic}-0" for broker in self.brokers.values()]
        return {(folder / f"{0:020d}.log").read_bytes() for folder in folders}

    def _any_live(self) -> Service:
        return next(each for each in self.brokers.values() if each.process.poll() is None)


def _values(consumer: Consumer, count: int) -> list[bytes]:
    values: list[bytes] = []

    def is_done() -> bool:
        messages = consumer.consume(500, 0.2)
        values.extend(message.value() or b"" for message in messages if message.error() is None)
        return len(values) >= count

    if count:
        eventually(is_done)
    return values[:count]


class Writer:
    """Writes 0, 1, 2, ... as a producer of librdkafka until it is stopped; one that is idempotent if it waits for all."""

    def __init__(self, bootstrap: str, topic: str, acks: str = "all") -> None:
        self.acked: list[bytes] = []
        self.errors: list[str] = []
        self._topic = topic
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "acks": acks,
                "enable.idempotence": acks == "all",
                "linger.ms": 0,
                "retry.backoff.ms": 20,
                "topic.metadata.refresh.interval.ms": 1000,
            }
        )
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def wait_for(self, more: int) -> None:
        """Until so many more records are acknowledged than now."""
        wanted = len(self.acked) + more
        eventually(lambda: len(self.acked) >= wanted)

    def stop(self) -> Sequence[bytes]:
        self._over.set()
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive(), "the producer hangs"
        return self.acked

    def _run(self) -> None:
        number = 0
        while not self._over.is_set():
            self._producer.produce(self._topic, str(number).encode(), partition=0, on_delivery=self._on_delivery)
            self._producer.poll(0.002)
            number += 1
        self._producer.flush(WAIT_S)

    def _on_delivery(self, error: Any, message: Any) -> None:
        if error is not None:
            self.errors.append(str(error))
        else:
            self.acked.append(message.value())
