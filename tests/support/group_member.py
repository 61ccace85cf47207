"""A member of a consumer group made of a stock client, as a process of its own that can be stopped and killed.

    python -m tests.support.group_member CLIENT STRATEGY BOOTSTRAP GROUP TOPIC SESSION_MS [INSTANCE_ID]

It tells what happens to it in lines of JSON, in the words of Kafka's own VerifiableConsumer, and takes two commands on its
standard input: `commit sync` and `commit async`, both of what it has read. SIGTERM makes it leave the group.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

HEARTBEAT_MS = 500
POLL_MS = 100


@dataclass
class Wish:
    client: str
    strategy: str
    bootstrap: str
    group: str
    topic: str
    session_ms: int
    instance_id: str | None = None


@dataclass
class Teller:
    """What every client has in common: events out, commands in."""

    positions: dict[int, int] = field(default_factory=dict)
    owned: set[int] = field(default_factory=set)
    is_stopped: bool = False
    _rest: str = ""

    def __post_init__(self) -> None:
        os.set_blocking(sys.stdin.fileno(), False)
        signal.signal(signal.SIGTERM, self._stop)

    def _stop(self, *_: object) -> None:
        self.is_stopped = True

    def tell(self, name: str, **more: object) -> None:
        sys.stdout.write(json.dumps({"name": name, **more}) + "\n")
        sys.stdout.flush()

    def assigned(self, partitions: Iterable[int]) -> None:
        given = set(partitions)
        self.owned |= given
        self.tell("partitions_assigned", partitions=[{"partition": each} for each in sorted(given)])

    def revoked(self, partitions: Iterable[int]) -> None:
        taken = set(partitions)
        self.owned -= taken
        self.tell("partitions_revoked", partitions=[{"partition": each} for each in sorted(taken)])

    def to_commit(self) -> dict[int, int]:
        """How far it has read what it has; some clients refuse by themselves to commit anything else."""
        return {each: offset for each, offset in self.positions.items() if each in self.owned}

    def read(self, partition: int, offset: int) -> None:
        self.positions[partition] = offset + 1
        self.tell("records_consumed", count=1)

    def committed(self, error: object = None) -> None:
        self.tell("offsets_committed", success=error is None, error=None if error is None else str(error))

    def commands(self) -> list[str]:
        try:
            self._rest += os.read(sys.stdin.fileno(), 4096).decode()
        except BlockingIOError:
            return []
        *lines, self._rest = self._rest.split("\n")
        return lines


def confluent(wish: Wish, teller: Teller) -> None:
    from confluent_kafka import Consumer, KafkaException, TopicPartition

    settings: dict[str, Any] = {
        "bootstrap.servers": wish.bootstrap,
        "group.id": wish.group,
        "partition.assignment.strategy": wish.strategy,
        "session.timeout.ms": wish.session_ms,
        "heartbeat.interval.ms": HEARTBEAT_MS,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "on_commit": lambda error, _: teller.committed(error),
        **({"group.instance.id": wish.instance_id} if wish.instance_id else {}),
    }
    consumer = Consumer(settings)
    consumer.subscribe(
        [wish.topic],
        on_assign=lambda _, parts: teller.assigned(each.partition for each in parts),
        on_revoke=lambda _, parts: teller.revoked(each.partition for each in parts),
        on_lost=lambda _, parts: teller.revoked(each.partition for each in parts),
    )
    while not teller.is_stopped:
        message = consumer.poll(POLL_MS / 1000)
        if message is not None and message.error() is None:
            partition, offset = message.partition(), message.offset()
            assert partition is not None
            assert offset is not None
            teller.read(partition, offset)
        for command in teller.commands():
            # This client asks the coordinator whatever it is told to commit, also what was just taken from it.
            offsets = [TopicPartition(wish.topic, each, offset) for each, offset in teller.positions.items()]
            try:
                if command == "commit async":
                    consumer.commit(offsets=offsets, asynchronous=True)
                else:
                    consumer.commit(offsets=offsets, asynchronous=False)
                    teller.committed()
            except KafkaException as error:
                teller.committed(error)
    consumer.close()


def kafka_python(wish: Wish, teller: Teller) -> None:
    from kafka import ConsumerRebalanceListener, KafkaConsumer, OffsetAndMetadata, TopicPartition
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
    from kafka.coordinator.assignors.range import RangePartitionAssignor
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
    from kafka.errors import KafkaError

    assignors = {
        "range": RangePartitionAssignor,
        "roundrobin": RoundRobinPartitionAssignor,
        "sticky": StickyPartitionAssignor,
        "cooperative-sticky": CooperativeStickyAssignor,
    }

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
        def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
            teller.assigned(each.partition for each in assigned)

        def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
            teller.revoked(each.partition for each in revoked)

    consumer = KafkaConsumer(
        bootstrap_servers=wish.bootstrap,
        group_id=wish.group,
        group_instance_id=wish.instance_id,
        partition_assignment_strategy=[assignors[wish.strategy]],
        session_timeout_ms=wish.session_ms,
        heartbeat_interval_ms=HEARTBEAT_MS,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    consumer.subscribe([wish.topic], listener=Listener())
    while not teller.is_stopped:
        for partition, records in consumer.poll(timeout_ms=POLL_MS).items():
            for record in records:
                teller.read(partition.partition, record.offset)
        for command in teller.commands():
            offsets = {
                TopicPartition(wish.topic, each): OffsetAndMetadata(offset, "", -1)
                for each, offset in teller.to_commit().items()
            }
            if command == "commit async":
                consumer.commit_async(
                    offsets,
                    callback=lambda _, answer: teller.committed(answer if isinstance(answer, Exception) else None),
                )
                continue
            try:
                consumer.commit(offsets)
            except KafkaError as error:
                teller.committed(repr(error))
            else:
                teller.committed()
    consumer.close()


def aiokafka(wish: Wish, teller: Teller) -> None:
    asyncio.run(_aiokafka(wish, teller))


async def _aiokafka(wish: Wish, teller: Teller) -> None:
    from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor
    from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
    from aiokafka.errors import KafkaError

    assignors = {
        "range": RangePartitionAssignor,
        "roundrobin": RoundRobinPartitionAssignor,
        "sticky": StickyPartitionAssignor,
    }

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
        def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
            teller.assigned(each.partition for each in assigned)

        def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
            teller.revoked(each.partition for each in revoked)

    consumer = AIOKafkaConsumer(
        bootstrap_servers=wish.bootstrap,
        group_id=wish.group,
        group_instance_id=wish.instance_id,
        partition_assignment_strategy=(assignors[wish.strategy],),
        session_timeout_ms=wish.session_ms,
        heartbeat_interval_ms=HEARTBEAT_MS,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )

    async def commit() -> None:
        offsets = {TopicPartition(wish.topic, each): offset for each, offset in teller.to_commit().items()}
        try:
            await consumer.commit(offsets)
        except KafkaError as error:
            teller.committed(repr(error))
        else:
            teller.committed()

    consumer.subscribe([wish.topic], listener=Listener())
    await consumer.start()
    under_way: set[asyncio.Task[None]] = set()
    while not teller.is_stopped:
        for partition, records in (await consumer.getmany(timeout_ms=POLL_MS)).items():
            for record in records:
                teller.read(partition.partition, record.offset)
        for command in teller.commands():
            task = asyncio.create_task(commit())
            under_way.add(task)
            task.add_done_callback(under_way.discard)
            if command == "commit sync":
                await task
    await consumer.stop()


CLIENTS: dict[str, Callable[[Wish, Teller], None]] = {
    "confluent": confluent,
    "kafka-python": kafka_python,
    "aiokafka": aiokafka,
}


def main() -> None:
    client, strategy, bootstrap, group, topic, session_ms, *instance = sys.argv[1:]
    wish = Wish(client, strategy, bootstrap, group, topic, int(session_ms), *instance)
    CLIENTS[client](wish, Teller())


if __name__ == "__main__":
    main()
