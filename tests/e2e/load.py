"""Runs inside the cluster with a stock client: produces numbered records while things break, and checks what came of them.

load.py create TOPIC PARTITIONS REPLICAS [KEY=VALUE...]
load.py place TOPIC BROKER,... [KEY=VALUE...]  one partition with replicas there
load.py send TOPIC COUNT                       records that all replicas in sync have
load.py commit TOPIC GROUP start|end           the offset of partition 0, for the group
load.py leader TOPIC PARTITION                 prints the id of the leading broker
load.py produce TOPIC SECONDS RATE RUN         prints {"acked": n, "failed": n, "longest_gap_s": s, ...}
load.py verify TOPIC RUN ACKED                 prints {"missing": n, "duplicated": n, "read": n}
load.py group TOPIC GROUP SECONDS              joins a group and reads; prints {"assigned": n, "read": n, ...}
load.py listen PORT                            accepts connections
"""

import json
import os
import socket
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

BOOTSTRAP = os.environ["BOOTSTRAP"]
_END_S_MAX = 90.0
_GAP_S_WORTH_TELLING = 0.2


def create(topic: str, partitions: str, replicas: str, *settings: str) -> None:
    config = dict(setting.split("=", 1) for setting in settings)
    admin = AdminClient({"bootstrap.servers": BOOTSTRAP})
    admin.create_topics([NewTopic(topic, int(partitions), int(replicas), config=config)])[topic].result(30)


def place(topic: str, brokers: str, *settings: str) -> None:
    config = dict(setting.split("=", 1) for setting in settings)
    placed = NewTopic(topic, 1, replica_assignment=[[int(broker) for broker in brokers.split(",")]], config=config)
    admin = AdminClient({"bootstrap.servers": BOOTSTRAP})  # not a temporary one: that would be gone before its answer
    admin.create_topics([placed])[topic].result(30)


def send(topic: str, count: str) -> None:
    producer, errors = Producer({"bootstrap.servers": BOOTSTRAP, "acks": "all"}), []
    for number in range(int(count)):
        producer.produce(topic, str(number), on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(60) == 0
    assert errors == [None] * int(count), errors


def commit(topic: str, name: str, where: str) -> None:
    consumer = Consumer({"bootstrap.servers": BOOTSTRAP, "group.id": name, "enable.auto.commit": False})
    offset = 0 if where == "start" else _end(consumer, topic, 0)
    consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    consumer.close()


def leader(topic: str, partition: str) -> None:
    metadata = AdminClient({"bootstrap.servers": BOOTSTRAP}).list_topics(topic, 30)
    _tell(metadata.topics[topic].partitions[int(partition)].leader)


class Acks:
    """When records were acknowledged, and the longest time in which none was."""

    def __init__(self) -> None:
        self.acked: list[int] = []
        self.failed: list[str] = []
        self.longest_gap_s = 0.0
        self.gaps: list[str] = []
        self._last = time.monotonic()

    def start(self) -> None:
        """Count from now on: getting a producer id is over."""
        self.longest_gap_s = 0.0
        self._last = time.monotonic()

    def on_delivery(self, number: int, error: object) -> None:
        if error is not None:
            self.failed.append(str(error))
            return
        now = time.monotonic()
        gap_s, self._last = now - self._last, now
        self.longest_gap_s = max(self.longest_gap_s, gap_s)
        if gap_s > _GAP_S_WORTH_TELLING:
            self.gaps.append(f"{gap_s:.2f} s until {datetime.now(UTC):%H:%M:%S.%f}")
        self.acked.append(number)


def produce(topic: str, seconds: str, rate: str, run: str) -> None:
    settings = {
        "bootstrap.servers": BOOTSTRAP,
        "enable.idempotence": True,
        "linger.ms": 0,
        "message.timeout.ms": int(_END_S_MAX * 1000),
        "retry.backoff.ms": 50,
        "retry.backoff.max.ms": 200,
        "reconnect.backoff.ms": 20,
        "reconnect.backoff.max.ms": 200,
        "topic.metadata.refresh.fast.interval.ms": 100,
        "socket.connection.setup.timeout.ms": 1000,
    }
    producer, acks = Producer(settings), Acks()
    producer.produce(topic, b"first", on_delivery=lambda error, _: acks.on_delivery(-1, error))
    producer.flush(60)
    _tell({"started": True})
    acks.start()
    began, number, pause, late = time.monotonic(), 0, 1.0 / float(rate), 0.0
    while time.monotonic() - began < float(seconds):
        producer.produce(topic, f"{run}:{number}", on_delivery=_counted(acks, number))
        number += 1
        late = max(late, time.monotonic() - began - number * pause)
        while (early := began + number * pause - time.monotonic()) > 0:
            producer.poll(early)
    producer.flush(_END_S_MAX)
    report = {"sent": number, "acked": len(acks.acked) - 1, "failed": len(acks.failed), "errors": acks.failed[:3]}
    _tell(
        {
            **report,
            "longest_gap_s": round(acks.longest_gap_s, 3),
            "gaps": acks.gaps,
            "client_late_s": round(late, 3),
        }
    )


def _counted(acks: Acks, number: int) -> Callable[[object, object], None]:
    return lambda error, _message: acks.on_delivery(number, error)


def verify(topic: str, run: str, acked: str) -> None:
    consumer = Consumer({"bootstrap.servers": BOOTSTRAP, "group.id": "verify", "enable.auto.commit": False})
    found = consumer.list_topics(topic, 30).topics[topic].partitions
    ends = {partition: _end(consumer, topic, partition) for partition in found}
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in found])
    seen: dict[int, int] = {}
    reached = {partition: end == 0 for partition, end in ends.items()}
    deadline = time.monotonic() + _END_S_MAX
    while not all(reached.values()) and time.monotonic() < deadline:
        for message in consumer.consume(500, 0.5):
            if message.error():
                continue
            partition, offset, value = message.partition(), message.offset(), message.value()
            assert partition is not None
            assert offset is not None
            assert value is not None
            reached[partition] = offset + 1 >= ends[partition]
            who, _, number = value.partition(b":")
            if who.decode() == run:
                seen[int(number)] = seen.get(int(number), 0) + 1
    consumer.close()
    missing = [number for number in range(int(acked)) if number not in seen]
    duplicated = [number for number, times in seen.items() if times > 1]
    report = {"missing": len(missing), "duplicated": len(duplicated), "read": len(seen), "ended": all(reached.values())}
    _tell({**report, "such_as": missing[:3] + duplicated[:3]})


def _end(consumer: Consumer, topic: str, partition: int) -> int:
    return int(consumer.get_watermark_offsets(TopicPartition(topic, partition), 30)[1])


def group(topic: str, name: str, seconds: str) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": BOOTSTRAP,
            "group.id": name,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 6000,
            "heartbeat.interval.ms": 500,
        }
    )
    assignments: list[int] = []
    consumer.subscribe([topic], on_assign=lambda _, partitions: assignments.append(len(partitions)))
    began, read, errors, last, gap = time.monotonic(), 0, 0, time.monotonic(), 0.0
    while time.monotonic() - began < float(seconds):
        message = consumer.poll(0.2)
        if message is None:
            continue
        if message.error():
            errors += 1
            continue
        read += 1
        now = time.monotonic()
        gap, last = (max(gap, now - last) if read > 1 else 0.0), now
    assigned = len(consumer.assignment())
    consumer.close()
    report = {"rebalances": len(assignments), "assigned": assigned, "read": read, "errors": errors}
    _tell({**report, "longest_gap_s": round(gap, 3)})


def listen(port: str) -> None:
    """Accept connections for a minute."""
    with socket.create_server(("", int(port))):
        _tell({"listening": True})
        time.sleep(60)


def _tell(value: object) -> None:
    sys.stdout.write(f"{json.dumps(value)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    verbs: dict[str, Callable[..., None]] = {
        "create": create,
        "place": place,
        "send": send,
        "commit": commit,
        "leader": leader,
        "produce": produce,
        "verify": verify,
        "group": group,
        "listen": listen,
    }
    verbs[sys.argv[1]](*sys.argv[2:])
