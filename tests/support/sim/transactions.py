"""Producers with transactions over two partitions, and what must hold for whoever reads committed records.

WHOLE   a transaction is seen whole or not at all: as it was acknowledged, if it was
STABLE  no transaction stays open: in the end everything that is committed can be read
"""

from typing import TYPE_CHECKING, Any

from tests.support.batches import batch
from tests.support.sim.clients import NoAnswer, Wire, pause
from tidelog.broker.log.reading import Isolation, fetch
from tidelog.kafka.cluster import TRANSACTION_STATE
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.records.control import MarkerType, read_marker
from tidelog.kafka.records.header import CONTROL, whole_batches
from tidelog.kafka.records.record import Record, read_records
from tidelog.kafka.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from tidelog.kafka.wire.messages.end_txn import EndTxnRequest
from tidelog.kafka.wire.messages.init_producer_id import InitProducerIdRequest
from tidelog.kafka.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

if TYPE_CHECKING:
    from tests.support.sim.world import World
    from tidelog.kafka.types import TopicPartition

_TIMEOUT_MS = 3_000
_INIT, _ADD, _END, _PRODUCE = 3, 2, 2, 8
_TRANSACTIONAL = 0x10
_FATAL = frozenset(
    {
        KafkaCode.INVALID_PRODUCER_EPOCH,
        KafkaCode.PRODUCER_FENCED,
        KafkaCode.INVALID_PRODUCER_ID_MAPPING,
        KafkaCode.INVALID_TXN_STATE,
        KafkaCode.UNKNOWN_PRODUCER_ID,
        KafkaCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    }
)


class Refused(Exception):  # noqa: N818  named after what happened
    """An answer that ends the attempt; the producer begins anew with a new epoch."""


class TransactionRules:
    """What was acknowledged of each transaction: that it is committed, or that it is aborted."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.ended: dict[bytes, bool] = {}

    @property
    def acked(self) -> int:
        return len(self.ended)

    def on_ended(self, name: bytes, *, committed: bool) -> None:
        self.ended[name] = committed

    def check(self) -> None:
        """On the logs as their leaders have them, when all faults are over."""
        if self._world.invariants.lost_partitions:
            return
        seen = {one: _visible(self._log(one)) for one in self._world.data_partitions}
        everywhere = set.intersection(*seen.values())
        for partition, names in seen.items():
            for name in names - everywhere:
                self._world.fail(f"WHOLE: {name.decode()} is seen in {partition}, but not everywhere")
        for name, committed in self.ended.items():
            if (name in everywhere) != committed:
                told = "committed" if committed else "aborted"
                self._world.fail(f"WHOLE: {name.decode()} was acknowledged as {told}, and that is not what is seen")

    def is_stable(self) -> bool:
        logs = [self._log(one) for one in self._world.data_partitions]
        return all(log is not None and log.last_stable_offset == log.log_end_offset for log in logs)

    def _log(self, partition: "TopicPartition") -> Any:
        found = self._world.state(partition)
        leader = None if found is None else found[0].leader
        host = next((one for one in self._world.brokers if one.id == leader), None)
        hosted = None if host is None or host.data is None else host.data.partitions.by_name
        known = None if hosted is None else hosted.get((partition.topic.encode(), partition.partition))
        return None if known is None else known.log


class TransactionalProducer:
    def __init__(self, world: "World", rules: TransactionRules, number: int) -> None:
        self._world = world
        self._rules = rules
        self._wire = Wire(world, f"producer-{number}", TRANSACTION_STATE)
        self._name = f"tx-{number}"
        self._producer = (-1, -1)
        self._sequences: dict[int, int] = {}
        self._count = 0

    async def live(self) -> None:
        await pause(self._world, 0, 1_000)
        while True:
            try:
                await self._begin()
                while True:
                    await self._transact()
            except (NoAnswer, Refused):
                await pause(self._world, 100, 500)

    async def _begin(self) -> None:
        request = InitProducerIdRequest(transactional_id=self._name, transaction_timeout_ms=_TIMEOUT_MS)
        answer = await self._wire.ask(request, _INIT)
        if answer.error_code:
            raise Refused(KafkaCode(answer.error_code).name)
        self._producer = (answer.producer_id, answer.producer_epoch)
        self._sequences = {}

    async def _transact(self) -> None:
        """One transaction. Whatever goes wrong before its end is known ends it without a word of it."""
        self._count += 1
        name = f"{self._name}/{self._count}".encode()
        await self._add()
        for partition in self._world.data_partitions:
            await self._write(partition, name)
        if self._world.random.random() < 0.1:
            # Longer than its timeout: the coordinator ends it.
            await pause(self._world, 0, 2 * _TIMEOUT_MS)
        committed = self._world.random.random() < 0.8
        if await self._end(committed=committed):
            self._rules.on_ended(name, committed=committed)
        await pause(self._world, 50, 400)

    async def _add(self) -> None:
        request = AddPartitionsToTxnRequest(
            transactional_id=self._name,
            producer_id=self._producer[0],
            producer_epoch=self._producer[1],
            topics=[
                AddPartitionsToTxnTopic(
                    name=self._world.data_partitions[0].topic,
                    partitions=[one.partition for one in self._world.data_partitions],
                )
            ],
        )
        while True:
            answer = await self._wire.ask(request, _ADD)
            codes = {
                one.partition_error_code for topic in answer.results_by_topic for one in topic.results_by_partition
            }
            if codes == {KafkaCode.NONE}:
                return
            if codes & _FATAL:
                raise Refused(str(codes))
            await pause(self._world, 50, 200)

    async def _write(self, partition: "TopicPartition", name: bytes) -> None:
        sequence = self._sequences.get(partition.partition, 0)
        data = batch(
            Record(None, name, 1_700_000_000_000),
            producer=self._producer,
            sequence=sequence,
            attributes=_TRANSACTIONAL,
        )
        part = PartitionProduceData(index=partition.partition, records=data)
        request = ProduceRequest(
            transactional_id=self._name,
            acks=-1,
            timeout_ms=1_500,
            topic_data=[TopicProduceData(name=partition.topic, partition_data=[part])],
        )
        while True:
            found = self._world.state(partition)
            leader = None if found is None or found[0].leader < 0 else found[0].leader
            answer = await self._wire.ask(request, _PRODUCE, broker=leader)
            code = answer.responses[0].partition_responses[0].error_code
            if code in (KafkaCode.NONE, KafkaCode.DUPLICATE_SEQUENCE_NUMBER):
                self._sequences[partition.partition] = sequence + 1
                return
            if code in _FATAL:
                raise Refused(KafkaCode(code).name)
            await pause(self._world, 50, 200)

    async def _end(self, *, committed: bool) -> bool:
        """Whether it is known to have ended so."""
        request = EndTxnRequest(
            transactional_id=self._name,
            producer_id=self._producer[0],
            producer_epoch=self._producer[1],
            committed=committed,
        )
        while True:
            answer = await self._wire.ask(request, _END)
            if answer.error_code == KafkaCode.NONE:
                return True
            if answer.error_code in _FATAL:
                raise Refused(KafkaCode(answer.error_code).name)
            await pause(self._world, 50, 200)


def _visible(log: Any) -> set[bytes]:
    """The values of transactional records that a reader of committed ones sees."""
    ended: set[bytes] = set()
    if log is None:
        return ended
    opened: dict[int, list[bytes]] = {}
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        fetched = fetch(log, offset, 1 << 20, Isolation.LOG_END)
        assert fetched.records is not None
        data = fetched.records.read()
        for start, header in whole_batches(data):
            if header.base_offset < offset:
                continue
            offset = header.next_offset
            whole = memoryview(data)[start : start + header.size]
            if header.attributes & CONTROL:
                marker = read_marker(whole)
                values = opened.pop(header.producer_id, [])
                ended.update(values if marker is not None and marker.marker_type is MarkerType.COMMIT else ())
            elif header.attributes & _TRANSACTIONAL:
                values = [record.value or b"" for record in read_records(bytes(whole))]
                opened.setdefault(header.producer_id, []).extend(values)
    return ended
