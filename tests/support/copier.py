"""A program that copies one topic to another exactly once: `python -m tests.support.copier BOOTSTRAP GROUP FROM TO ID`.

It reads, transforms, writes, and commits what it has read in one transaction at a time, until it is killed.
"""

import sys

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

_BATCH = 500
_WAIT_S = 30.0


def main(bootstrap: str, group: str, source: str, target: str, transactional_id: str) -> None:
    producer = Producer(
        {"bootstrap.servers": bootstrap, "transactional.id": transactional_id, "transaction.timeout.ms": 10_000}
    )
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "session.timeout.ms": 6_000,
            "heartbeat.interval.ms": 500,
        }
    )
    producer.init_transactions(_WAIT_S)
    consumer.subscribe([source])
    while True:
        messages = [each for each in consumer.consume(_BATCH, 0.2) if each.error() is None]
        if messages:
            _copy(consumer, producer, messages, target)


def _copy(consumer: Consumer, producer: Producer, messages: list[Message], target: str) -> None:
    producer.begin_transaction()
    try:
        for message in messages:
            producer.produce(target, message.value(), message.key(), partition=message.partition() or 0)
            producer.poll(0)
        producer.send_offsets_to_transaction(_positions(messages), consumer.consumer_group_metadata(), _WAIT_S)
        _commit(producer)
    except KafkaException as refused:
        error: KafkaError = refused.args[0]
        if error.fatal() or not error.txn_requires_abort():
            raise
        producer.abort_transaction(_WAIT_S)
        _go_back(consumer)


def _commit(producer: Producer) -> None:
    while True:
        try:
            producer.commit_transaction(_WAIT_S)
        except KafkaException as refused:
            if not refused.args[0].retriable():
                raise
        else:
            return


def _positions(messages: list[Message]) -> list[TopicPartition]:
    ends: dict[tuple[str, int], int] = {}
    for message in messages:
        ends[message.topic() or "", message.partition() or 0] = (message.offset() or 0) + 1
    return [TopicPartition(topic, partition, offset) for (topic, partition), offset in ends.items()]


def _go_back(consumer: Consumer) -> None:
    """Read again what the aborted transaction had read."""
    for committed in consumer.committed(consumer.assignment(), _WAIT_S):
        consumer.seek(TopicPartition(committed.topic, committed.partition, max(committed.offset, 0)))


if __name__ == "__main__":
    main(*sys.argv[1:])
