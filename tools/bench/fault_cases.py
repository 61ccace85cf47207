"""The leader of a partition ends under a steady producer: the longest gap between acks, and that nothing is lost."""

import os
import signal
import threading
import time
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import confluent_kafka
import psutil

from tools.bench.system import GIVE_UP_S, System

RATE = 200
BEFORE_S = 3.0
STEADY_S = 5.0
PARTITIONS = 6
REPLICAS = 3


def leader_ends(system: System, name: str, how: signal.Signals) -> None:
    with system.topic(PARTITIONS, REPLICAS) as topic:
        partition = system.partitions(topic)[0]
        producer = _SteadyProducer(system, topic, partition.id)
        time.sleep(BEFORE_S)
        ended_at = time.perf_counter()
        os.kill(system.broker_pid(partition.leader), how)
        _until_steady(producer, ended_at)
        producer.end()
        system.figures.add(name, producer.longest_gap_s(since=ended_at - 1))
        _bring_back(system, topic, partition.leader)
        found = _read(system, topic, partition.id)
        assert found == sorted(set(found)), "a record was written twice, or out of order"
        assert not producer.acked.keys() - set(found), "a record was acknowledged and is lost"


def _until_steady(producer: "_SteadyProducer", ended_at: float) -> None:
    """Until as much was acknowledged since as is sent in some seconds."""
    while sum(at > ended_at for at in list(producer.acked.values())) < RATE * STEADY_S * 0.9:
        assert time.perf_counter() < ended_at + GIVE_UP_S, "it does not go on"
        time.sleep(0.25)


def _bring_back(system: System, topic: str, broker: int) -> None:
    psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid := system.broker_pid(broker)) else [], GIVE_UP_S)
    system.peer.start_broker(broker)
    system.pids = system.peer.pids()
    system.until(lambda: all(len(one.isrs) == REPLICAS for one in system.partitions(topic)))


def _read(system: System, topic: str, partition: int) -> list[int]:
    consumer = confluent_kafka.Consumer(system.config(group_id="bench-check", enable_auto_commit=False))
    place = confluent_kafka.TopicPartition(topic, partition, 0)
    _, end = consumer.get_watermark_offsets(place, timeout=30)
    consumer.assign([place])
    found: list[int] = []
    while consumer.position([place])[0].offset < end:
        message = consumer.poll(20)
        assert message is not None, f"nothing comes after {len(found)} records"
        if message.error() is None:
            found.append(int(message.value() or b""))
    consumer.close()
    return found


@dataclass
class _SteadyProducer:
    """Numbers, so many a second, in a thread of its own; when each was acknowledged."""

    system: System
    topic: str
    partition: int
    acked: dict[int, float] = field(default_factory=dict)
    _is_over: bool = False

    def __post_init__(self) -> None:
        config = self.system.config(acks="all", enable_idempotence=True, linger_ms=0)
        self._producer = confluent_kafka.Producer(config)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> None:
        self._is_over = True
        self._thread.join()

    def longest_gap_s(self, since: float) -> float:
        times = [at for at in sorted(self.acked.values()) if at > since]
        return max(after - before for before, after in pairwise(times))

    def _run(self) -> None:
        begun, number = time.perf_counter(), 0
        while not self._is_over:
            due = begun + number / RATE
            self._producer.poll(max(0.0, due - time.perf_counter()))
            if time.perf_counter() >= due:
                self._producer.produce(self.topic, b"%d" % number, partition=self.partition, on_delivery=self._done)
                number += 1
        assert self._producer.flush(GIVE_UP_S) == 0, "not everything was delivered"

    def _done(self, error: Any, message: Any) -> None:
        if error is None:
            self.acked[int(message.value())] = time.perf_counter()
