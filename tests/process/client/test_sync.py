"""The twins without `await`."""

import threading
from collections.abc import Callable

import pytest

from tidelog.client import (
    ClosedError,
    IllegalStateError,
    NewTopic,
    RebalanceListener,
    RecordMetadata,
    TopicPartition,
    WrongArgumentError,
)
from tidelog.client.core.transaction import TransactionState
from tidelog.client.sync import Admin, Consumer, Producer

MakeTopic = Callable[..., str]


def test_sending_and_reading(bootstrap: str, topic: str) -> None:
    told: list[RecordMetadata | None] = []
    with Producer(bootstrap_servers=bootstrap, value_serializer=str.encode) as producer:
        assert producer.send(topic, "first").result() == (topic, 0, 0, told_time(producer, topic))
        deliveries = [
            producer.send(topic, str(number), callback=lambda metadata, error: told.append(metadata))
            for number in range(1000)
        ]
        producer.flush()
        assert [delivery.result().offset for delivery in deliveries] == list(range(2, 1002))
        assert len(told) == 1000
        with pytest.raises(WrongArgumentError, match=r"partition: topic .* has no partition 7"):
            producer.send(topic, "v", partition=7).result()
        with pytest.raises(WrongArgumentError, match="topic"):
            producer.send("", "v")
    with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        seen: list[bytes] = []
        while len(seen) < 1002:
            seen += [record.value for records in consumer.poll().values() for record in records]
        assert seen[2:] == [str(number).encode() for number in range(1000)]
        assert consumer.lag(TopicPartition(topic, 0)) == 0
        consumer.seek(TopicPartition(topic, 0), 5)
        assert next(iter(consumer)).offset == 5
        assert consumer.position(TopicPartition(topic, 0)) == 6
    with pytest.raises(ClosedError):
        consumer.poll()
    with pytest.raises(ClosedError):
        producer.send(topic, "v")


def told_time(producer: Producer, topic: str) -> int:
    """The time of the record at offset 0, which the next record's cannot be before."""
    producer.send(topic, "second").result()
    with Consumer(
        bootstrap_servers=producer._client.config.bootstrap_servers, auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        return next(iter(consumer)).timestamp


def test_several_threads_share_a_producer(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(3)
    with Producer(bootstrap_servers=bootstrap) as producer:
        threads = [threading.Thread(target=lambda: [producer.send(topic, b"v") for _ in range(500)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with Consumer(bootstrap_servers=bootstrap) as consumer:
        ends = consumer.end_offsets([TopicPartition(topic, number) for number in range(3)])
    assert sum(ends.values()) == 2000


def test_an_iteration_that_stops_early_commits_what_it_gave(bootstrap: str, topic: str, name: str) -> None:
    partition = TopicPartition(topic, 0)
    with Producer(bootstrap_servers=bootstrap) as producer:
        for _ in range(50):
            producer.send(topic, b"v")
    events: list[str] = []

    class Listener(RebalanceListener):
        def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None:
            # A listener may use the consumer, also for what waits.
            events.append(f"assigned at {consumer.position(partitions[0])}")

    with Consumer(bootstrap_servers=bootstrap, group_id=name, auto_offset_reset="earliest") as consumer:
        consumer.subscribe([topic], listener=Listener())
        for number, _ in enumerate(consumer, 1):
            if number == 5:
                assert (consumer.lag(partition), consumer.lead(partition)) == (45, 5)
                assert consumer.lags() == {partition: 45}
                assert consumer.consumed()[partition].offset == 5
                consumer.commit()
            if number == 9:
                break
        found = consumer.committed([partition])[partition]
        assert found is not None
        assert found.offset == 5
    with Consumer(bootstrap_servers=bootstrap, group_id=name) as consumer:
        found = consumer.committed([partition])[partition]
        assert found is not None
        assert found.offset == 9
    assert events == ["assigned at 0"]


def test_transactions(bootstrap: str, topic: str, name: str) -> None:
    with Producer(bootstrap_servers=bootstrap, transactional_id=name) as producer:
        with pytest.raises(IllegalStateError, match="send: the transaction is ready"):
            producer.send(topic, b"v")
        with producer.transaction():
            producer.send(topic, b"kept")
        producer.begin_transaction()
        assert producer.transaction_state is TransactionState.IN_TRANSACTION
        producer.send(topic, b"dropped").result()
        producer.abort_transaction()
    with Consumer(
        bootstrap_servers=bootstrap, auto_offset_reset="earliest", isolation_level="read_committed"
    ) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        assert next(iter(consumer)).value == b"kept"
        assert consumer.poll(300) == {}


def test_administering(bootstrap: str, name: str) -> None:
    with Admin(bootstrap_servers=bootstrap) as admin:
        admin.create_topics([NewTopic(name, 2, 1)])
        assert name in admin.list_topics()
        admin.delete_topics([name])
    with pytest.raises(IllegalStateError, match="not started"):
        Admin(bootstrap_servers=bootstrap).list_topics()
