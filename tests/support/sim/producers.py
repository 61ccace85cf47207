"""Clients that write: each record is different, goes to whoever seems to lead, and its answer may be lost."""

from typing import TYPE_CHECKING, Any

from tests.support.batches import batch
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.records.header import read_header
from tidelog.kafka.records.record import Record

if TYPE_CHECKING:
    from tests.support.sim.world import BrokerHost, World
    from tidelog.kafka.types import TopicPartition

_TIMEOUT_MS = 1_500
_ALL, _LEADER = -1, 1


class Producers:
    """A write every few milliseconds, to one partition, mostly with acks=all."""

    def __init__(self, world: "World", interval_ms: float = 40.0) -> None:
        self._world = world
        self._interval_ms = interval_ms
        self._written = 0
        self.is_on = True
        self._next()

    def _next(self) -> None:
        random, scheduler = self._world.random, self._world.scheduler
        if self.is_on:
            self._write(random.choice(self._world.data_partitions))
        scheduler.after(random.expovariate(1 / self._interval_ms), self._next)

    def _write(self, partition: "TopicPartition") -> None:
        world = self._world
        hosts = [host for host in world.brokers if host.is_up and _leads(host, partition)]
        if not hosts:
            return
        # There may be more than one that believes to lead, and each of them has clients that believe it.
        host = world.random.choice(hosts)
        self._written += 1
        count = world.random.randint(1, 3)
        data = bytearray(batch(*[Record(None, b"%d" % self._written, 1_700_000_000_000)] * count))
        acks = _ALL if world.random.random() < 0.85 else _LEADER
        process = host.process
        assert process is not None
        delay_ms = world.network.delay_ms()
        world.scheduler.after(delay_ms, lambda: process.deliver(self._arrive, host, process, partition, data, acks))

    def _arrive(
        self, host: "BrokerHost", process: Any, partition: "TopicPartition", data: bytearray, acks: int
    ) -> None:
        producing = process.seen["data"].producing
        crc = read_header(data).crc
        production = producing.begin(acks, None)
        producing.append(production, partition.topic.encode(), partition.partition, memoryview(data))

        def answered(answers: list[Any]) -> None:
            (answer,) = answers
            if answer.error_code == KafkaCode.NONE and acks == _ALL:
                self._world.invariants.on_broker_turn(host)
                self._world.invariants.on_acked(partition, answer.base_offset, crc)

        if production.awaited is None:
            answered(production.answers)
        else:
            producing.wait(production, _TIMEOUT_MS, answered)


def _leads(host: "BrokerHost", partition: "TopicPartition") -> bool:
    data = host.data
    found = None if data is None else data.partitions.by_name.get((partition.topic.encode(), partition.partition))
    return found is not None and found.leader is not None
